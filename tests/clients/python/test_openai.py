"""openai-python: Responses and Chat Completions."""

import threading
import time
import unittest

import httpx
import openai

from support import BASE, FAULT, KEY, approve_next, spoilt

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


def without_time(response):
    """The response but for what differs from run to run."""
    value = response.to_dict()
    for name in ("id", "created_at", "completed_at"):
        value.pop(name, None)
    for item in value.get("output", []):
        item.pop("id", None)
        item.pop("call_id", None)
    return value


class Responses(unittest.TestCase):
    def test_a_stream_is_numbered_and_adds_up(self):
        events = list(client.responses.create(model="scripted/text", input="weather?", stream=True))
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        self.assertEqual(events[0].type, "response.created")
        self.assertEqual(events[-1].type, "response.completed")
        text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
        self.assertTrue(text.startswith("The weather in Paris"))
        self.assertEqual(text, events[-1].response.output_text)

    def test_the_answer_without_a_stream_is_the_streams_last_object(self):
        whole = client.responses.create(model="scripted/text", input="weather?")
        final = list(client.responses.create(model="scripted/text", input="weather?", stream=True))[-1].response
        self.assertEqual(without_time(whole), without_time(final) | {"background": without_time(whole)["background"]})

    def test_a_tool_of_the_caller_ends_the_response_and_its_result_goes_on(self):
        with client.responses.stream(model="scripted/tool", input="x", tools=[WEATHER]) as stream:
            first = stream.get_final_response()
        call = next(item for item in first.output if item.type == "function_call")
        self.assertEqual(call.arguments, '{"city":"Paris"}')
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "15C"}
        second = client.responses.create(
            model="scripted/tool", input=[result], previous_response_id=first.id, tools=[WEATHER]
        )
        self.assertTrue(second.output_text)
        self.assertEqual(second.previous_response_id, first.id)

    def test_input_items_are_what_was_sent(self):
        response = client.responses.create(model="scripted/text", input="weather?")
        items = client.responses.input_items.list(response.id).data
        self.assertEqual([item.content[0].text for item in items], ["weather?"])

    def test_a_background_run_is_cut_and_resumed_without_loss(self):
        seen, name = [], None
        with self.assertRaises(Exception):
            for event in client.responses.create(
                model="scripted/slow", input="x", stream=True, background=True,
                extra_headers={FAULT: "drop-after=9"},
            ):
                seen.append(event.sequence_number)
                name = name or event.response.id
        self.assertEqual(seen, list(range(9)))
        rest = list(client.responses.retrieve(name, stream=True, starting_after=8))
        self.assertEqual([event.sequence_number for event in rest], list(range(9, 9 + len(rest))))
        self.assertEqual(rest[-1].type, "response.completed")
        self.assertEqual(client.responses.retrieve(name).status, "completed")

    def test_a_disconnect_does_not_cancel(self):
        stream = client.responses.create(model="scripted/slow", input="x", stream=True)
        name = next(iter(stream)).response.id
        stream.close()
        for _ in range(100):
            if client.responses.retrieve(name).status == "completed":
                return
            time.sleep(0.1)
        self.fail("the run did not go on")

    def test_cancel_is_final_and_says_so_again(self):
        started = client.responses.create(model="scripted/slow", input="x", background=True)
        self.assertIn(started.status, ("queued", "in_progress"))
        self.assertEqual(client.responses.cancel(started.id).status, "cancelled")
        self.assertEqual(client.responses.cancel(started.id).status, "cancelled")
        last = list(client.responses.retrieve(started.id, stream=True))[-1]
        self.assertEqual((last.type, last.response.status), ("response.incomplete", "cancelled"))

    def test_a_failure_is_told_in_the_stream(self):
        last = list(client.responses.create(model="scripted/error", input="x", stream=True))[-1]
        self.assertEqual((last.type, last.response.error.message), ("response.failed", "scripted failure"))

    def test_an_idempotency_key_makes_one_run_of_many_requests(self):
        headers = {"Idempotency-Key": f"key-{time.time_ns()}"}
        first = client.responses.create(model="scripted/text", input="x", extra_headers=headers)
        again = client.responses.create(model="scripted/text", input="x", extra_headers=headers)
        self.assertEqual(first.id, again.id)
        with self.assertRaises(openai.APIStatusError) as other:
            client.responses.create(model="scripted/text", input="another", extra_headers=headers)
        self.assertIn(other.exception.status_code, (409, 422))


class Approvals(unittest.TestCase):
    def asked(self):
        """A response that waits, and what it asks."""
        stream = client.responses.create(model="agent/scenario-approval", input="x", stream=True, background=True)
        for event in stream:
            if event.type == "response.output_item.done" and event.item.type == "mcp_approval_request":
                stream.close()
                return self.named, event.item
            self.named = getattr(event, "response", None) and event.response.id or self.named

    named = None

    def answer(self, approve, **more):
        name, asked = self.asked()
        decision = {"type": "mcp_approval_response", "approval_request_id": asked.id, "approve": approve}
        return name, {"model": "agent/scenario-approval", "input": [decision], "previous_response_id": name, **more}

    def test_an_approval_goes_on_with_the_same_response(self):
        name, arguments = self.answer(True)
        response = client.responses.create(**arguments)
        self.assertEqual((response.id, response.output_text), (name, "The file x was deleted."))
        # The first decision holds, and whoever comes later is told which it was.
        arguments["input"][0]["approve"] = False
        again = client.responses.create(**arguments)
        self.assertEqual([item.approve for item in again.output if item.type == "mcp_approval_response"], [True])

    def test_a_rejection_is_streamed_from_the_first_event(self):
        name, arguments = self.answer(False)
        with client.responses.stream(**arguments) as stream:
            final = stream.get_final_response()
        self.assertEqual((final.id, final.output_text), (name, "The file x was not deleted."))

    def test_a_decision_names_the_response_that_asked(self):
        _, arguments = self.answer(True)
        del arguments["previous_response_id"]
        with self.assertRaises(openai.BadRequestError) as refused:
            client.responses.create(**arguments)
        self.assertEqual(refused.exception.param, "previous_response_id")

    def test_a_completion_waits_while_somebody_decides(self):
        approver = threading.Thread(target=approve_next)
        approver.start()
        ask = [{"role": "user", "content": "x"}]
        answer = client.chat.completions.create(model="agent/scenario-approval", messages=ask)
        approver.join()
        self.assertEqual(answer.choices[0].message.content, "The file x was deleted.")


class Errors(unittest.TestCase):
    def refused(self, status, **arguments):
        with self.assertRaises(openai.APIStatusError) as refused:
            client.responses.create(**arguments)
        self.assertEqual(refused.exception.status_code, status)
        return refused.exception

    def test_an_unknown_model_is_told_what_there_is(self):
        error = self.refused(404, model="nobody/knows", input="x")
        self.assertIn("scripted/", error.message)
        self.assertEqual(error.param, "model")

    def test_a_wrong_type_names_the_member(self):
        error = self.refused(400, model="scripted/text", input=[{"type": "message", "role": "user", "content": 3}])
        self.assertTrue(error.param.startswith("input[0]"), error.param)

    def test_a_body_that_is_not_json_is_told_where(self):
        for body in (b"{", b"", b'{"model": "scripted/text", "input": "\\ud800"}'):
            broken = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, http_client=spoilt(httpx, body))
            for ask in (
                lambda: broken.responses.create(model="scripted/text", input="x"),
                lambda: broken.chat.completions.create(model="scripted/text", messages=Chat.ASK),
            ):
                with self.assertRaises(openai.BadRequestError) as refused:
                    ask()
                self.assertEqual(refused.exception.code, "invalid_json")
                self.assertIn("JSON", refused.exception.message)

    def test_chat_names_the_member_and_the_models(self):
        with self.assertRaises(openai.NotFoundError) as unknown:
            client.chat.completions.create(model="nobody/knows", messages=Chat.ASK)
        self.assertIn("scripted/", unknown.exception.message)
        with self.assertRaises(openai.BadRequestError) as wrong:
            client.chat.completions.create(model="scripted/text", messages=[{"role": "wizard", "content": "x"}])
        self.assertEqual(wrong.exception.param, "messages[0].role")
        stranger = openai.OpenAI(base_url=f"{BASE}/v1", api_key="rr_wrong", max_retries=0)
        with self.assertRaises(openai.AuthenticationError) as refused:
            stranger.chat.completions.create(model="scripted/text", messages=Chat.ASK)
        self.assertIn("key", refused.exception.message)

    def test_an_absent_response_and_an_absent_key_read_like_the_vendors(self):
        with self.assertRaises(openai.NotFoundError) as absent:
            client.responses.retrieve("resp_nope")
        self.assertTrue(absent.exception.message)
        stranger = openai.OpenAI(base_url=f"{BASE}/v1", api_key="rr_wrong", max_retries=0)
        with self.assertRaises(openai.AuthenticationError):
            stranger.responses.create(model="scripted/text", input="x")


class Conversations(unittest.TestCase):
    def test_responses_go_on_in_a_conversation(self):
        user = {"type": "message", "role": "user", "content": "hello"}
        made = client.conversations.create(items=[user], metadata={"topic": "weather"})
        self.assertEqual(client.conversations.retrieve(made.id), made)
        answers = [
            client.responses.create(model="scripted/text", input="weather?", conversation=made.id),
            client.responses.create(model="scripted/text", input="and now?", conversation={"id": made.id}),
        ]
        self.assertEqual([answer.conversation.id for answer in answers], [made.id] * 2)
        added = client.conversations.items.create(made.id, items=[{**user, "content": "bye"}])
        items = list(client.conversations.items.list(made.id, limit=2, order="asc"))
        said = [part.text for item in items if item.type == "message" for part in item.content]
        texts = [answer.output_text for answer in answers]
        self.assertEqual(said, ["hello", "weather?", texts[0], "and now?", texts[1], "bye"])
        self.assertEqual(items[-1], added.data[0])
        newest = client.conversations.items.list(made.id).data
        self.assertEqual([item.id for item in newest], [item.id for item in reversed(items)])
        one = client.conversations.items.retrieve(items[1].id, conversation_id=made.id)
        self.assertEqual(one, items[1])
        updated = client.conversations.update(made.id, metadata={"topic": "rain"})
        self.assertEqual(updated.metadata, {"topic": "rain"})
        self.assertTrue(client.conversations.delete(made.id).deleted)
        with self.assertRaises(openai.NotFoundError):
            client.conversations.retrieve(made.id)

    def test_a_tool_goes_back_and_forth_in_a_conversation(self):
        made = client.conversations.create()
        first = client.responses.create(model="scripted/tool", input="x", tools=[WEATHER], conversation=made.id)
        call = next(item for item in first.output if item.type == "function_call")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "15C"}
        events = list(client.responses.create(
            model="scripted/tool", input=[result], tools=[WEATHER], conversation=made.id, stream=True
        ))
        self.assertTrue(events[-1].response.output_text)
        kinds = [item.type for item in client.conversations.items.list(made.id, order="asc")]
        self.assertLess(kinds.index("function_call"), kinds.index("function_call_output"))

    def test_what_is_wrong_is_said(self):
        with self.assertRaises(openai.NotFoundError) as absent:
            client.responses.create(model="scripted/text", input="x", conversation="conv_nobody")
        self.assertIn("conv_nobody", str(absent.exception))
        with self.assertRaises(openai.InternalServerError) as refused:
            client.conversations.items.delete("msg_1", conversation_id=client.conversations.create().id)
        self.assertIn("DELETE /v1/conversations", str(refused.exception))


class Chat(unittest.TestCase):
    ASK = [{"role": "user", "content": "x"}]

    def test_chunks_begin_with_the_role_and_end_with_usage(self):
        chunks = list(client.chat.completions.create(
            model="scripted/text", messages=self.ASK, stream=True, stream_options={"include_usage": True}
        ))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        finishes = [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason]
        self.assertEqual(finishes, ["stop"])
        self.assertEqual((chunks[-1].choices, chunks[-1].usage.total_tokens > 0), ([], True))

    def test_tools_go_back_and_forth(self):
        with client.chat.completions.stream(model="scripted/tool", messages=self.ASK) as stream:
            first = stream.get_final_completion().choices[0]
        call = first.message.tool_calls[0]
        self.assertEqual((first.finish_reason, call.function.arguments), ("tool_calls", '{"city":"Paris"}'))
        second = client.chat.completions.create(
            model="scripted/tool",
            messages=[*self.ASK, first.message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "15C"}],
        )
        self.assertTrue(second.choices[0].message.content.startswith("The weather in Paris"))

    def test_the_models_are_listed(self):
        names = [model.id for model in client.models.list()]
        self.assertIn("scripted/text", names)


if __name__ == "__main__":
    unittest.main()
