"""openai-python and anthropic-python through the gateway, to a service that speaks their dialect.

The service plays recorded bytes. What an SDK holds at the end must be what it would hold had it asked the service.
"""

import unittest

from server import Server
from upstream import Upstream

upstream = Upstream()
server = Server(upstream.config())
server.environment()

import anthropic  # noqa: E402  the server must be there first
import openai  # noqa: E402

from support import BASE, KEY  # noqa: E402

gpt = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)
claude = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0, timeout=30)
ASK = {"max_tokens": 256, "messages": [{"role": "user", "content": "weather?"}]}
HOSTED = {"type": "web_search_call", "id": "ws_0", "status": "completed"}


def tearDownModule():
    server.stop()


class Responses(unittest.TestCase):
    def test_a_tool_of_the_service_comes_through_and_goes_back(self):
        with gpt.responses.stream(model="openai/hosted_tool", input="weather?") as stream:
            events = list(stream)
            final = stream.get_final_response()
        kinds = [event.type for event in events]
        place = kinds.index("response.web_search_call.searching")
        self.assertEqual(kinds[place - 1], "response.output_item.added")
        self.assertEqual(kinds[place + 1], "response.output_item.done")
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        search = final.output[0]
        self.assertIsInstance(search, openai.types.responses.ResponseFunctionWebSearch)
        self.assertEqual((search.id, search.action.query), ("ws_0", "weather"))
        self.assertEqual(final.output_text, "Sunny.")
        usage = final.usage
        self.assertEqual((usage.input_tokens_details.cached_tokens, usage.total_tokens), (4, 123))

        after = events[place].sequence_number
        rest = list(gpt.responses.retrieve(final.id, stream=True, starting_after=after))
        self.assertEqual([event.sequence_number for event in rest], list(range(after + 1, len(events))))
        again = rest[-1].response
        self.assertEqual((again.output[0], again.output_text), (search, final.output_text))

        own = {"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}
        gpt.responses.create(
            model="openai/text", input=[own], previous_response_id=final.id, metadata={"a": "b"}, extra_body={"frob": 7}
        )
        _, _, sent = upstream.calls[-1]
        self.assertEqual(sent["input"][0], {"role": "user", "content": "weather?"})
        self.assertEqual({name: sent["input"][1][name] for name in HOSTED}, HOSTED)
        self.assertEqual(sent["input"][2]["content"], [{"type": "output_text", "text": "Sunny."}])
        self.assertEqual(sent["input"][3], own)
        self.assertEqual((sent["metadata"], sent["frob"], sent["store"]), ({"a": "b"}, 7, False))

    def test_a_refusal_is_a_refusal(self):
        with gpt.responses.stream(model="openai/refusal", input="x") as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_response()
        self.assertIn("response.refusal.delta", kinds)
        self.assertIn("response.refusal.done", kinds)
        part = final.output[0].content[0]
        self.assertEqual((part.type, part.refusal), ("refusal", "I cannot do that."))

    def test_odds_come_with_their_text(self):
        with gpt.responses.stream(model="openai/logprobs", input="x", include=["message.output_text.logprobs"]) as stream:
            deltas = [event for event in stream if event.type == "response.output_text.delta"]
            final = stream.get_final_response()
        self.assertEqual([odds.token for delta in deltas for odds in delta.logprobs], ["Sunny", "."])
        odds = final.output[0].content[0].logprobs
        self.assertEqual([(one.token, one.logprob) for one in odds], [("Sunny", -0.25), (".", -1.5)])
        self.assertEqual(final.service_tier, "default")
        self.assertEqual((final.model, final.riverrun_model), ("openai/logprobs", "gpt-4.1-2025-04-14"))


class Completions(unittest.TestCase):
    def test_odds_and_what_the_service_says_of_its_answer(self):
        ask = {"model": "chat/logprobs", "messages": ASK["messages"], "logprobs": True, "top_logprobs": 1}
        whole = gpt.chat.completions.create(**ask)
        with gpt.chat.completions.stream(**ask, stream_options={"include_usage": True}) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion()
        for completion in (whole, final):
            choice = completion.choices[0]
            self.assertEqual(choice.message.content, "Sunny.")
            self.assertEqual([odds.token for odds in choice.logprobs.content], ["Sun", "ny", "."])
            self.assertEqual(completion.system_fingerprint, "fp_1")
            self.assertEqual(completion.usage.prompt_tokens_details.cached_tokens, 16)
        self.assertEqual((whole.service_tier, whole.riverrun_model), ("default", "gpt-4.1-2025-04-14"))

    def test_a_refusal_is_a_refusal(self):
        ask = {"model": "chat/refusal", "messages": ASK["messages"]}
        with gpt.chat.completions.stream(**ask) as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_completion()
        self.assertIn("refusal.done", kinds)
        for completion in (final, gpt.chat.completions.create(**ask)):
            message = completion.choices[0].message
            self.assertEqual((message.refusal, message.content or ""), ("No.", ""))

    def test_a_call_that_is_no_functions_comes_through_and_goes_back(self):
        tools = [
            {"type": "custom", "custom": {"name": "code_exec"}},
            {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}},
        ]
        ask = {"model": "chat/custom_call", "messages": ASK["messages"], "tools": tools}
        whole = gpt.chat.completions.create(**ask)
        self.assertEqual(whole.choices[0].finish_reason, "tool_calls")
        custom, function = whole.choices[0].message.tool_calls
        self.assertIsInstance(custom, openai.types.chat.ChatCompletionMessageCustomToolCall)
        self.assertEqual((custom.id, custom.custom.name, custom.custom.input), ("call_a", "code_exec", 'print("hi")'))
        self.assertEqual((function.id, function.function.arguments), ("call_b", "{}"))
        with gpt.chat.completions.create(**ask, stream=True) as chunks:
            deltas = [call.to_dict() for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
        inputs = [delta["custom"]["input"] for delta in deltas if delta["index"] == 0]
        self.assertEqual((deltas[0]["type"], "".join(inputs)), ("custom", 'print("hi")'))
        said = whole.choices[0].message.to_dict()
        results = [{"role": "tool", "tool_call_id": call.id, "content": "ok"} for call in (custom, function)]
        gpt.chat.completions.create(model="chat/text", messages=[*ASK["messages"], said, *results], tools=tools)
        _, _, sent = upstream.calls[-1]
        self.assertEqual(sent["messages"][1]["tool_calls"][0], custom.to_dict())
        self.assertEqual((sent["messages"][2:], sent["tools"]), (results, tools))

    def test_members_that_only_the_service_knows_come_through(self):
        ask = {"model": "chat/unknown_members", "messages": ASK["messages"]}
        whole = gpt.chat.completions.create(**ask).choices[0]
        self.assertEqual((whole.message.audio.id, whole.message.audio.data), ("audio_1", "UklGRg=="))
        self.assertEqual(whole.message.audio.transcript, "Good day.")
        self.assertEqual((len(whole.message.images), whole.native_finish_reason), (1, "end_turn"))
        with gpt.chat.completions.create(**ask, stream=True) as chunks:
            deltas = [chunk.choices[0].delta.to_dict() for chunk in chunks]
        heard = [delta["audio"].get("transcript", "") for delta in deltas if "audio" in delta]
        self.assertEqual("".join(heard), "Good day.")


class Messages(unittest.TestCase):
    def test_a_tool_of_the_service_comes_through_and_goes_back(self):
        tools = [{"type": "web_search_20250305", "name": "web_search"}]
        with claude.messages.stream(model="anthropic/server_tool", tools=tools, **ASK) as stream:
            final = stream.get_final_message()
        whole = claude.messages.create(model="anthropic/server_tool", tools=tools, **ASK)
        for message in (final, whole):
            use, result, text = message.content
            self.assertEqual((use.type, use.name, use.input), ("server_tool_use", "web_search", {"query": "weather"}))
            self.assertEqual((result.type, result.tool_use_id), ("web_search_tool_result", use.id))
            self.assertEqual((result.content[0].url, text.text), ("https://example.com", "Sunny."))
            usage = message.usage
            self.assertEqual((usage.input_tokens, usage.output_tokens), (25, 42))
            self.assertEqual((usage.cache_creation_input_tokens, usage.cache_read_input_tokens), (100, 300))
        said = [*ASK["messages"], {"role": "assistant", "content": final.content}, {"role": "user", "content": "and?"}]
        claude.messages.create(model="anthropic/stop_sequence", max_tokens=9, messages=said, tools=tools)
        _, _, sent = upstream.calls[-1]
        kinds = [block["type"] for block in sent["messages"][1]["content"]]
        self.assertEqual(kinds, ["server_tool_use", "web_search_tool_result", "text"])

    def test_the_stop_sequence_that_came_is_told(self):
        ask = {**ASK, "model": "anthropic/stop_sequence", "stop_sequences": ["two"]}
        with claude.messages.stream(**ask) as stream:
            final = stream.get_final_message()
        for message in (final, claude.messages.create(**ask)):
            self.assertEqual((message.stop_reason, message.stop_sequence), ("stop_sequence", "two"))

    def test_betas_reach_the_service(self):
        claude.beta.messages.create(model="anthropic/stop_sequence", betas=["files-api-2025-04-14"], **ASK)
        _, headers, _ = upstream.calls[-1]
        self.assertEqual(headers["anthropic-beta"], "files-api-2025-04-14")

    def test_tokens_are_counted_by_the_service(self):
        counted = claude.messages.count_tokens(model="anthropic/claude", messages=ASK["messages"])
        self.assertEqual(counted.input_tokens, 14)
        path, _, sent = upstream.calls[-1]
        self.assertEqual((path, sent["model"]), ("/v1/messages/count_tokens", "claude"))
        with self.assertRaises(anthropic.BadRequestError) as refused:
            claude.messages.count_tokens(model="chat/text", messages=ASK["messages"])
        self.assertIn("cannot be counted", refused.exception.message)

    def test_models_are_listed_in_pages(self):
        models = list(claude.models.list(limit=2))
        names = [model.id for model in models]
        self.assertGreater(len(names), 2)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(models[0].created_at.year, 1970)
        self.assertEqual(claude.models.retrieve(names[0]), models[0])


if __name__ == "__main__":
    unittest.main()
