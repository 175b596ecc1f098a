"""openai-agents: its runner over our Responses and Chat Completions."""

import asyncio
import unittest

from agents import (
    Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from support import BASE, KEY

set_tracing_disabled(True)


def models(name):
    client = AsyncOpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0, timeout=30)
    return [OpenAIResponsesModel(name, client), OpenAIChatCompletionsModel(name, client)]


async def run(model):
    called, names = [], []

    @function_tool
    def get_weather(city: str) -> str:
        called.append(city)
        return "15C sunny"

    agent = Agent(
        name="W", instructions="x", tools=[get_weather], model=model,
        model_settings=ModelSettings(include_usage=True),
    )
    result = Runner.run_streamed(agent, "weather in Paris?")
    async for event in result.stream_events():
        if event.type == "run_item_stream_event":
            names.append(event.name)
    return called, names, result


class AgentsSdk(unittest.TestCase):
    def test_a_local_tool_runs_between_two_responses(self):
        for model in models("scripted/tool"):
            with self.subTest(type(model).__name__):
                called, names, result = asyncio.run(run(model))
                self.assertEqual(called, ["Paris"])
                names = [name for name in names if name != "reasoning_item_created"]
                self.assertEqual(names, ["tool_called", "tool_output", "message_output_created"])
                self.assertTrue(result.final_output.startswith("The weather in Paris"))
                self.assertGreater(result.context_wrapper.usage.total_tokens, 0)

    def test_a_failed_response_is_an_exception(self):
        async def fails():
            result = Runner.run_streamed(Agent(name="W", model=models("scripted/error")[0]), "x")
            async for _ in result.stream_events():
                pass

        with self.assertRaises(Exception):
            asyncio.run(fails())


if __name__ == "__main__":
    unittest.main()
