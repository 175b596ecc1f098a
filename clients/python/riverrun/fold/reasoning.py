"""Reasoning: summary parts, and the raw text where a provider shows it."""

from __future__ import annotations

from typing import Any

from .contents import is_text
from .opened import mark_done
from .step import ItemAt, Step
from .text import add_text, delta_item, make_part


def reasoning_delta(step: Step, delta: dict[str, Any]) -> None:
    at = delta_item(step, "reasoning", delta.get("itemId"))
    if at is None:
        return
    index = delta.get("summaryIndex")
    if index is None:
        return _raw_reasoning(step, at, delta["delta"])
    summary = step.own_list(step.item(at), "summary")
    if not make_part(step, summary, index, "summary"):
        return
    if not is_text(summary[index]):
        return step.problem("wrong_item_type", f"summary {index} is not text")
    add_text(step.own(summary, index), "text", delta["delta"])
    step.change()


def _raw_reasoning(step: Step, at: ItemAt, delta: str) -> None:
    content = step.own_list(step.item(at), "content")
    if not content:
        content.append({"type": "text", "text": ""})
    last = len(content) - 1
    if not is_text(content[last]):
        return step.problem("wrong_item_type", f"reasoning part {last} is not text")
    add_text(step.own(content, last), "text", delta)
    step.change()


def reasoning_summary(step: Step, told: dict[str, Any]) -> None:
    at = delta_item(step, "reasoning", told.get("itemId"))
    if at is None:
        return
    index = told["summaryIndex"]
    summary = step.own_list(step.item(at), "summary")
    if not make_part(step, summary, index, "summary"):
        return
    if is_text(summary[index]):
        step.own(summary, index)["text"] = told["text"]
    mark_done(step, at, index, True)
    step.change()
