"""Blocks that come as a whole: files, pictures and their drafts, tables, short texts."""

from __future__ import annotations

from typing import Any

from .cite import cite_unless_annotated, reset_scanner
from .contents import HAVE_BLOCKS, ref_id_of
from .derived import decrease
from .find import item_by_id, live_task
from .opened import is_open, mark_done
from .step import Step


def item_updated(step: Step, updated: dict[str, Any]) -> None:
    task = live_task(step)
    if task is None:
        return
    item_id, block = updated["itemId"], updated["block"]
    at = item_by_id(step, task, item_id)
    if at is None:
        return step.problem("unknown_item", f"item `{item_id}`")
    if not is_open(step, at):
        return step.problem("after_terminal", f"item `{item_id}` was complete")
    kind = step.peek_item(at)["type"]
    if kind not in HAVE_BLOCKS:
        return step.problem("wrong_item_type", f"item `{item_id}` has no blocks")
    blocks = step.own_list(step.item(at), "blockList")
    index, present = updated["blockIndex"], len(blocks)
    part = min(index, present)
    before = blocks[part] if part < present else None
    blocks[part : part + 1] = [block]
    if kind == "tool_result":
        _recount_reference(step, task, before and ref_id_of(before), ref_id_of(block))
    if index > present:
        step.problem("block_index", f"block {index} of {present}")
    reset_scanner(step, at, part)
    cite_unless_annotated(step, at, part)
    # A block that comes again is not final any more.
    mark_done(step, at, part, updated["change"] == "done")
    step.change()


def _recount_reference(step: Step, task: int, before: int | None, after: int | None) -> None:
    """Only results can be cited."""
    references = step.output(task).references
    if before is not None:
        decrease(references, before)
    if after is not None:
        references[after] += 1
