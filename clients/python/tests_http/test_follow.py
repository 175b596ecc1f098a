"""Both clients hear the same of the same connections."""

from __future__ import annotations

import asyncio
import copy
import unittest
from dataclasses import dataclass
from typing import Any

from riverrun import (
    ConnectionState,
    FollowedEvent,
    FollowedSnapshot,
    GapError,
    MalformedError,
    ProblemError,
    RiverrunError,
    SseFrame,
    UnreachableError,
    Update,
)

from .scripted import OPENED, Script, Scripted, control, delta, end


@dataclass
class Heard:
    words: str
    error: RiverrunError | None
    paths: list[str]
    pauses: list[float]
    cursor: str | None


def word(update: Update) -> str:
    match update:
        case FollowedEvent():
            return str(update.sequence)
        case ConnectionState():
            return update.status
        case FollowedSnapshot():
            return f"snapshot {update.sequence}"
        case SseFrame():
            return f"frame {update.data}"
        case _:
            return ""


class Follow(unittest.TestCase):
    def hears(self, *answers: Scripted, **words: Any) -> Heard:
        """What a follower of these connections hears, one word each."""
        waiting = self._waiting(Script(*copy.deepcopy(answers)), words)
        asynchronous = asyncio.run(self._asynchronous(Script(*copy.deepcopy(answers)), words))
        self.assertEqual(str(waiting), str(asynchronous))
        return waiting

    def _waiting(self, script: Script, words: Any) -> Heard:
        follow, error = script.client().follow("s", **words), None
        heard: list[str] = []
        try:
            heard.extend(word(update) for update in follow)
        except RiverrunError as caught:
            error = caught
        return Heard(" ".join(filter(None, heard)), error, script.paths(), script.pauses, follow.cursor)

    async def _asynchronous(self, script: Script, words: Any) -> Heard:
        follow, error = script.async_client().follow("s", **words), None
        heard: list[str] = []
        try:
            async for update in follow:
                heard.append(word(update))
        except RiverrunError as caught:
            error = caught
        return Heard(" ".join(filter(None, heard)), error, script.paths(), script.pauses, follow.cursor)

    def test_a_cut_stream_goes_on_behind_the_last_event_and_each_event_comes_once(self) -> None:
        cut = Scripted(OPENED + delta(1) + delta(2), cut=True)
        heard = self.hears(cut, Scripted(OPENED + delta(2) + delta(3) + end(3)))
        self.assertEqual(heard.words, "connecting live 1 2 reconnecting live 3 closed")
        self.assertEqual(heard.paths, ["/v1/sessions/s/events?after=0", "/v1/sessions/s/events?after=2.a.b"])
        self.assertEqual((heard.pauses, heard.cursor, heard.error), ([0.1], "3.a.b", None))

    def test_a_body_that_ends_cleanly_without_its_end_is_resumed(self) -> None:
        heard = self.hears(Scripted(OPENED + delta(1)), Scripted(OPENED + delta(2) + end(2)))
        self.assertEqual(heard.words, "connecting live 1 reconnecting live 2 closed")

    def test_half_a_frame_is_not_given_out(self) -> None:
        heard = self.hears(Scripted(OPENED + delta(1)[:-1], cut=True), Scripted(OPENED + delta(1) + end(1)))
        self.assertEqual(heard.words, "connecting live reconnecting live 1 closed")

    def test_silence_is_a_cut(self) -> None:
        heard = self.hears(Scripted(OPENED + delta(1), silent=True), Scripted(OPENED + end(1)))
        self.assertEqual(heard.words, "connecting live 1 reconnecting live closed")

    def test_a_gap_is_an_error_never_a_hole(self) -> None:
        heard = self.hears(Scripted(OPENED + delta(1) + delta(3)))
        self.assertEqual(heard.words, "connecting live 1 closed")
        assert isinstance(heard.error, GapError)
        self.assertEqual((heard.error.last, heard.error.found), (1, 3))

    def test_joined_deltas_stand_for_all_of_their_sequences(self) -> None:
        heard = self.hears(Scripted(OPENED + delta(3, firstSequence=1) + delta(4) + end(4)))
        self.assertEqual(heard.words, "connecting live 3 4 closed")

    def test_a_snapshot_is_adopted_and_gone_on_from(self) -> None:
        snapshot = control("snapshot", reason="expired", sequence=5, cursor="5.a.b", state={"sequence": 5})
        heard = self.hears(
            Scripted(OPENED + snapshot, cut=True), Scripted(OPENED + delta(6) + end(6)), catchup="snapshot"
        )
        self.assertEqual(heard.words, "connecting live snapshot 5 reconnecting live 6 closed")
        self.assertEqual([path.split("?")[1] for path in heard.paths], ["after=0&catchup=snapshot", "after=5.a.b"])

    def test_a_turn_ends_with_its_terminal_event(self) -> None:
        completed = delta(7, type="turn.completed", turnId="u", payload={})
        heard = self.hears(Scripted(OPENED + delta(2) + completed), turn="u")
        self.assertEqual((heard.words, heard.error), ("connecting live 2 7 closed", None))

    def test_a_server_says_when_to_come_back(self) -> None:
        draining = Scripted(OPENED + control("draining", retryMillis=1500), cut=True)
        busy = Scripted('{"code":"overloaded","retryable":true}', status=503, headers={"retry-after": "2"})
        heard = self.hears(draining, busy, Scripted(OPENED + end(0)))
        self.assertEqual(heard.pauses, [1.5, 2.0])

    def test_a_refusal_that_stays_is_an_error_with_its_code(self) -> None:
        heard = self.hears(Scripted('{"code":"cursor_ahead","retryable":false}', status=409))
        assert isinstance(heard.error, ProblemError)
        self.assertEqual(heard.error.code, "cursor_ahead")

    def test_no_server_and_no_sense_are_errors(self) -> None:
        self.assertIsInstance(self.hears(Scripted(unreachable=True)).error, UnreachableError)
        self.assertIsInstance(self.hears(Scripted(OPENED + 'data: {"type":"x"}\n\n')).error, MalformedError)

    def test_a_foreign_dialects_frames_come_untouched(self) -> None:
        heard = self.hears(Scripted("data: a\n\ndata: [DONE]\n\n"), dialect="openai-chat")
        self.assertEqual(heard.words, "connecting live frame a frame [DONE] closed")

    def test_states_are_folded_from_what_is_followed(self) -> None:
        def text(sequence: int) -> dict[str, Any]:
            return {"payload": {"delta": f"{sequence} ", "itemId": "m"}}

        answers = (
            Scripted(OPENED + delta(1, **text(1)), cut=True),
            Scripted(OPENED + delta(3, firstSequence=2, **text(3)) + end(3)),
        )
        states = list(Script(*answers).client().states("s"))
        self.assertEqual([state["sequence"] for state in states], [1, 3])
        self.assertEqual(states[1]["tasks"][0]["output"][0]["blockList"], [{"type": "text", "text": "1 3 "}])

        async def collect() -> list[Any]:
            return [state async for state in Script(*answers).async_client().states("s")]

        self.assertEqual(asyncio.run(collect()), states)
