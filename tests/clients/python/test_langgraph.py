"""langgraph-sdk: threads and runs. The client resumes by itself, from `Location` and the last `id:`."""

import itertools
import unittest
import uuid
import warnings

from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import (
    AuthenticationError,
    ConflictError,
    InternalServerError,
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


def kinds(parts):
    return [kind for kind, _ in itertools.groupby(part.event for part in parts)]


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
        names = [assistant["assistant_id"] for assistant in client().assistants.search(limit=100)]
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


class Threads(unittest.TestCase):
    def test_a_thread_has_metadata_that_grows(self):
        own = client()
        made = own.threads.create(metadata={"user": "ada", "kind": "chat"})
        self.assertEqual((made["status"], made["metadata"]), ("idle", {"user": "ada", "kind": "chat"}))
        updated = own.threads.update(made["thread_id"], metadata={"kind": "work", "n": 1})
        self.assertEqual(updated["metadata"], {"user": "ada", "kind": "work", "n": 1})
        self.assertEqual(own.threads.get(made["thread_id"])["metadata"], updated["metadata"])

    def test_threads_are_searched_and_counted(self):
        own, mark = client(), uuid.uuid4().hex
        first, second, third = (own.threads.create(metadata={"mark": mark, "n": n})["thread_id"] for n in range(3))
        run("scripted/text", thread=second)
        run("agent/scenario-approval", thread=third)
        found = own.threads.search(metadata={"mark": mark})
        self.assertEqual([thread["thread_id"] for thread in found], [third, second, first])
        self.assertEqual([thread["status"] for thread in found], ["interrupted", "idle", "idle"])
        self.assertEqual(found[1]["values"], own.threads.get(second)["values"])
        self.assertTrue(found[0]["interrupts"])
        page = own.threads.search(metadata={"mark": mark}, limit=1, offset=1, select=["thread_id"])
        self.assertEqual(page, [{"thread_id": second}])
        waiting = own.threads.search(metadata={"mark": mark}, status="interrupted")
        self.assertEqual([thread["thread_id"] for thread in waiting], [third])
        rising = own.threads.search(ids=[first, second], sort_by="created_at", sort_order="asc")
        self.assertEqual([thread["thread_id"] for thread in rising], [first, second])
        self.assertEqual(own.threads.count(metadata={"mark": mark}), 3)
        self.assertEqual(own.threads.count(metadata={"mark": mark, "n": 1}), 1)
        self.assertEqual(own.threads.count(metadata={"mark": "nobody's"}), 0)

    def test_a_thread_is_copied_and_deleted(self):
        own, thread = client(), new_thread()
        run("scripted/text", thread=thread)
        before = own.threads.get(thread)["values"]
        copy = own.threads.copy(thread)["thread_id"]
        self.assertEqual(own.threads.get(copy)["values"], before)
        run("scripted/text", thread=copy)
        self.assertEqual(own.threads.get(thread)["values"], before)
        own.threads.delete(thread)
        with self.assertRaises(NotFoundError):
            own.threads.get(thread)
        self.assertEqual(len(own.threads.get(copy)["values"]["messages"]), 4)

    def test_the_history_has_a_state_behind_every_run(self):
        own, thread = client(), new_thread()
        for _ in range(3):
            run("scripted/text", thread=thread)
        states = own.threads.get_history(thread)
        counts = [len(state["values"]["messages"]) for state in states]
        self.assertEqual(counts, [6, 4, 2])
        for state, parent in zip(states, states[1:]):
            self.assertEqual(state["parent_checkpoint"], parent["checkpoint"])
        self.assertIsNone(states[-1]["parent_checkpoint"])
        self.assertEqual(states[0]["values"], own.threads.get_state(thread)["values"])
        second = states[1]["checkpoint"]
        self.assertEqual(own.threads.get_history(thread, before=second), states[2:])
        self.assertEqual(own.threads.get_history(thread, limit=1), states[:1])
        self.assertEqual(own.threads.get_state(thread, checkpoint=second), states[1])
        self.assertEqual(own.threads.get_state(thread, checkpoint_id=second["checkpoint_id"]), states[1])
        with self.assertRaises(NotFoundError) as unknown:
            own.threads.get_state(thread, checkpoint_id="1ef-made-up")
        self.assertIn("1ef-made-up", str(unknown.exception))

    def test_a_long_thread_is_told_page_by_page(self):
        own, thread = client(), new_thread()
        names = [own.runs.wait(thread, "scripted/echo", input=ASK["input"]) and n for n in range(40)]
        pages = [own.runs.list(thread, limit=15, offset=offset) for offset in (0, 15, 30)]
        listed = [entry["run_id"] for page in pages for entry in page]
        self.assertEqual((len(listed), len(set(listed))), (len(names), len(names)))
        self.assertEqual(own.runs.list(thread, status="error"), [])
        seen, before = 0, None
        while states := own.threads.get_history(thread, limit=15, before=before):
            seen, before = seen + len(states), states[-1]["checkpoint"]
        self.assertEqual(seen, len(names))
        self.assertEqual(own.runs.get(thread, listed[-1])["status"], "success")

    def test_a_run_may_make_its_thread(self):
        name = f"th_{uuid.uuid4().hex}"
        told = client().runs.wait(name, "scripted/text", input=ASK["input"], if_not_exists="create")
        self.assertEqual(client().threads.get(name)["values"], told)
        with self.assertRaises(NotFoundError):
            client().runs.create(f"{name}x", "scripted/text", input=ASK["input"])

    def test_assistants_are_found_by_name(self):
        own = client()
        page = own.assistants.search(name="SCENARIO-T", limit=1, response_format="object")
        self.assertEqual(len(page["assistants"]), 1)
        self.assertEqual(page["next"], "1")
        self.assertEqual(own.assistants.count(graph_id="agent/scenario-tool"), 1)
        self.assertEqual(own.assistants.count(metadata={"no": "such"}), 0)


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
            # Who comes late gets several pieces of a text as one.
            self.assertEqual(kinds(parts), kinds(whole), fault)

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


    def test_many_runs_are_cancelled_at_once(self):
        own, thread = client(), new_thread()
        begun = [own.runs.create(thread, "scripted/slow", input=ASK["input"])["run_id"] for _ in range(3)]
        own.runs.cancel_many(thread_id=thread, run_ids=begun[1:])
        own.runs.cancel_many(thread_id=thread, status="all")
        for name in begun:
            with self.assertRaises(Exception):
                raise Exception(own.runs.join(thread, name).get("__error__"))
        self.assertEqual({entry["status"] for entry in own.runs.list(thread)}, {"interrupted"})


class Refusals(unittest.TestCase):
    def test_what_is_not_provided_says_what_does_instead(self):
        own, thread = client(), new_thread()
        name = run("scripted/text", thread=thread)[0].data["run_id"]
        calls = {
            "begin a run": lambda: own.threads.update_state(thread, {"messages": []}),
            "runs.join_stream": lambda: list(own.threads.join_stream(thread)),
            "delete the thread": lambda: own.runs.delete(thread, name),
            "stays in the log": lambda: own.runs.cancel(thread, name, action="rollback"),
            "one by one": lambda: own.runs.create_batch([{"assistant_id": "scripted/text"}]),
            "timer": lambda: own.crons.create("scripted/text", schedule="* * * * *"),
            "metadata": lambda: own.store.put_item(["a"], "k", {"v": 1}),
            "riverrun.toml": lambda: own.assistants.create("scripted/text"),
            "stays inside": lambda: own.assistants.get_schemas("scripted/text"),
            "retention": lambda: own.threads.create(ttl=5),
            "copy it first": lambda: run("scripted/text", thread=thread, checkpoint_id="1"),
            "search by": lambda: own.threads.search(values={"a": 1}),
        }
        for words, call in calls.items():
            with self.assertRaises(InternalServerError) as refused:
                call()
            self.assertEqual(refused.exception.status_code, 501, words)
            self.assertIn(words, str(refused.exception))

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
