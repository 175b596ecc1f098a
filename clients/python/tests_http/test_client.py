from __future__ import annotations

import asyncio
import inspect
import json
import unittest
from typing import Any

from riverrun import AsyncRiverrun, ProblemError, ProducerStamp, Riverrun

from .scripted import Script, Scripted


class Calls(unittest.TestCase):
    def check(self, name: str, arguments: dict[str, Any], answer: Any, path: str, body: Any = None) -> None:
        """The request that a call of either client makes, and what it gives for the answer."""
        waiting, asynchronous = (Script(Scripted(json.dumps(answer))) for _ in range(2))
        found = getattr(waiting.client(), name)(**arguments)
        self.assertEqual(found, answer)
        self.assertEqual(asyncio.run(getattr(asynchronous.async_client(), name)(**arguments)), answer)
        for script in (waiting, asynchronous):
            (request,) = script.requests
            self.assertEqual(script.paths(), [path])
            self.assertEqual(json.loads(request.content) if request.content else None, body)
            self.assertEqual(request.headers["authorization"], "Bearer k")

    def test_calls_ask_what_they_say(self) -> None:
        page: dict[str, Any] = {"data": []}
        self.check("create_session", {"title": "t"}, {"sessionId": "s"}, "/v1/sessions", {"title": "t"})
        self.check("get_session", {"session_id": "a:b"}, {"sessionId": "a:b"}, "/v1/sessions/a%3Ab")
        self.check("list_sessions", {"status": "running", "limit": 2}, page, "/v1/sessions?limit=2&status=running")
        self.check("get_task", {"task_id": "t"}, {"task_id": "t"}, "/v1/tasks/t")
        self.check("list_actions", {"status": "pending"}, page, "/v1/actions?status=pending")
        self.check("list_session_actions", {"session_id": "s"}, page, "/v1/sessions/s/actions")
        jobs: dict[str, Any] = {"jobs": [], "truncated": False}
        self.check("list_jobs", {"session_id": "s", "status": "failed"}, jobs, "/v1/sessions/s/jobs?status=failed")
        trials = {"session_id": "s", "trial_id": "t"}
        self.check("export_benchmark", trials, {"trials": []}, "/v1/sessions/s/benchmark?trial=t")
        decision = {"decision": "approve", "digest": "d"}
        arguments = {"session_id": "s", "action_id": "a", **decision}
        self.check("decide_action", arguments, {}, "/v1/sessions/s/actions/a", decision)
        self.check(
            "submit", {"session_id": "s", "input": "hi"}, {"turnId": "u"}, "/v1/sessions/s/turns", {"input": "hi"}
        )

    def test_an_operation_puts_its_members_into_the_path_the_query_or_the_body(self) -> None:
        rule = {"ruleId": "rule_1", "tool": "t", "toolName": "delete_file", "agent": "clerk", "decision": "approve"}
        answers = (
            Scripted(json.dumps({"rules": [rule]})),
            Scripted(json.dumps({"revoked": rule, "cursor": "7"})),
            Scripted('{"queue":[]}'),
            Scripted('{"turnId":"t","status":"cancelling","cursor":"8"}'),
        )
        waiting, asynchronous = Script(*answers), Script(*answers)
        client, async_client = waiting.client(), asynchronous.async_client()
        self.assertEqual(client.list_rules(session_id="a:b")["rules"], [rule])
        client.revoke_rule(session_id="a:b", rule_id="rule/1", idempotency_key="k")
        client.list_queue(session_id="s", thread_id="t 1")
        client.cancel_turn(session_id="s", turn_id="t", mode="after_turn")

        async def all_of_them() -> None:
            self.assertEqual((await async_client.list_rules(session_id="a:b"))["rules"], [rule])
            await async_client.revoke_rule(session_id="a:b", rule_id="rule/1", idempotency_key="k")
            await async_client.list_queue(session_id="s", thread_id="t 1")
            await async_client.cancel_turn(session_id="s", turn_id="t", mode="after_turn")

        asyncio.run(all_of_them())
        paths = [
            "/v1/sessions/a%3Ab/rules",
            "/v1/sessions/a%3Ab/rules/rule%2F1",
            "/v1/sessions/s/queue?thread=t%201",
            "/v1/sessions/s/turns/t/cancel",
        ]
        for script in (waiting, asynchronous):
            self.assertEqual(script.paths(), paths)
            self.assertEqual([request.method for request in script.requests], ["GET", "DELETE", "GET", "POST"])
            self.assertEqual(script.requests[1].headers["idempotency-key"], "k")
            self.assertEqual(json.loads(script.requests[3].content), {"mode": "after_turn"})

    def test_an_append_carries_its_stamp(self) -> None:
        script = Script(Scripted('{"first":1,"last":1,"cursor":"1"}'))
        script.client().append("s", {"type": "x.y"}, ProducerStamp("p", 1, 0))
        headers = script.requests[0].headers
        names = ("producer-id", "producer-epoch", "producer-seq")
        self.assertEqual([headers[name] for name in names], ["p", "1", "0"])

    def test_a_repeat_of_an_older_append_has_no_place(self) -> None:
        script = Script(Scripted('{"cursor":"9","duplicate":true}'))
        answer = script.client().append("s", {"type": "x.y"}, ProducerStamp("p", 1, 0))
        self.assertEqual(answer, {"cursor": "9", "duplicate": True})

    def test_a_state_is_filled_with_what_the_wire_leaves_out(self) -> None:
        state = Script(Scripted('{"sequence":3}')).client().state("s")
        self.assertEqual((state["sequence"], state["tasks"]), (3, []))

    def test_a_deletion_answers_with_nothing(self) -> None:
        script = Script(Scripted(status=204))
        script.client().delete_session(session_id="s")
        (request,) = script.requests
        self.assertEqual((request.method, script.paths()), ("DELETE", ["/v1/sessions/s"]))

    def test_a_problem_keeps_every_member(self) -> None:
        body = '{"code":"event_too_large","detail":"over","field":"[3]","limit":9,"requestId":"r","retryable":false}'
        with self.assertRaises(ProblemError) as caught:
            Script(Scripted(body, status=413)).client().append("s", [])
        error = caught.exception
        found = (error.status, error.code, str(error), error.field, error.limit, error.request_id, error.is_retryable)
        self.assertEqual(found, (413, "event_too_large", "over", "[3]", 9, "r", False))

    def test_both_clients_have_the_same_methods(self) -> None:
        def methods(client: type) -> set[str]:
            return {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}

        self.assertEqual(methods(Riverrun), methods(AsyncRiverrun))
