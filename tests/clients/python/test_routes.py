"""Programs with hard-coded model names, unmodified: [routes] gives the names to agents, models and scripts."""

import json
import unittest
import urllib.request

from server import Server
from upstream import Upstream

upstream = Upstream()
server = Server(
    upstream.config()
    + """
[agents.helper]
model = "scripted/text"

[agents."gpt-4.1"]
model = "scripted/text"

[routes]
"gpt-4o" = ["agent/helper"]
"gpt-4o-mini" = ["scripted/text"]
"claude-*" = "anthropic/citations"
"claude-opus-*" = "scripted/text"
"gemini-2.5-pro" = "scripted/text"
"""
)
server.environment()

import anthropic  # noqa: E402  the server must be there first
import openai  # noqa: E402

from support import BASE, KEY, request  # noqa: E402

gpt = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)
claude = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, timeout=30)
ASK = [{"role": "user", "content": "weather?"}]
NAMES = ["gpt-4o", "gpt-4o-mini", "gpt-4.1"]
PARIS = "The weather in Paris"


def tearDownModule():
    server.stop()


def ask(path, body):
    status, answer = request("POST", path, body)
    return status, json.dumps(answer)


class Routes(unittest.TestCase):
    def test_openai_python_asks_for_its_own_names(self):
        for name in NAMES:
            with self.subTest(model=name):
                answer = gpt.chat.completions.create(model=name, messages=ASK)
                self.assertIn(PARIS, answer.choices[0].message.content)
                self.assertEqual(answer.model, name)
                response = gpt.responses.create(model=name, input="weather?")
                self.assertIn(PARIS, response.output_text)
                self.assertEqual(response.model, name)
                again = gpt.responses.create(model=name, input="and?", previous_response_id=response.id)
                self.assertEqual(again.status, "completed")

    def test_anthropic_python_asks_for_its_own_names(self):
        upstream.calls.clear()
        answer = claude.messages.create(model="claude-sonnet-6-20261101", max_tokens=99, messages=ASK)
        self.assertEqual(answer.model, "claude-sonnet-6-20261101")
        self.assertEqual([body["model"] for _, _, body in upstream.calls], ["citations"])
        longest = claude.messages.create(model="claude-opus-6", max_tokens=99, messages=ASK)
        self.assertIn(PARIS, "".join(block.text for block in longest.content if block.type == "text"))
        self.assertEqual(len(upstream.calls), 1)

    def test_every_dialect_takes_a_route(self):
        user = {"role": "user", "parts": [{"text": "weather?"}]}
        status, told = ask("/v1beta/models/gemini-2.5-pro:generateContent", {"contents": [user]})
        self.assertEqual((status, PARIS in told), (200, True), told)
        status, told = ask("/runs/wait", {"assistant_id": "gpt-4o", "input": {"messages": ASK}})
        self.assertEqual((status, PARIS in told), (200, True), told)
        call = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "weather?"}], "metadata": {"agent": "gpt-4o"}}
        status, told = ask("/a2a", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": call}})
        self.assertEqual((status, "error" in json.loads(told)), (200, False), told)
        session = request("POST", "/v1/sessions", {})[1]["sessionId"]
        status, told = ask(f"/v1/sessions/{session}/turns", {"agent": "gpt-4o", "input": "weather?"})
        self.assertIn(status, [200, 202], told)

    def test_screens_take_a_route(self):
        run = {"threadId": "t1", "runId": "r1", "state": {}, "tools": [], "context": [],
               "forwardedProps": {"agent": "gpt-4o"}, "messages": [{"id": "m", "role": "user", "content": "weather?"}]}
        part = {"type": "text", "text": "weather?"}
        chat = {"id": "c1", "model": "gpt-4o", "messages": [{"id": "m", "role": "user", "parts": [part]}]}
        for path, body in [("/ag-ui", run), ("/api/chat", chat)]:
            with self.subTest(path=path):
                call = urllib.request.Request(BASE + path, data=json.dumps(body).encode(), method="POST")
                call.add_header("authorization", f"Bearer {KEY}")
                call.add_header("content-type", "application/json")
                with urllib.request.urlopen(call, timeout=30) as answer:
                    self.assertIn("Paris", answer.read().decode())

    def test_names_are_listed_and_patterns_are_not(self):
        listed = [model.id for model in gpt.models.list()]
        for name in ["gpt-4o", "gpt-4o-mini", "gemini-2.5-pro", "agent/gpt-4.1"]:
            self.assertIn(name, listed)
        self.assertFalse([name for name in listed if "*" in name])
        self.assertEqual(gpt.models.retrieve("gpt-4o").id, "gpt-4o")
        self.assertIn("gpt-4o", [model.id for model in claude.models.list(limit=1000)])
        self.assertEqual(claude.models.retrieve("claude-sonnet-6").id, "claude-sonnet-6")
        _, gemini = request("GET", "/v1beta/models?pageSize=1000")
        self.assertIn("models/gemini-2.5-pro", [model["name"] for model in gemini["models"]])

    def test_a_name_that_nothing_has_is_not_found(self):
        with self.assertRaises(openai.NotFoundError):
            gpt.chat.completions.create(model="gpt-5", messages=ASK)
        with self.assertRaises(openai.NotFoundError):
            gpt.models.retrieve("gpt-5")


if __name__ == "__main__":
    unittest.main()
