"""`simple-run`, held against the aggregator of the document that it comes from, with the real binary."""

import re
import unittest

import documents
from hosted import Hosted

PIECES = ["Let ", "me ", "look."]
ARGUMENTS = ['{"city":', '"Pa', 'ris"}']
ANSWER = ["It ", "is ", "sunny."]

SCENARIO = f"""
[[step]]
when = {{ result_of = "get_weather" }}
play = [{{ text = {{ pieces = {ANSWER}, pace_ms = 0 }} }}]

[[step]]
play = [
  {{ reasoning = {{ pieces = ["I ", "think."], part = 0 }} }},
  {{ text = {{ pieces = {PIECES} }} }},
  {{ call = {{ name = "get_weather", arguments = {ARGUMENTS} }} }},
]
"""

CONFIG = """
[tools.get_weather]
command = ["echo", "15C in {city}"]
read_only = true
parameters = { type = "object", properties = { city = { type = "string" } } }

[agents.main]
model = "scripted/main"
tools = ["get_weather"]
"""

# Every dialect of a turn, and where its pieces of text stand.
DELTAS = {
    "native": lambda frame: frame["type"] == "model.delta" and frame["payload"]["delta"],
    "task": lambda frame: frame["type"] == "task.text.delta" and frame["delta"],
    "simple-run": lambda frame: frame["type"] == "response.text.delta" and frame["delta"],
    "agents-sdk": lambda frame: frame["type"] == "raw_response_event"
    and frame["data"]["type"] == "response.output_text.delta" and frame["data"]["delta"],
    "blocks": lambda frame: frame["type"] == "content_block_delta" and frame["delta"].get("text"),
    "responses": lambda frame: frame["type"] == "response.output_text.delta" and frame["delta"],
    "anthropic": lambda frame: frame["type"] == "content_block_delta" and frame["delta"].get("text"),
    "ag-ui": lambda frame: frame["type"] == "TEXT_MESSAGE_CONTENT" and frame["delta"],
    "ai-sdk": lambda frame: frame["type"] == "text-delta" and frame["delta"],
}


def names(value):
    """The names of all members, at any depth."""
    if isinstance(value, dict):
        return [name for key, inner in value.items() for name in [key, *names(inner)]]
    if isinstance(value, list):
        return [name for inner in value for name in names(inner)]
    return []


class SimpleRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosted = Hosted(SCENARIO, CONFIG)
        cls.session, turn = cls.hosted.run(settings={"deltas": "as_sent"})
        cls.turn = turn["turnId"]
        cls.frames = cls.hosted.frames(cls.session, "simple-run", f"&turn={cls.turn}")

    @classmethod
    def tearDownClass(cls):
        cls.hosted.stop()

    def of(self, kind):
        return [frame for frame in self.frames if frame["type"] == kind]

    def test_the_document_s_aggregator_separates_the_messages(self):
        text = documents.document("003")
        if text is None:
            self.skipTest("the document is absent")
        aggregator = documents.python_class(text, "EventAggregator")()
        # The document declares the two dictionaries and never makes them.
        aggregator.text_buffers, aggregator.args_buffers = {}, {}
        for frame in self.frames:
            if frame["type"] == "response.text.delta":
                aggregator.add_text_delta(frame["content_index"], frame["delta"])
            elif frame["type"] == "response.function_call_arguments.delta":
                aggregator.add_args_delta(frame["call_id"], frame["delta"])
        messages = [frame for frame in self.of("response.output_item.done") if frame["item"]["type"] == "message"]
        whole = [(frame["content_index"], frame["item"]["block_list"][0]["text"]) for frame in messages]
        self.assertEqual(whole, [(0, "".join(PIECES)), (1, "".join(ANSWER))])
        self.assertEqual([aggregator.get_complete_text(index) for index, _ in whole], [text for _, text in whole])
        [call] = self.of("response.function_call.done")
        self.assertEqual(aggregator.args_buffers, {call["call_id"]: call["arguments"]})

    def test_a_run_has_its_frames_in_order(self):
        self.assertEqual(self.frames[0], {"type": "run.start", "run_id": self.turn})
        self.assertEqual([frame["step_number"] for frame in self.of("run.step.done")], [1, 2])
        self.assertEqual(self.frames[-1]["type"], "run.done")
        self.assertEqual(self.frames[-1]["run_result"]["final_output"], "".join(ANSWER))

    def test_members_are_snake_case_and_nothing_is_for_the_model_alone(self):
        for frame in self.frames:
            for name in names(frame):
                self.assertRegex(name, re.compile(r"^[a-z0-9_]+$"))
            self.assertNotIn("content", frame.get("item", {}))

    def test_each_piece_of_the_service_is_a_delta_in_every_dialect(self):
        for dialect, delta in DELTAS.items():
            with self.subTest(dialect):
                turn = "" if dialect in ("native", "task") else f"&turn={self.turn}"
                told = [delta(frame) for frame in self.hosted.frames(self.session, dialect, turn) if "type" in frame]
                self.assertEqual([text for text in told if text], PIECES + ANSWER)


class AsSent(unittest.TestCase):
    """Very many pieces that come at once are joined, unless the request asks for each."""

    def test_the_query_of_another_dialect_asks_for_each_piece(self):
        scenario = '[[step]]\nplay = [{ text = { pieces = ["a ", "b ", "c "], times = 60 } }]\n'
        hosted = Hosted(scenario, '[agents.main]\nmodel = "scripted/main"\n')
        self.addCleanup(hosted.stop)
        body = {"model": "agent/main", "input": "go", "stream": True}
        counts = {}
        for query in ("", "?deltas=as_sent"):
            stream = hosted.call("POST", f"/v1/responses{query}", body, accept="text/event-stream")
            counts[query] = stream.count("event: response.output_text.delta")
        self.assertEqual(counts["?deltas=as_sent"], 180)
        self.assertLess(counts[""], 180)


if __name__ == "__main__":
    unittest.main()
