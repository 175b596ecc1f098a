"""Citations in the text blocks of messages."""

from __future__ import annotations

from .contents import Block
from .scanner import Scanner
from .step import ItemAt, Step


def trust_annotations(step: Step, at: ItemAt, part: int) -> None:
    """Annotations that came with a block are its producer's: they stay, and only what is added to it is searched."""
    block = _text_of(step, at, part)
    if block is None or "annotations" not in block:
        return
    scanner = step.output(at.task).scanner(at.item, part)
    if scanner is not None and scanner.seen == 0:
        scanner.scan(block["text"])


def cite(step: Step, at: ItemAt, part: int) -> None:
    """Annotates the citations in the text that is new in this block."""
    block = _text_of(step, at, part)
    scanner = step.output(at.task).scanner(at.item, part)
    if block is None or scanner is None:
        return
    for number, start, end in scanner.scan(block["text"][scanner.seen :]):
        if number not in step.output(at.task).references:
            step.problem("unknown_reference", f"[^{number}] cites nothing in this task")
            continue
        annotations = step.own_list(step.block(at, part), "annotations")
        annotations.append({"type": "reference_to_block", "referenceId": number, "startIndex": start, "endIndex": end})


def cite_unless_annotated(step: Step, at: ItemAt, part: int) -> None:
    """Annotations that came with the block are kept; otherwise its citations are found."""
    block = step.peek_block(at, part)
    if block is None or step.peek_item(at)["type"] != "message":
        return
    if block["type"] == "text" and "annotations" not in block:
        return cite(step, at, part)
    output = step.output(at.task)
    if output.scanner(at.item, part) is not None:
        output.scanners[at.item][part] = Scanner.after(block["text"] if block["type"] == "text" else "")


def reset_scanner(step: Step, at: ItemAt, part: int) -> None:
    scanners = step.output(at.task).scanners.get(at.item, [])
    if part < len(scanners):
        scanners[part] = Scanner()


def _text_of(step: Step, at: ItemAt, part: int) -> Block | None:
    block = step.peek_block(at, part) if step.peek_item(at)["type"] == "message" else None
    return block if block is not None and block["type"] == "text" else None
