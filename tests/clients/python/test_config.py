"""What riverrun.toml says of tools, as official clients see it: the real binary with a configuration of its own."""

import unittest

import openai
from langgraph_sdk import get_sync_client

from server import Server

AGENTS = """
[agents.one]
model = "scripted/tool"
tools = ["get_weather"]

[agents.many]
model = "scripted/parallel"
tools = ["get_weather"]
"""

COMMAND = """
[tools.get_weather]
description = "The weather of a city."
command = ["echo", "15C in {city}"]
read_only = true
parameters = { type = "object", properties = { city = { type = "string" } } }
"""

CLIENT = """
[tools.get_weather]
description = "The weather, asked of the user."
client = true
parameters = { type = "object", properties = { city = { type = "string" } } }
"""

ASK = {"input": {"messages": [{"role": "user", "content": "weather?"}]}}


def langgraph(server):
    return get_sync_client(url=server.url, api_key=server.key, timeout=30)


def results(values):
    return [message["content"] for message in values["messages"] if message["type"] == "tool"]


class Configured(unittest.TestCase):
    """A server of the class's own."""

    config = AGENTS + COMMAND

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.config)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()


class Commands(Configured):
    def test_a_command_runs(self):
        told = langgraph(self.server).runs.wait(None, "agent/one", **ASK)
        self.assertEqual([text.strip() for text in results(told)], ["15C in Paris"])


class ClientTools(Configured):
    config = AGENTS + CLIENT

    def test_a_tool_of_the_client_waits_for_its_result(self):
        own = langgraph(self.server)
        thread = own.threads.create()["thread_id"]
        waiting = own.runs.wait(thread, "agent/one", **ASK)
        [interrupt] = waiting["__interrupt__"]
        self.assertEqual(interrupt["value"]["actionType"], "client_tool")
        self.assertEqual(own.threads.get(thread)["status"], "interrupted")
        told = own.runs.wait(thread, "agent/one", command={"resume": "18C, says the user"})
        self.assertIn("18C, says the user", results(told)[0])
        self.assertTrue(told["messages"][-1]["content"].startswith("The weather in Paris"))
        self.assertEqual([run["status"] for run in own.runs.list(thread)], ["success"])

    def test_several_results_are_given_at_once(self):
        own = langgraph(self.server)
        thread = own.threads.create()["thread_id"]
        waiting = own.runs.wait(thread, "agent/many", **ASK)["__interrupt__"]
        self.assertEqual(len(waiting), 3)
        resume = {entry["id"]: f"result {at}" for at, entry in enumerate(waiting)}
        told = own.runs.wait(thread, "agent/many", command={"resume": resume})
        self.assertEqual(sorted(text.strip('"') for text in results(told)), ["result 0", "result 1", "result 2"])


class Policy(Configured):
    config = AGENTS + COMMAND + '\n[policy]\ndeny = ["get_*"]\n'

    def test_a_denied_tool_does_not_run_and_the_model_is_told(self):
        own = langgraph(self.server)
        told = own.runs.wait(None, "agent/one", **ASK)
        [result] = results(told)
        self.assertNotIn("15C", result)
        self.assertRegex(result, "(?i)den(y|ied)|not allowed|policy")
        self.assertTrue(told["messages"][-1]["content"])

    def test_openai_sees_why_the_call_failed(self):
        client = openai.OpenAI(base_url=f"{self.server.url}/v1", api_key=self.server.key, max_retries=0, timeout=30)
        response = client.responses.create(model="agent/one", input="weather?")
        [call] = [item for item in response.output if item.type == "mcp_call"]
        self.assertEqual((call.name, call.output), ("get_weather", None))
        self.assertRegex(str(call.error), "(?i)den(y|ied)|not allowed|policy")
        self.assertTrue(response.output_text)


if __name__ == "__main__":
    unittest.main()
