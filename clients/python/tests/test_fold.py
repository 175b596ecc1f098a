from __future__ import annotations

import json
import unittest
from typing import Any

from riverrun.fold import State, adopt, empty_state, fold, from_snapshot


def required(action_id: str) -> dict[str, Any]:
    return {"type": "action.required", "turnId": "u", "actionId": action_id, "payload": {"actionType": "question"}}


def failed(call_id: str) -> dict[str, Any]:
    return {"type": "tool.failed", "turnId": "u", "toolCallId": call_id, "payload": {"error": {"message": "no"}}}


IDLE: dict[str, Any] = {"type": "session.updated", "payload": {}}


def folded(*events: dict[str, Any]) -> State:
    state = empty_state("s")
    for sequence, event in enumerate(events, 1):
        state = fold(state, {**event, "sequence": sequence})
    return state


class Fold(unittest.TestCase):
    def test_a_state_that_was_folded_twice_from_the_same_place_is_the_same(self) -> None:
        def delta(sequence: int, text: str) -> dict[str, Any]:
            return {
                "type": "model.delta",
                "sequence": sequence,
                "taskId": "t",
                "payload": {"delta": text, "itemId": "m"},
            }

        one = fold(empty_state("s"), delta(1, "[^"))
        forks = [fold(one, delta(2, text)) for text in ("1]", "x]")]
        self.assertEqual([state["problems"]["count"] for state in forks], [1, 0])
        self.assertEqual(fold(one, delta(2, "1]")), forks[0])

    def test_pending_actions_and_failed_calls_of_both_sides_are_kept(self) -> None:
        theirs = folded(required("theirs"), failed("theirs"), IDLE)
        state = adopt(folded(required("mine"), failed("mine")), theirs)
        self.assertEqual([action["actionId"] for action in state["actions"]], ["theirs", "mine"])
        self.assertEqual([call["toolCallId"] for call in state["toolCalls"]], ["theirs", "mine"])
        self.assertEqual(state["sequence"], 3)

    def test_a_decision_that_the_snapshot_knows_stands(self) -> None:
        resolved = {"type": "action.resolved", "actionId": "a", "payload": {"decision": "approve"}}
        state = adopt(folded(required("a")), folded(required("a"), resolved))
        self.assertEqual(state["actions"][0]["status"], "resolved")

    def test_an_older_snapshot_changes_nothing(self) -> None:
        state = folded(required("a"), IDLE)
        self.assertIs(adopt(state, folded(required("b"))), state)

    def test_the_adopted_state_goes_on_like_one_that_was_read(self) -> None:
        state = adopt(folded(required("mine")), folded(required("theirs"), IDLE))
        following = {"type": "action.resolved", "actionId": "mine", "sequence": 3, "payload": {"decision": "reject"}}
        read = from_snapshot(json.loads(json.dumps(state)))
        self.assertEqual(fold(state, following), fold(read, following))
