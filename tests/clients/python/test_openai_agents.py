"""openai-agents: its runner over our Responses and Chat Completions."""

import asyncio
import unittest
import uuid

from agents import (
    Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from support import BASE, FAULT, KEY, request

set_tracing_disabled(True)


def models(name):
    """One over each API, each with a client of its own: a client belongs to the loop that it was first used in."""
    kinds = [OpenAIResponsesModel, OpenAIChatCompletionsModel]
    return [kind(name, AsyncOpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)) for kind in kinds]


def weather(called, **options):
    @function_tool(**options)
    def get_weather(city: str) -> str:
        called.append(city)
        return "15C sunny"

    return get_weather


async def run(model, tools=(), ask="weather in Paris?", **settings):
    settings = ModelSettings(include_usage=True, **settings)
    agent = Agent(name="W", instructions="x", tools=list(tools), model=model, model_settings=settings)
    result = Runner.run_streamed(agent, ask)
    names = await followed(result)
    return agent, names, result


async def followed(result):
    events = [event async for event in result.stream_events()]
    names = [event.name for event in events if event.type == "run_item_stream_event"]
    return [name for name in names if name != "reasoning_item_created"]


class AgentsSdk(unittest.TestCase):
    def test_a_local_tool_runs_between_two_responses(self):
        for model in models("scripted/tool"):
            with self.subTest(type(model).__name__):
                called = []
                _, names, result = asyncio.run(run(model, [weather(called)]))
                self.assertEqual(called, ["Paris"])
                self.assertEqual(names, ["tool_called", "tool_output", "message_output_created"])
                self.assertTrue(result.final_output.startswith("The weather in Paris"))
                self.assertGreater(result.context_wrapper.usage.total_tokens, 0)

    def test_a_tool_that_needs_approval_runs_when_it_has_it(self):
        async def approved(model, called):
            agent, _, paused = await run(model, [weather(called, needs_approval=True)])
            self.assertEqual((called, len(paused.interruptions)), ([], 1))
            state = paused.to_state()
            state.approve(paused.interruptions[0])
            result = Runner.run_streamed(agent, state)
            await followed(result)
            return result.final_output

        for model in models("scripted/tool"):
            with self.subTest(type(model).__name__):
                called = []
                said = asyncio.run(approved(model, called))
                self.assertEqual(called, ["Paris"])
                self.assertTrue(said.startswith("The weather in Paris"))

    def test_a_cut_is_an_error_and_the_same_request_again_has_the_whole_answer(self):
        """The SDK cannot resume; a key makes the second request find the first one's run."""
        for model in models("scripted/slow?pace_ms=5"):
            with self.subTest(type(model).__name__):
                key = {"Idempotency-Key": uuid.uuid4().hex}
                with self.assertRaises(Exception):
                    asyncio.run(run(model, extra_headers={**key, FAULT: "drop-after=9"}))
                before = len(request("GET", "/v1/sessions?limit=200")[1]["sessions"])
                _, _, result = asyncio.run(run(model, extra_headers=key))
                self.assertTrue(result.final_output.startswith("The weather in Paris"))
                self.assertEqual(len(request("GET", "/v1/sessions?limit=200")[1]["sessions"]), before)

    def test_cancel_ends_the_readers_stream_and_leaves_the_run(self):
        async def cancelled(model):
            result = Runner.run_streamed(Agent(name="W", model=model), "x")
            name = None
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.created":
                    name = event.data.response.id
                    result.cancel()
            return name

        async def ended(name):
            client = AsyncOpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)
            while (status := (await client.responses.retrieve(name)).status) == "in_progress":
                await asyncio.sleep(0.05)
            return status

        name = asyncio.run(cancelled(models("scripted/slow?pace_ms=5")[0]))
        self.assertEqual(asyncio.run(ended(name)), "completed")

    def test_a_failed_response_is_an_exception(self):
        with self.assertRaises(Exception):
            asyncio.run(run(models("scripted/error")[0]))

    def test_refusals_read_like_the_vendors(self):
        for model in models("nobody/knows"):
            with self.subTest(type(model).__name__), self.assertRaises(NotFoundError) as unknown:
                asyncio.run(run(model))
            self.assertIn("scripted/", unknown.exception.message)
        for model in models("scripted/text"):
            with self.subTest(type(model).__name__), self.assertRaises(BadRequestError) as wrong:
                asyncio.run(run(model, extra_body={"tools": 7}))
            self.assertEqual(wrong.exception.param, "tools")


if __name__ == "__main__":
    unittest.main()
