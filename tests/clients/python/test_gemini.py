"""google-genai: generateContent and streamGenerateContent. The client resumes by itself."""

import unittest

from google import genai
from google.genai import errors, types

from support import BASE, FAULT, KEY, request

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def client(key=KEY, faults=()):
    """One client for each stream: what one leaves behind must not stand in the next one's way.

    The faults are for its first requests, one each.
    """
    faults = list(faults)

    def hurt(call):
        if faults:
            call.headers[FAULT] = faults.pop(0)

    transport = {"event_hooks": {"request": [hurt]}}
    options = types.HttpOptions(base_url=BASE, timeout=30_000, client_args=transport)
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
        whole = text(ask("scripted/text"))
        for fault in ("drop-after", "reset-after", "end-after"):
            for frames in (1, 2, 3):
                # Three cuts, one behind the other; the fourth request is left alone.
                chunks = ask("scripted/text", client(faults=[f"{fault}={frames}"] * 3))
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
