from __future__ import annotations

import unittest
from collections.abc import Callable

from riverrun.backoff import delay
from riverrun.machine import Machine, Next, Order

Input = Callable[[Machine], Next]


def opened(after: int = 0) -> Input:
    return lambda machine: machine.opened(after)


def event(last: int, first: int | None = None, terminal: bool = False) -> Input:
    return lambda machine: machine.event(last if first is None else first, last, terminal)


def snapshot(at: int, new_log: bool = False) -> Input:
    return lambda machine: machine.snapshot(at, new_log)


class Transitions(unittest.TestCase):
    def check(self, order: Order, inputs: list[Input], expected: str, max_attempts: int | None = None) -> Machine:
        machine = Machine(order, max_attempts)
        found = []
        for step in inputs:
            machine, verdict = step(machine)
            found.append(f"{verdict.type} {machine.state.status}")
        self.assertEqual(", ".join(found), expected)
        return machine

    def test_each_sequence_is_delivered_once(self) -> None:
        self.check(
            "dense", [opened(), event(1), event(1), event(2)], "deliver live, deliver live, ignore live, deliver live"
        )

    def test_a_hole_closes_a_dense_stream(self) -> None:
        self.check("dense", [opened(), event(1), event(3)], "deliver live, deliver live, gap closed")
        self.check("rising", [opened(), event(1), event(3)], "deliver live, deliver live, deliver live")

    def test_joined_deltas_are_no_hole_and_half_known_ones_are(self) -> None:
        self.check("dense", [opened(), event(3, 1), event(6, 4)], "deliver live, deliver live, deliver live")
        self.check("dense", [opened(), event(2, 1), event(4, 2)], "deliver live, deliver live, gap closed")

    def test_what_the_server_says_it_sent_must_have_come(self) -> None:
        start = [opened(), event(1)]
        self.check("dense", [*start, lambda m: m.caught_up(1)], "deliver live, deliver live, ignore caught_up")
        self.check("dense", [*start, lambda m: m.heartbeat(2)], "deliver live, deliver live, gap closed")
        self.check("dense", [*start, lambda m: m.end(1)], "deliver live, deliver live, close closed")
        self.check("rising", [*start, lambda m: m.heartbeat(9)], "deliver live, deliver live, ignore live")

    def test_a_body_that_ends_without_its_end_is_a_cut(self) -> None:
        self.check("dense", [opened(), Machine.body_ended], "deliver live, reconnect reconnecting")
        self.check(
            "rising",
            [opened(), event(1, terminal=True), Machine.body_ended],
            "deliver live, deliver live, close closed",
        )

    def test_after_a_reconnect_the_follower_knows_where_it_stands(self) -> None:
        inputs = [opened(), event(1), Machine.cut, opened(), event(1), event(2)]
        expected = "deliver live, deliver live, reconnect reconnecting, deliver live, ignore live, deliver live"
        self.assertEqual(self.check("dense", inputs, expected).last, 2)

    def test_an_older_snapshot_is_ignored_unless_the_log_is_another_one(self) -> None:
        same, other = (
            [opened(), snapshot(5), snapshot(3), event(6)],
            [opened(), snapshot(5), snapshot(3, True), event(4)],
        )
        self.check("dense", same, "deliver live, deliver live, ignore live, deliver live")
        self.check("dense", other, "deliver live, deliver live, deliver live, deliver live")

    def test_failures_in_a_row_are_counted_and_progress_forgives_them(self) -> None:
        cut = Machine.cut
        self.check("dense", [cut, cut, cut], "reconnect reconnecting, reconnect reconnecting, fail closed", 2)
        forgiven = "reconnect reconnecting, deliver live, deliver live, reconnect reconnecting"
        self.check("dense", [cut, opened(), event(1), cut], forgiven, 1)

    def test_a_server_that_never_answered_is_not_waited_for(self) -> None:
        self.check("dense", [Machine.unreachable], "fail closed")
        self.check("dense", [opened(), Machine.unreachable], "deliver live, reconnect reconnecting")
        self.check("dense", [lambda m: m.refused(False)], "fail closed")
        self.check("dense", [lambda m: m.refused(True)], "reconnect reconnecting")

    def test_pauses_double_to_a_limit_and_the_server_may_ask_for_more(self) -> None:
        self.assertEqual([delay(1, None, 0), delay(2, None, 0), delay(30, None, 0)], [0.1, 0.2, 5.0])
        self.assertEqual(delay(1, 3.0, 0.5), 3.0)
