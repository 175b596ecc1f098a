"""anthropic-python: Messages."""

import threading
import time
import unittest

import anthropic
import httpx2

from support import BASE, KEY, approve_next, request, spoilt

client = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, timeout=30)
ASK = {"max_tokens": 256, "messages": [{"role": "user", "content": "weather?"}]}
WEATHER = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def find(turn):
    """The session of a turn, and how the turn stands."""
    for session in request("GET", "/v1/sessions?limit=100")[1]["sessions"]:
        state = request("GET", f"/v1/sessions/{session['sessionId']}/state")[1]
        for known in state.get("state", state)["turns"]:
            if known["turnId"] == turn:
                return session["sessionId"], known["status"]
    raise AssertionError(f"no session has the turn {turn}")


class Messages(unittest.TestCase):
    def test_the_stream_adds_up_to_the_message(self):
        with client.messages.stream(model="scripted/text", **ASK) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertTrue(text.startswith("The weather in Paris"))
        self.assertEqual(text, "".join(block.text for block in final.content if block.type == "text"))
        self.assertEqual(final.stop_reason, "end_turn")
        self.assertGreater(final.usage.output_tokens, 0)

    def test_blocks_do_not_interleave(self):
        events = list(client.messages.create(model="scripted/text", stream=True, **ASK))
        self.assertEqual(events[0].type, "message_start")
        self.assertEqual([event.type for event in events[-2:]], ["message_delta", "message_stop"])
        present, numbers = None, []
        for event in events:
            if event.type == "content_block_start":
                self.assertIsNone(present)
                present = event.index
                numbers.append(event.index)
            elif event.type == "content_block_delta":
                self.assertEqual(present, event.index)
            elif event.type == "content_block_stop":
                present = None
        self.assertEqual(numbers, list(range(len(numbers))))

    def test_a_tool_goes_back_and_forth(self):
        with client.messages.stream(model="scripted/tool", tools=[WEATHER], **ASK) as stream:
            first = stream.get_final_message()
        use = next(block for block in first.content if block.type == "tool_use")
        self.assertEqual((first.stop_reason, use.input), ("tool_use", {"city": "Paris"}))
        result = {"type": "tool_result", "tool_use_id": use.id, "content": "15C"}
        second = client.messages.create(
            model="scripted/tool", max_tokens=99, tools=[WEATHER],
            messages=[*ASK["messages"], {"role": "assistant", "content": first.content},
                      {"role": "user", "content": [result]}],
        )
        self.assertTrue(any(block.type == "text" for block in second.content))

    def test_a_failure_inside_the_stream_raises(self):
        with self.assertRaises(anthropic.APIStatusError) as failed:
            with client.messages.stream(model="scripted/error", **ASK) as stream:
                stream.get_final_message()
        self.assertTrue(failed.exception.body["error"]["type"])

    def test_the_stream_waits_while_somebody_decides(self):
        approver = threading.Thread(target=approve_next)
        approver.start()
        with client.messages.stream(model="agent/scenario-approval", **ASK) as stream:
            text = "".join(stream.text_stream)
        approver.join()
        self.assertEqual(text, "The file x was deleted.")

    def test_a_disconnect_does_not_cancel_and_a_cancel_ends_every_stream(self):
        with self.assertRaises(anthropic.APIStatusError) as ended:
            with client.messages.stream(model="scripted/slow", **ASK) as stream:
                for event in stream:
                    if event.type == "message_start":
                        turn = event.message.id.removeprefix("msg_")
                        session, status = find(turn)
                        self.assertEqual(status, "running")
                        path = f"/v1/sessions/{session}/turns/{turn}/cancel"
                        self.assertEqual(request("POST", path, {"mode": "immediate"})[0] // 100, 2)
        self.assertIn("cancelled", str(ended.exception))
        with client.messages.stream(model="scripted/slow?pace_ms=5", **ASK) as stream:
            first = next(iter(stream))
        turn = first.message.id.removeprefix("msg_")
        for _ in range(200):
            if find(turn)[1] == "completed":
                return
            time.sleep(0.02)
        self.fail("the run did not go on")

    def test_a_body_that_is_not_json_is_told_where(self):
        broken = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, http_client=spoilt(httpx2, b"{"))
        with self.assertRaises(anthropic.BadRequestError) as refused:
            broken.messages.create(model="scripted/text", **ASK)
        self.assertEqual(refused.exception.body["error"]["type"], "invalid_request_error")
        self.assertIn("not JSON", str(refused.exception))

    def test_refusals_read_like_the_vendors(self):
        with self.assertRaises(anthropic.NotFoundError) as unknown:
            client.messages.create(model="nobody/knows", **ASK)
        self.assertIn("scripted/", str(unknown.exception))
        with self.assertRaises(anthropic.BadRequestError) as wrong:
            client.messages.create(model="scripted/text", max_tokens=1, messages=[{"role": "wizard", "content": "x"}])
        self.assertIn("role", str(wrong.exception))
        with self.assertRaises(anthropic.AuthenticationError):
            anthropic.Anthropic(base_url=BASE, api_key="rr_wrong", max_retries=0).messages.create(
                model="scripted/text", **ASK
            )


if __name__ == "__main__":
    unittest.main()
