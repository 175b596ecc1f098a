"""Runs the golden vectors that the server's fold runs. If they differ, this client is wrong."""

from __future__ import annotations

import copy
import json
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from riverrun.decode import DecodeError, PayloadError, envelope
from riverrun.fold import Applied, Folder, State, apply, empty_state, from_snapshot

ROOT = Path(__file__).parents[3] / "spec" / "vectors"
AREAS = {
    "fold": "run",
    "decode": "run",
    "dialect": "server",
    "ingest": "server",
    "provider": "server",
    "reference": "server",
    "resume": "server",
    "runner": "server",
}
"""Which areas are run here; the others are the server's alone."""
FILES = {"events.ndjson", "expected.json", "why.md"}
MEMBERS = {"state", "revision", "refused", "sealed", "prefixes"}

Apply = Callable[[State, Any], Applied]


def folders(path: Path) -> list[Path]:
    return sorted(entry for entry in path.iterdir() if entry.is_dir())


def shown(state: State) -> dict[str, Any]:
    """The public state as a vector shows it: without what is for people or counts changes."""
    out = json.loads(json.dumps(state))
    del out["revision"]
    for problem in out["problems"]["recent"]:
        del problem["detail"]
    return out


def run(events: list[Any], asked: set[str], step: Apply) -> dict[str, Any]:
    """What a case comes to, in the form of `expected.json`."""
    state = empty_state(events[0]["sessionId"])
    refused: list[dict[str, Any]] = []
    sealed: list[str] = []
    prefixes: dict[str, Any] = {}
    for line, event in enumerate(events, 1):
        applied = step(state, event)
        state, outcome = applied.state, applied.outcome
        if outcome.type == "gap":
            refused.append({"line": line, "outcome": "gap", "expected": outcome.expected, "found": outcome.found})
        elif outcome.type == "duplicate":
            refused.append({"line": line, "outcome": "duplicate"})
        sealed += [turn["turn"]["turnId"] for turn in applied.sealed]
        if str(state["sequence"]) in asked:
            prefixes[str(state["sequence"])] = shown(state)
    told = {"refused": refused, "sealed": sealed, "prefixes": prefixes}
    return {
        "state": shown(state),
        "revision": state["revision"],
        **{name: value for name, value in told.items() if value},
    }


def restored(state: State, event: Any) -> Applied:
    return apply(from_snapshot(json.loads(json.dumps(state))), event)


def checked_pure(state: State, event: Any) -> Applied:
    before = copy.deepcopy((dict(state), event))
    applied = apply(state, event)
    assert (dict(state), event) == before, "an old state and an event stay as they were"
    return applied


def in_place() -> Apply:
    folder: Folder | None = None

    def step(state: State, event: Any) -> Applied:
        nonlocal folder
        folder = folder or Folder(state)
        return folder.apply(event)

    return step


class FoldVectors(unittest.TestCase):
    maxDiff = None

    def check(self, folder: Path) -> None:
        self.assertLessEqual({file.name for file in folder.iterdir()}, FILES)
        lines = (folder / "events.ndjson").read_text().split("\n")
        events = [json.loads(line) for line in lines if line]
        expected = json.loads((folder / "expected.json").read_text())
        self.assertLessEqual(expected.keys(), MEMBERS)
        asked = set(expected.get("prefixes", ()))
        for way, step in (("pure", checked_pure), ("in place", in_place()), ("from a snapshot", restored)):
            self.assertEqual(run(events, asked, step), expected, way)

    def test_every_case_folds_to_its_expected_state(self) -> None:
        cases = folders(ROOT / "fold")
        self.assertTrue(cases)
        for folder in cases:
            with self.subTest(folder.name):
                self.check(folder)

    def test_every_area_of_vectors_is_known_here(self) -> None:
        self.assertLessEqual({folder.name for folder in folders(ROOT)}, AREAS.keys())


def decoded(text: str) -> dict[str, Any]:
    """What comes of a text: `{"event": …}` or `{"error": …}`."""
    try:
        value = json.loads(text)
    except ValueError:
        return {"error": {"code": "json_syntax"}}
    try:
        event = envelope(value)
    except PayloadError as error:
        return {"error": {"code": "invalid_event", "field": error.path}}
    except DecodeError as error:
        return {"error": {"code": error.code, **({} if error.field is None else {"field": error.field})}}
    for name in ("sequence", "sessionId", "schemaVersion"):
        event.pop(name, None)
    return {"event": event}


class DecodeVectors(unittest.TestCase):
    maxDiff = None

    def test_every_case_decodes_as_expected(self) -> None:
        cases = sorted((ROOT / "decode").iterdir())
        self.assertTrue(cases)
        for path in cases:
            with self.subTest(path.name):
                case = json.loads(path.read_text())
                self.assertTrue(case.pop("why"))
                self.assertEqual(decoded(case.pop("input")), case)


if __name__ == "__main__":
    unittest.main()
