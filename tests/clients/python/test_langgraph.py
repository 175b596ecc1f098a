"""langgraph-sdk: threads and runs. The client resumes by itself, from `Location` and the last `id:`."""

import unittest
import warnings

from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import (
    AuthenticationError,
    ConflictError,
    NotFoundError,
    UnprocessableEntityError,
)

from support import BASE, FAULT, KEY

ASK = {"input": {"messages": [{"role": "user", "content": "weather?"}]}, "stream_mode": ["messages", "values"]}
MODES = ("metadata", "messages", "values", "end", "error")


def client(key=KEY, **headers):
    """One client for each stream: what one leaves behind must not stand in the next one's way."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return get_sync_client(url=BASE, api_key=key, headers=headers, timeout=30)


def run(assistant, own=None, thread=None, **more):
    return list((own or client()).runs.stream(thread, assistant, **{**ASK, **more}))


def new_thread():
    return client().threads.create()["thread_id"]


def text(parts):
    chunks = [part.data[0] for part in parts if part.event == "messages"]
    return "".join(chunk["content"] for chunk in chunks if chunk["type"] == "AIMessageChunk")


def values(parts):
    return [part.data for part in parts if part.event == "values"][-1]


class Runs(unittest.TestCase):
    def test_the_stream_adds_up_to_the_messages(self):
        parts = run("scripted/text", thread=new_thread())
        self.assertTrue(all(part.event in MODES for part in parts))
        self.assertEqual((parts[0].event, parts[-1].event), ("metadata", "end"))
        self.assertTrue(text(parts).startswith("The weather in Paris"))
        said = [message["content"] for message in values(parts)["messages"] if message["type"] == "ai"]
        self.assertEqual("".join(said), text(parts))

    def test_a_run_needs_no_thread(self):
        self.assertTrue(text(run("scripted/text")).startswith("The weather in Paris"))
        told = client().runs.wait(None, "scripted/text", input=ASK["input"])
        self.assertTrue(told["messages"][-1]["content"].startswith("The weather in Paris"))

    def test_a_tool_is_called_and_answers(self):
        parts = run("agent/scenario-tool", thread=new_thread())
        chunks = [part.data[0] for part in parts if part.event == "messages"]
        calls = [call for chunk in chunks for call in chunk.get("tool_call_chunks", [])]
        self.assertEqual(calls[0]["name"], "get_weather")
        self.assertEqual("".join(call["args"] for call in calls), '{"city":"Paris"}')
        results = [chunk for chunk in chunks if chunk["type"] == "tool"]
        self.assertEqual(results[0]["tool_call_id"], calls[0]["id"])
        self.assertTrue(text(parts))

    def test_an_approval_interrupts_and_a_command_resumes(self):
        own, thread = client(), new_thread()
        parts = run("agent/scenario-approval", thread=thread)
        interrupt = values(parts)["__interrupt__"][0]
        self.assertEqual(parts[-1].event, "end")
        self.assertEqual(own.threads.get(thread)["status"], "interrupted")
        state = own.threads.get_state(thread)
        self.assertEqual([task["interrupts"][0]["id"] for task in state["tasks"]], [interrupt["id"]])
        self.assertEqual([entry["id"] for entry in state["interrupts"]], [interrupt["id"]])
        decision = {"decisions": [{"type": "approve"}]}
        rest = run("agent/scenario-approval", thread=thread, input=None, command={"resume": decision})
        self.assertEqual(rest[-1].event, "end")
        self.assertNotIn("__interrupt__", values(rest))
        self.assertEqual(own.threads.get(thread)["status"], "idle")

    def test_an_interrupt_is_answered_by_its_id(self):
        thread = new_thread()
        interrupt = values(run("agent/scenario-approval", thread=thread))["__interrupt__"][0]
        resume = {interrupt["id"]: {"decisions": [{"type": "reject", "message": "not today"}]}}
        rest = run("agent/scenario-approval", thread=thread, input=None, command={"resume": resume})
        self.assertEqual(rest[-1].event, "end")
        answers = [message["content"] for message in values(rest)["messages"] if message["type"] == "tool"]
        self.assertIn("not today", answers[0])
        # Who joins now gets the run to its end, not to where it waited.
        joined = list(client().runs.join_stream(thread, rest[0].data["run_id"]))
        self.assertEqual(values(joined), values(rest))

    def test_a_run_in_the_background_is_joined(self):
        own, thread = client(), new_thread()
        begun = own.runs.create(thread, "scripted/slow", input=ASK["input"])
        self.assertIn(begun["status"], ("pending", "running"))
        parts = list(own.runs.join_stream(thread, begun["run_id"]))
        told = client().runs.join(thread, begun["run_id"])
        self.assertEqual(told["messages"][-1]["content"], text(parts))
        self.assertEqual(client().runs.get(thread, begun["run_id"])["status"], "success")
        listed = [entry["run_id"] for entry in client().runs.list(thread)]
        self.assertEqual(listed, [begun["run_id"]])

    def test_assistants_are_the_agents(self):
        names = [assistant["assistant_id"] for assistant in client().assistants.search()]
        self.assertIn("agent/scenario-tool", names)
        self.assertEqual(client().assistants.get("scripted/text")["assistant_id"], "scripted/text")
        with self.assertRaises(NotFoundError):
            client().assistants.get("nobody-knows")

    def test_a_thread_keeps_what_was_said(self):
        own, thread = client(), new_thread()
        for _ in range(2):
            run("scripted/text", thread=thread)
        state = own.threads.get_state(thread)
        kinds = [message["type"] for message in state["values"]["messages"]]
        self.assertEqual(kinds, ["human", "ai", "human", "ai"])
        self.assertEqual((state["next"], state["tasks"]), ([], []))
        self.assertEqual(own.threads.get(thread)["values"], state["values"])


class Resume(unittest.TestCase):
    def test_a_cut_stream_goes_on_by_itself(self):
        whole = run("scripted/text", thread=new_thread())
        for fault in ("drop-after=3", "reset-after=3", "end-after=3"):
            # The fault is for the request that begins the run; the client comes back without it.
            own = client()
            own.http.client.event_hooks["request"] = [
                lambda call, fault=fault: call.method == "POST" and call.headers.update({FAULT: fault})
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                parts = run("scripted/text", own, new_thread())
            self.assertEqual(text(parts), text(whole), fault)
            self.assertEqual([part.event for part in parts], [part.event for part in whole], fault)

    def test_a_run_is_joined_behind_any_event(self):
        own, thread = client(), new_thread()
        parts = run("scripted/text", thread=thread)
        name = parts[0].data["run_id"]
        for at, part in enumerate(parts):
            rest = list(own.runs.join_stream(thread, name, last_event_id=part.id))
            self.assertEqual([entry.data for entry in rest], [entry.data for entry in parts[at + 1:]])

    def test_leaving_is_not_cancelling(self):
        thread = new_thread()
        stream = client().runs.stream(thread, "scripted/slow", **ASK)
        name = next(stream).data["run_id"]
        stream.close()
        self.assertTrue(client().runs.join(thread, name)["messages"])
        self.assertEqual(client().runs.get(thread, name)["status"], "success")


class Cancel(unittest.TestCase):
    def test_a_run_is_cancelled(self):
        own, thread = client(), new_thread()
        stream = client().runs.stream(thread, "scripted/slow", **ASK)
        name = next(stream).data["run_id"]
        own.runs.cancel(thread, name, wait=True)
        self.assertEqual(own.runs.get(thread, name)["status"], "interrupted")
        self.assertIn(list(stream)[-1].event, ("end", "error"))

    def test_a_busy_thread_refuses_when_asked_to(self):
        thread = new_thread()
        begun = client().runs.create(thread, "scripted/slow", input=ASK["input"])
        with self.assertRaises(ConflictError):
            run("scripted/text", thread=thread, multitask_strategy="reject")
        client().runs.cancel(thread, begun["run_id"])


class Refusals(unittest.TestCase):
    def test_a_failure_inside_the_stream_is_told(self):
        thread = new_thread()
        parts = run("scripted/error", thread=thread)
        self.assertEqual(parts[-1].event, "error")
        self.assertTrue(parts[-1].data["message"])
        self.assertEqual(client().threads.get(thread)["status"], "error")
        with self.assertRaisesRegex(Exception, parts[-1].data["message"]):
            client().runs.wait(None, "scripted/error", input=ASK["input"])

    def test_refusals_have_a_message(self):
        with self.assertRaises(NotFoundError) as unknown:
            run("nobody-knows")
        self.assertIn("nobody-knows", str(unknown.exception))
        with self.assertRaises(NotFoundError) as absent:
            client().threads.get("no-such-thread")
        self.assertTrue(str(absent.exception))
        with self.assertRaises(UnprocessableEntityError) as wrong:
            run("scripted/text", input={"messages": []})
        self.assertIn("input", str(wrong.exception))
        with self.assertRaises(AuthenticationError):
            run("scripted/text", client(key="rr_wrong"))
        thread = new_thread()
        with self.assertRaises(ConflictError):
            client().threads.create(thread_id=thread)
        self.assertEqual(client().threads.create(thread_id=thread, if_exists="do_nothing")["thread_id"], thread)


if __name__ == "__main__":
    unittest.main()
