"""Files of a turn's input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .plain import ledger
from .step import Step, put_if_told

_MOST_FILES = 100
"""Files of one turn that the state holds; the log has those beyond it."""

_REPORTED = (
    "count",
    "source",
    "name",
    "url",
    "mediaType",
    "size",
    "pages",
    "handling",
    "outputRef",
    "truncated",
    "error",
)


def file(status: str) -> Callable[[Step, dict[str, Any]], None]:
    """A file that is announced again begins anew. One that was never announced is taken as it is."""

    def rule(step: Step, reported: dict[str, Any]) -> None:
        turn_id = step.scope.get("turnId")
        turn = None if turn_id is None else step.derived.turns.get(turn_id)
        if turn is None:
            return ledger(step, reported)
        known = step.state["turns"][turn].get("files", [])
        at = next((at for at, known in enumerate(known) if known["fileId"] == reported["fileId"]), None)
        if at is None and len(known) >= _MOST_FILES:
            return ledger(step, reported)
        files = step.own_list(step.turn(turn), "files")
        if at is None:
            files.append(_merged({}, status, reported))
        else:
            files[at] = _merged(files[at], status, reported)
        return step.change()

    return rule


def _merged(before: dict[str, Any], status: str, reported: dict[str, Any]) -> dict[str, Any]:
    """What an earlier reading found says nothing about the one that begins."""
    file = {} if status == "running" else dict(before)
    file.pop("error", None)
    file.update(fileId=reported["fileId"], status=status)
    for name in _REPORTED:
        put_if_told(file, name, reported.get(name))
    return file
