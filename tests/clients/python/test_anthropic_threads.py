"""anthropic-python's tool runner and its message threads: the conversation is held by the server, and ends."""

import unittest

from server import Server
from threads import TEXT, Service

service = Service()
server = Server(
    f"""
[providers.claude]
kind = "anthropic"
base_url = "{service.url}"
threads = true

[providers.compatible]
kind = "anthropic"
base_url = "{service.url}"

[agents.helper]
model = "scripted/tool"

[routes]
"claude-sonnet-*" = "claude/stub"
"""
)
server.environment()

import anthropic  # noqa: E402  the server must be there first
from anthropic import beta_tool  # noqa: E402

from support import BASE, KEY, request  # noqa: E402

client = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, timeout=30)
ASK = {"max_tokens": 256, "messages": [{"role": "user", "content": "weather?"}]}
WEATHER = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
BETAS = ["message-threads-2026-08-12"]
# More than any of these conversations takes: a tool that is asked for again and again ends here.
MOST = 4


def tearDownModule():
    server.stop()


def run(model, **more):
    """Runs the tool runner to its end: the last message, and how often the tool was asked for."""
    asked = []

    @beta_tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        asked.append(city)
        return "15C"

    runner = client.beta.messages.tool_runner(model=model, tools=[get_weather], max_iterations=MOST, **ASK, **more)
    final = runner.until_done()
    return final, asked


def create(model, thread, messages=ASK["messages"], **more):
    return client.beta.messages.create(
        model=model, max_tokens=99, messages=messages, thread=thread, betas=BETAS, **more
    )


def result(message):
    use = next(block for block in message.content if block.type == "tool_use")
    return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "15C"}]}]


class ToolRunner(unittest.TestCase):
    def check(self, model, text):
        for stream in [False, True]:
            with self.subTest(model=model, stream=stream):
                if stream:
                    final, asked = self.streamed(model)
                else:
                    final, asked = run(model)
                self.assertEqual((asked, final.stop_reason), (["Paris"], "end_turn"))
                self.assertIn(text, "".join(block.text for block in final.content if block.type == "text"))

    def streamed(self, model):
        asked = []

        @beta_tool
        def get_weather(city: str) -> str:
            """The weather in a city."""
            asked.append(city)
            return "15C"

        runner = client.beta.messages.tool_runner(
            model=model, tools=[get_weather], max_iterations=MOST, stream=True, **ASK
        )
        for stream in runner:
            final = stream.get_final_message()
        return final, asked

    def test_a_script(self):
        self.check("scripted/tool", "15")

    def test_an_agent(self):
        self.check("agent/helper", "15")

    def test_a_service_with_threads_holds_them_itself(self):
        service.calls.clear()
        self.check("claude/stub", TEXT)
        (headers, first), (_, second) = service.calls[:2]
        self.assertIn("message-threads-2026-08-12", headers["anthropic-beta"])
        self.assertEqual(first["thread"], {"type": "create"})
        self.assertEqual(second["thread"], {"type": "continue", "previous_message_id": "msg_service_1"})
        self.assertNotIn("tools", second)
        self.assertEqual([message["role"] for message in second["messages"]], ["user"])

    def test_a_service_without_threads_gets_the_whole_conversation(self):
        service.calls.clear()
        self.check("compatible/stub", TEXT)
        for _, body in service.calls:
            self.assertNotIn("thread", body)
            self.assertIn("tools", body)
        self.assertEqual([len(body["messages"]) for _, body in service.calls], [1, 3, 1, 3])

    def test_a_model_name_of_the_vendor(self):
        self.check("claude-sonnet-6", TEXT)


class Threads(unittest.TestCase):
    def test_a_thread_goes_on_after_a_restart(self):
        first = create("scripted/tool", {"type": "create"}, tools=[WEATHER], system="Be brief.")
        server.stop()
        server.start()
        thread = {"type": "continue", "previous_message_id": first.id}
        second = create("scripted/tool", thread, result(first))
        self.assertEqual(second.stop_reason, "end_turn")
        third = create(
            "scripted/tool", {"type": "continue", "previous_message_id": second.id}, [{"role": "user", "content": "and?"}]
        )
        self.assertNotEqual(third.id, second.id)

    def test_an_unknown_message_is_not_found(self):
        plain = client.messages.create(model="scripted/text", **ASK)
        for identity in ["msg_nobody", "nothing", "msg_", plain.id]:
            with self.assertRaises(anthropic.NotFoundError) as refused:
                create("scripted/tool", {"type": "continue", "previous_message_id": identity})
            error = refused.exception.body["error"]
            self.assertEqual((error["type"], error["details"]), ("not_found_error", {"error_code": "thread_not_found"}))

    def test_a_message_is_continued_once(self):
        first = create("scripted/tool", {"type": "create"}, tools=[WEATHER])
        thread = {"type": "continue", "previous_message_id": first.id}
        create("scripted/tool", thread, result(first))
        with self.assertRaises(anthropic.BadRequestError) as refused:
            create("scripted/tool", thread, result(first))
        self.assertEqual(refused.exception.body["error"]["details"]["error_code"], "thread_already_continued")

    def test_a_continuation_repeats_neither_tools_nor_the_system_prompt(self):
        first = create("scripted/tool", {"type": "create"}, tools=[WEATHER])
        thread = {"type": "continue", "previous_message_id": first.id}
        for more in [{"tools": [WEATHER]}, {"system": "Be brief."}]:
            with self.assertRaises(anthropic.BadRequestError):
                create("scripted/tool", thread, result(first), **more)

    def test_a_service_without_threads_refuses_them(self):
        with self.assertRaises(anthropic.BadRequestError) as refused:
            create("compatible/stub", {"type": "create"})
        self.assertEqual(refused.exception.body["error"]["details"]["error_code"], "thread_unsupported_request")

    def test_a_result_without_its_call_is_refused(self):
        orphan = {"type": "tool_result", "tool_use_id": "toolu_nobody", "content": "15C"}
        orphans = [{"role": "user", "content": [orphan]}]
        first = create("scripted/tool", {"type": "create"}, tools=[WEATHER])
        thread = {"type": "continue", "previous_message_id": first.id}
        for model, thread in [("scripted/tool", thread), ("scripted/tool", None), ("agent/helper", None)]:
            with self.assertRaises(anthropic.BadRequestError) as refused:
                create(model, thread, orphans)
            error = refused.exception.body["error"]
            self.assertEqual(error["type"], "invalid_request_error")
            self.assertIn("messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks", error["message"])
        # A refused request is no continuation.
        create("scripted/tool", {"type": "continue", "previous_message_id": first.id}, result(first))

    def test_the_whole_thread_is_one_session(self):
        before = len(request("GET", "/v1/sessions?limit=1000")[1]["sessions"])
        final, _ = run("scripted/tool")
        after = request("GET", "/v1/sessions?limit=1000")[1]["sessions"]
        self.assertEqual(len(after), before + 1, final)


if __name__ == "__main__":
    unittest.main()
