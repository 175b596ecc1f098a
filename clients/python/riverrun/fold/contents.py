"""What is in an item, whatever its type."""

from __future__ import annotations

from typing import Any, Final

Item = dict[str, Any]
Block = dict[str, Any]

PREFIXES: Final = {"message": "msg_", "reasoning": "rs_", "tool_call": "fc_"}
"""The kinds of items that deltas go to, with the prefix of the ids of those that nobody named."""

HAVE_STATUS: Final = frozenset({"message", "reasoning", "tool_call", "tool_result", "hosted"})
HAVE_BLOCKS: Final = frozenset({"message", "tool_result", "hosted"})

_NEEDED: dict[str, tuple[str, ...]] = {
    "message": (),
    "reasoning": (),
    "tool_call": ("callId", "name", "arguments"),
    "tool_result": ("callId",),
    "handoff": ("to",),
    "error": ("message",),
    "hosted": ("dialect", "kind"),
}
"""The known types, and the members that such an item cannot be without: cleared, they are empty."""


def id_of(item: Item) -> str | None:
    item_id = item.get("id")
    return item_id if isinstance(item_id, str) else None


def call_id_of(item: Item) -> str | None:
    return item["callId"] if item["type"] in ("tool_call", "tool_result") else None


def blocks_of(item: Item) -> list[Block]:
    return item.get("blockList", []) if item["type"] in HAVE_BLOCKS else []


def ref_id_of(block: Block) -> int | None:
    """The number by which a block is cited."""
    if block["type"] == "item":
        return None
    number = block.get("refId")
    return number if type(number) is int and number >= 0 else None


def references_of(item: Item) -> list[int]:
    """The numbers by which the blocks and parts of a result are cited."""
    if item["type"] != "tool_result":
        return []
    parts = [*item.get("content", ()), *item.get("blockList", ())]
    return [number for part in parts if (number := ref_id_of(part)) is not None]


def contents_of(item: Item) -> tuple[str, int]:
    """What of an item is told part by part, and how many parts there are."""
    if item["type"] == "reasoning":
        return "summary", len(item.get("summary", ()))
    if item["type"] == "tool_call":
        return "arguments", 0 if item["arguments"] == "" else 1
    return "block", len(blocks_of(item))


def status_of(patch: Item) -> str | None:
    status = patch.get("status") if patch["type"] in HAVE_STATUS else None
    return status if isinstance(status, str) else None


def keeps_contents(patch: Item) -> bool:
    """True if the patch leaves the blocks, the parts and the call as they are."""
    told = {
        "message": ("blockList",),
        "hosted": ("blockList",),
        "tool_call": ("callId",),
        "tool_result": ("blockList", "content", "callId"),
    }
    return not any(name in patch for name in told.get(patch["type"], ()))


def patched(item: Item, patch: Item) -> Item:
    """The patched item: an absent member keeps, null clears, a present one replaces. An unknown type is replaced."""
    needed = _NEEDED.get(patch["type"])
    if needed is None:
        return patch
    out = dict(item)
    for name, value in patch.items():
        if value is not None:
            out[name] = value
        elif name in needed:
            out[name] = ""
        else:
            out.pop(name, None)
    return out


def item_of(patch: Item) -> Item:
    """The item that the patch alone describes, for a reader that never saw it start."""
    needed = _NEEDED.get(patch["type"])
    if needed is None:
        return patch
    return patched({"type": patch["type"], "id": patch["id"], **{name: "" for name in needed}}, patch)


def is_text(block: Block | None) -> bool:
    """True if deltas can be added to the block."""
    return block is not None and block["type"] in ("text", "html")
