"""google-genai: generateContent, streamGenerateContent, countTokens, models. The client resumes by itself."""

import unittest

from google import genai
from google.genai import errors, types

from server import Server
from service import Service
from support import BASE, FAULT, KEY, request

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def client(key=KEY, faults=(), base=BASE):
    """One client for each stream: what one leaves behind must not stand in the next one's way.

    The faults are for its first requests, one each.
    """
    faults = list(faults)

    def hurt(call):
        if faults:
            call.headers[FAULT] = faults.pop(0)

    transport = {"event_hooks": {"request": [hurt]}}
    options = types.HttpOptions(base_url=base, timeout=30_000, client_args=transport)
    return genai.Client(api_key=key, http_options=options)


def ask(model, own=None, contents="weather?", **config):
    own = own or client()
    return list(own.models.generate_content_stream(
        model=model, contents=contents, config=types.GenerateContentConfig(**config)
    ))


def parts(chunks):
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts]


def text(chunks):
    return "".join(part.text or "" for part in parts(chunks) if not part.thought)


class Generate(unittest.TestCase):
    def test_the_stream_adds_up_to_the_answer(self):
        chunks = ask("scripted/text")
        own = client()
        whole = own.models.generate_content(model="scripted/text", contents="weather?")
        self.assertTrue(text(chunks).startswith("The weather in Paris"))
        self.assertEqual(text(chunks), whole.text)
        self.assertTrue(any(part.thought and part.text for part in parts(chunks)))
        self.assertEqual(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)
        self.assertIsNone(chunks[-1].candidates[0].continuation_token)
        self.assertGreater(chunks[-1].usage_metadata.candidates_token_count, 0)

    def test_a_tool_goes_back_and_forth(self):
        tools = [types.Tool(function_declarations=[WEATHER])]
        first = ask("scripted/tool", tools=tools)
        call = next(part.function_call for part in parts(first) if part.function_call)
        self.assertEqual((call.name, call.args), ("get_weather", {"city": "Paris"}))
        answer = types.FunctionResponse(id=call.id, name=call.name, response={"result": "15C"})
        second = ask("scripted/tool", tools=tools, contents=[
            types.Content(role="user", parts=[types.Part(text="weather?")]),
            types.Content(role="model", parts=parts(first)),
            types.Content(role="user", parts=[types.Part(function_response=answer)]),
        ])
        self.assertTrue(text(second))

    def test_a_function_is_called_by_the_client(self):
        asked = []

        def get_weather(city: str) -> str:
            """The weather of a city."""
            asked.append(city)
            return "15C"

        chunks = ask("scripted/tool", tools=[get_weather])
        self.assertEqual(asked, ["Paris"])
        self.assertTrue(text(chunks))

    def test_a_chat_remembers(self):
        own = client()
        chat = own.chats.create(model="scripted/text")
        said = "".join(chunk.text or "" for chunk in chat.send_message_stream("weather?"))
        self.assertTrue(said.startswith("The weather in Paris"))
        self.assertTrue(chat.send_message("and now?").text)
        self.assertEqual([entry.role for entry in chat.get_history()].count("user"), 2)


class Resume(unittest.TestCase):
    def test_a_cut_stream_goes_on_by_itself(self):
        # Slow enough that a busy machine joins no words: the cuts must fall before the last frame.
        whole = text(ask("scripted/slow"))
        for fault in ("drop-after", "reset-after", "end-after"):
            for frames in (1, 2, 3):
                # Three cuts, one behind the other; the fourth request is left alone.
                chunks = ask("scripted/slow", client(faults=[f"{fault}={frames}"] * 3))
                self.assertEqual(text(chunks), whole, f"{fault}={frames}")
                self.assertEqual(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)

    def test_a_token_goes_on_in_another_client(self):
        chunks = ask("scripted/text")
        for at, chunk in enumerate(chunks[:-1]):
            token = chunk.candidates[0].continuation_token
            rest = ask("scripted/text", continuation_token=token)
            self.assertEqual(text(rest), text(chunks[at + 1:]))

    def test_a_token_of_nobody_is_refused(self):
        with self.assertRaises(errors.ClientError) as wrong:
            ask("scripted/text", continuation_token=b"made-up")
        self.assertEqual(wrong.exception.code, 400)
        self.assertIn("continuationToken", wrong.exception.message)


class Models(unittest.TestCase):
    def test_models_are_listed_over_all_pages(self):
        own = client()
        names = [model.name for model in own.models.list(config={"page_size": 3})]
        self.assertIn("models/scripted/text", names)
        self.assertIn("models/agent/scenario-tool", names)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names, [model.name for model in own.models.list(config={"page_size": 1000})])

    def test_a_model_is_told(self):
        own = client()
        model = own.models.get(model="scripted/text")
        self.assertEqual((model.name, model.display_name), ("models/scripted/text", "scripted/text"))
        self.assertIn("generateContent", model.supported_actions)
        self.assertNotIn("countTokens", model.supported_actions)
        with self.assertRaises(errors.ClientError) as unknown:
            own.models.get(model="nobody/knows")
        self.assertEqual((unknown.exception.code, unknown.exception.status), (404, "NOT_FOUND"))

    def test_nothing_is_counted_that_nobody_counted(self):
        own = client()
        with self.assertRaises(errors.APIError) as refused:
            own.models.count_tokens(model="scripted/text", contents="weather?")
        self.assertEqual((refused.exception.code, refused.exception.status), (501, "UNIMPLEMENTED"))
        self.assertIn("usageMetadata", refused.exception.message)


class Gateway(unittest.TestCase):
    """A server with a service of Gemini's kind behind it."""

    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.server = Server(f'[providers.google]\nkind = "gemini"\nbase_url = "{cls.service.url}"\n')
        cls.client = client(cls.server.key, base=cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.service.stop()

    def test_an_answer_comes_from_the_service(self):
        chunks = ask("google/plain", self.client)
        self.assertEqual(text(chunks), "Hello there.")
        whole = self.client.models.generate_content(model="google/plain", contents="hi")
        self.assertEqual(whole.text, "Hello there.")

    def test_the_service_counts(self):
        counted = self.client.models.count_tokens(model="google/plain", contents="hi")
        self.assertEqual(counted.total_tokens, 7)
        path, body = self.service.calls[-1]
        self.assertTrue(path.endswith("/models/plain:countTokens"))
        self.assertEqual(body["contents"][0]["parts"][0]["text"], "hi")

    def test_what_the_service_refuses_is_refused_before_the_stream(self):
        calls = [
            lambda: ask("google/limit", self.client),
            lambda: self.client.models.generate_content(model="google/limit", contents="hi"),
            lambda: self.client.models.count_tokens(model="google/limit", contents="hi"),
        ]
        for call in calls:
            with self.assertRaises(errors.ClientError) as refused:
                call()
            self.assertEqual((refused.exception.code, refused.exception.status), (429, "RESOURCE_EXHAUSTED"))
            self.assertIn("Slow down please", refused.exception.message)
            self.assertEqual(refused.exception.response.headers["retry-after"], "600")


class Refusals(unittest.TestCase):
    def test_a_failure_inside_the_stream_raises(self):
        with self.assertRaises(errors.APIError) as failed:
            ask("scripted/error")
        self.assertTrue(failed.exception.message)

    def test_a_cancelled_turn_raises(self):
        own = client()
        stream = own.models.generate_content_stream(model="scripted/slow", contents="weather?")
        first = next(stream)
        turn = first.response_id
        sessions = request("GET", "/v1/sessions?limit=100")[1]["sessions"]
        for session in sessions:
            request("POST", f"/v1/sessions/{session['sessionId']}/turns/{turn}/cancel", {"mode": "immediate"})
        with self.assertRaises(errors.APIError) as cancelled:
            list(stream)
        self.assertEqual(cancelled.exception.status, "CANCELLED")

    def test_refusals_read_like_the_vendors(self):
        with self.assertRaises(errors.ClientError) as unknown:
            ask("nobody/knows")
        self.assertEqual((unknown.exception.code, unknown.exception.status), (404, "NOT_FOUND"))
        self.assertIn("nobody/knows", unknown.exception.message)
        with self.assertRaises(errors.ClientError) as wrong:
            ask("scripted/text", contents=[types.Content(role="wizard", parts=[types.Part(text="x")])])
        self.assertIn("role", wrong.exception.message)
        with self.assertRaises(errors.ClientError) as stranger:
            ask("scripted/text", client(key="rr_wrong"))
        self.assertEqual((stranger.exception.code, stranger.exception.status), (401, "UNAUTHENTICATED"))


if __name__ == "__main__":
    unittest.main()
