"""Deltas: the hot path."""

from __future__ import annotations

import re
from typing import Any

from .cite import cite, trust_annotations
from .contents import PREFIXES, Block, Item, is_text
from .find import item_by_id, live_task
from .items import push_item
from .opened import is_open, newest_open
from .step import ItemAt, Step

_BASE64 = re.compile(r"[A-Za-z0-9+/]*(={0,2})", re.ASCII)
_MAX_HOLE = 16
"""A delta may leave this many blocks or parts empty before its own."""


def model_delta(step: Step, delta: dict[str, Any]) -> None:
    at = delta_item(step, "message", delta.get("itemId"))
    if at is None:
        return
    part = delta.get("blockIndex", 0)
    if not make_part(step, step.own_list(step.item(at), "blockList"), part, "block"):
        return
    block = step.block(at, part)
    if block["type"] in ("file", "audio"):
        return _media_delta(step, block, part, delta["delta"])
    trust_annotations(step, at, part)
    if not is_text(block):
        return step.problem("wrong_item_type", f"block {part} is not text")
    add_text(block, "text", delta["delta"])
    if "logprobs" in delta and block["type"] == "text":
        step.own_list(block, "logprobs").extend(delta["logprobs"])
    if "annotations" in delta and block["type"] == "text":
        step.own_list(block, "annotations").extend(delta["annotations"])
    step.change()
    cite(step, at, part)


def _media_delta(step: Step, block: Block, part: int, piece: str) -> None:
    """A piece of a file or a sound. The pieces are one text of base 64."""
    data = block.get("data", "")
    if not _continues_base64(data, piece):
        return step.problem("malformed", f"block {part} and this piece are not one text of base 64")
    block["data"] = data + piece
    step.change()


def _continues_base64(data: str, piece: str) -> bool:
    """Only the last piece has padding, and with it the text is whole."""
    found = _BASE64.fullmatch(piece)
    if found is None or (piece and data.endswith("=")):
        return False
    return not found[1] or (len(data) + len(piece)) % 4 == 0


def tool_args(step: Step, args: dict[str, Any]) -> None:
    at = delta_item(step, "tool_call", args.get("itemId"), args.get("callId"))
    if at is None:
        return
    add_text(step.item(at), "arguments", args["delta"])
    step.change()


def delta_item(step: Step, kind: str, item_id: str | None, call: str | None = None) -> ItemAt | None:
    """The item that a delta goes to: by its id, by its call, else the newest open one of the kind; made if none is."""
    task = live_task(step)
    if task is None:
        return None
    if item_id is not None:
        at = item_by_id(step, task, item_id)
    elif call is not None:
        at = newest_open(step, task, lambda item: item["type"] == "tool_call" and item["callId"] == call)
    else:
        at = newest_open(step, task, lambda item: item["type"] == kind)
    if at is None:
        return push_item(step, task, _implicit_item(step, task, kind, item_id, call))
    if step.peek_item(at)["type"] != kind:
        step.problem("wrong_item_type", f"{step.event.type} for another type of item")
        return None
    if not is_open(step, at):
        step.problem("after_terminal", "the item was complete")
        return None
    return at


def _implicit_item(step: Step, task: int, kind: str, item_id: str | None, call: str | None) -> Item:
    """A producer that sends deltas alone gets an item without asking for one."""
    item_id = _new_item_id(step, task, kind) if item_id is None else item_id
    if kind == "message":
        return {"type": kind, "id": item_id, "role": "assistant"}
    if kind == "tool_call":
        call = f"call_{item_id}" if call is None else call
        return {"type": kind, "id": item_id, "callId": call, "name": "", "arguments": ""}
    return {"type": kind, "id": item_id}


def _new_item_id(step: Step, task: int, kind: str) -> str:
    """An id that no item of the task has: the kind's prefix and the next place, or a later number if it is taken."""
    number = len(step.peek_task(task)["output"])
    while f"{PREFIXES[kind]}{number}" in step.output(task).positions:
        number += 1
    return f"{PREFIXES[kind]}{number}"


def make_part(step: Step, parts: list[Block], index: int, what: str) -> bool:
    """Makes the part at this index if it is the next one; parts that were left out stand there empty.

    False if that would leave too large a hole.
    """
    present = len(parts)
    if index < present:
        return True
    if index - present > _MAX_HOLE:
        step.problem("block_index", f"{what} {index} of {present}")
        return False
    parts.extend({"type": "text", "text": ""} for _ in range(present, index + 1))
    if index > present:
        step.problem("block_index", f"{what} {index} of {present}")
    for _ in range(present, index + 1):
        step.change()
    return True


def add_text(holder: dict[str, Any], key: str, more: str) -> None:
    # Taken out first: a text that nothing else holds grows in place instead of being copied.
    text = holder.pop(key)
    text += more
    holder[key] = text
