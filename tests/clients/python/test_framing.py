"""What our own routes add to a dialect's frames, `id:` lines and heartbeats between them, as the official parsers take it.

A heartbeat beside ids is a comment without a blank line of its own: behind an `id:` openai takes that blank line
for an event without data. A test shows that it still does, so that nobody gives it back.
"""

import json
import unittest

import anthropic
import httpx
import httpx2
import openai

BEAT = ": ka\n"


def body(frames, beat=BEAT):
    return "".join(f"id: {at}.a.b\n{frame}\n\n{beat}" for at, frame in enumerate(frames, 1))


def chunk(text):
    delta = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [delta]}


CHAT = [*(f"data: {json.dumps(chunk(text))}" for text in "ab"), "data: [DONE]"]


def client_of(text, library=httpx):
    def answer(_):
        return library.Response(200, headers={"content-type": "text/event-stream"}, content=text.encode())

    return library.Client(transport=library.MockTransport(answer))


def chat(text):
    client = openai.OpenAI(api_key="k", base_url="http://x/v1", max_retries=0, http_client=client_of(text))
    return "".join(one.choices[0].delta.content for one in client.chat.completions.create(model="m", messages=[], stream=True))


class Framing(unittest.TestCase):
    def test_openai_reads_chunks_with_ids_and_heartbeats(self):
        self.assertEqual(chat(body(CHAT)), "ab")

    def test_a_heartbeat_with_a_blank_line_would_break_openai(self):
        with self.assertRaises(json.JSONDecodeError):
            chat(body(CHAT, beat=": ka\n\n"))

    def test_anthropic_reads_events_with_ids(self):
        start = {"type": "message_start", "message": {
            "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0}}}
        words = [start, {"type": "ping"}, {"type": "message_stop"}]
        text = body([f"event: {word['type']}\ndata: {json.dumps(word)}" for word in words], beat="")
        client = anthropic.Anthropic(api_key="k", base_url="http://x", max_retries=0, http_client=client_of(text, httpx2))
        seen = client.messages.create(model="m", max_tokens=1, messages=[], stream=True)
        self.assertEqual([event.type for event in seen if event.type != "ping"], ["message_start", "message_stop"])


if __name__ == "__main__":
    unittest.main()
