"""The programs of the document on streaming with openai-agents, run verbatim against the real binary.

They are read from the document when the test runs. A route gives the SDK's default model to a script.
"""

import re
import unittest

from agents import Agent, Runner, function_tool

import documents
from agents_programs import run
from hosted import Hosted

JOKES = ["Why did ", "the chicken ", "cross ", "the road?"]

SCENARIO = f"""
[[step]]
when = {{ result_of = "delete_files" }}
play = [{{ text = {{ pieces = ["They are gone."] }} }}]

[[step]]
when = {{ offers = "delete_files" }}
play = [{{ call = {{ name = "delete_files", arguments = ['{{"folder":', '"/tmp"}}'] }} }}]

[[step]]
when = {{ result_of = "how_many_jokes" }}
play = [{{ text = {{ pieces = ["Here are {{result}} jokes."] }} }}]

[[step]]
when = {{ offers = "how_many_jokes" }}
play = [
  {{ reasoning = {{ pieces = ["I ", "ask."] }} }},
  {{ call = {{ name = "how_many_jokes", arguments = ["{{}}"] }} }},
]

[[step]]
when = {{ offers = "transfer_to_comedian" }}
play = [{{ call = {{ name = "transfer_to_comedian", arguments = ["{{}}"] }} }}]

[[step]]
play = [{{ text = {{ pieces = {JOKES}, pace_ms = 20 }} }}]
"""

CONFIG = """
[agents.main]
model = "scripted/main"

[routes]
"gpt-*" = "scripted/main"
"gpt-agent" = "agent/main"
"""

# The SDK's default model, which a route gives to a script, and a name that a route gives to an agent.
MODELS = [None, "gpt-agent"]

CREATED = ["response.created", "response.in_progress"]
MESSAGE = """
response.output_item.added response.content_part.added response.output_text.delta
response.output_text.done response.content_part.done response.output_item.done
""".split()
CALL = """
response.output_item.added response.function_call_arguments.delta
response.function_call_arguments.done response.output_item.done
""".split()
REASONING = """
response.output_item.added response.reasoning_summary_part.added response.reasoning_summary_text.delta
response.reasoning_summary_text.done response.reasoning_summary_part.done response.output_item.done
""".split()
COMPLETED = ["response.completed"]


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = documents.document("002")
        if cls.text is None:
            raise unittest.SkipTest("the document is absent")
        cls.jokes, cls.approval, cls.items = documents.python_programs(cls.text)
        cls.hosted = Hosted(SCENARIO, CONFIG)
        cls.addClassCleanup(cls.hosted.stop)

    def run_program(self, code, model, **names):
        recorded = run(code, self.hosted.server, model, **names)
        self.assertTrue(all(result.is_complete for result in recorded.results))
        listed = re.findall(r"^ *• ([a-z_]+)$", self.text, re.M)
        self.assertEqual(len(listed), 11)
        for events in recorded.events:
            self.assertLessEqual({event.name for event in events if event.type == "run_item_stream_event"}, set(listed))
        return recorded

    def test_the_text_is_printed_token_by_token(self):
        for model in MODELS:
            with self.subTest(model=model):
                recorded = self.run_program(self.jokes, model)
                self.assertEqual(recorded.printed, "".join(JOKES))
                deltas = [event.data.delta for event in recorded.events[0]
                          if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"]
                self.assertGreater(len(deltas), 1)
                self.assertEqual(recorded.raw(), CREATED + MESSAGE + COMPLETED)
                self.assertEqual(recorded.items(), ["agent: Joker", "message_output_created"])
                self.assertEqual(recorded.events[0][-1].type, "run_item_stream_event")

    def test_items_are_printed_in_the_order_of_the_document(self):
        for model in MODELS:
            with self.subTest(model=model):
                recorded = self.run_program(self.items, model)
                number = re.search(r"Tool output: (\d+)", recorded.printed)[1]
                self.assertEqual(recorded.printed.splitlines(), [
                    "=== Run starting ===", "Agent updated: Joker", "-- Tool was called",
                    f"-- Tool output: {number}", "-- Message output:", f" Here are {number} jokes.",
                    "=== Run complete ===",
                ])
                self.assertEqual(recorded.items(), [
                    "agent: Joker", "reasoning_item_created", "tool_called", "tool_output", "message_output_created",
                ])
                self.assertEqual(recorded.raw(), CREATED + REASONING + CALL + COMPLETED + CREATED + MESSAGE + COMPLETED)

    def test_a_run_that_waits_for_approval_goes_on_from_its_state(self):
        for model in MODELS:
            with self.subTest(model=model):
                deleted = []
                agent = Agent(name="Cleaner", tools=[delete_files(deleted)])
                recorded = self.run_program(self.approval, model, agent=agent, Runner=Runner)
                paused, resumed = recorded.results
                self.assertEqual([item.tool_name for item in paused.interruptions], ["delete_files"])
                self.assertEqual(recorded.items(0), ["agent: Cleaner", "tool_called"])
                self.assertEqual(recorded.raw(0), CREATED + CALL + COMPLETED)
                self.assertEqual(recorded.items(1), ["agent: Cleaner", "tool_output", "message_output_created"])
                self.assertEqual(recorded.raw(1), CREATED + MESSAGE + COMPLETED)
                self.assertEqual((deleted, resumed.interruptions), (["/tmp"], []))
                self.assertEqual(resumed.final_output, "They are gone.")

    def test_a_run_that_was_cancelled_after_a_turn_goes_on_with_its_input_list(self):
        """The document describes this in words; the fragment is ours."""
        for model in MODELS:
            with self.subTest(model=model):
                deleted = []
                agent = Agent(name="Cleaner", tools=[delete_files(deleted, needs_approval=False)])
                recorded = self.run_program(CANCELLED, model, agent=agent, Runner=Runner)
                self.assertEqual(recorded.items(0), ["agent: Cleaner", "tool_called", "tool_output"])
                self.assertEqual(recorded.items(1), ["agent: Cleaner", "message_output_created"])
                self.assertEqual((deleted, recorded.results[1].final_output), (["/tmp"], "They are gone."))

    def test_a_handoff_tells_the_new_agent(self):
        for model in MODELS:
            with self.subTest(model=model):
                agent = Agent(name="Host", handoffs=[Agent(name="Comedian")])
                recorded = self.run_program(FOLLOWED, model, agent=agent, Runner=Runner)
                self.assertEqual(recorded.items(), [
                    "agent: Host", "handoff_requested", "handoff_occured", "agent: Comedian", "message_output_created",
                ])
                self.assertEqual(recorded.raw(), CREATED + CALL + COMPLETED + CREATED + MESSAGE + COMPLETED)


FOLLOWED = """
result = Runner.run_streamed(agent, "Hello")
async for event in result.stream_events():
    pass
"""

CANCELLED = """
result = Runner.run_streamed(agent, "Delete what is old.")
async for event in result.stream_events():
    result.cancel(mode="after_turn")

result = Runner.run_streamed(result.last_agent, result.to_input_list(mode="normalized"))
async for event in result.stream_events():
    pass
"""


def delete_files(deleted, needs_approval=True):
    @function_tool(needs_approval=needs_approval)
    def delete_files(folder: str) -> str:
        deleted.append(folder)
        return "done"

    return delete_files


if __name__ == "__main__":
    unittest.main()
