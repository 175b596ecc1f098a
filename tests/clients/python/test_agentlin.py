"""`task`, as AgentLin's document has it, for a turn that the server itself runs: its frames, their order and their ids."""

import json
import pathlib
import tempfile
import unittest

import documents
from hosted import Hosted

SCENARIO = """
[[step]]
when = { offers = "paint", not_called = "paint" }
play = [{ call = { name = "paint", arguments = ["{}"] } }]

[[step]]
when = { offers = "type", not_called = "type" }
play = [{ call = { name = "type", arguments = ["{}"] } }]

[[step]]
when = { offers = "plain", not_called = "plain" }
play = [{ call = { name = "plain", arguments = ["{}"] } }]

[[step]]
when = { offers = "paint" }
play = [{ text = { pieces = ["Painted."] } }]

[[step]]
when = { offers = "type" }
play = [{ text = { pieces = ["Typed."] } }]

[[step]]
when = { offers = "plain" }
play = [{ text = { pieces = ["Told."] } }]

[[step]]
when = { result_of = "get_weather" }
play = [{ text = { pieces = ["The weather in Paris is sunny with a temperature of 15C.", "{cite:1}"] } }]

[[step]]
play = [
  { reasoning = { pieces = ["Thinking about the weather ", "in Paris."], part = 0 } },
  { reasoning = { pieces = ["Decided to call ", "get_weather function."], part = 1 } },
  { call = { name = "get_weather", arguments = ['{"location":"Paris', ', France"}'] } },
]
"""

RESULT = {
    "message_content": [{"type": "text", "text": "15C, sunny", "id": 1}],
    "block_list": [
        {"type": "text", "text": "15C, sunny", "id": 1},
        {"type": "image", "image_url": {"url": "data:image/png;base64,AAAA"}, "id": 1},
        {"type": "plotly-json", "data": {"application/vnd.plotly.v1+json": {"data": []}}, "id": 1},
    ],
}

def picture(data):
    return {"type": "image", "image_url": {"url": f"data:image/png;base64,{data}"}}


FILES = tempfile.TemporaryDirectory(prefix="riverrun-painter-")
PAINTER = pathlib.Path(FILES.name, "paint.sh")
PAINTER.write_text("".join(f"printf '%s\\n' '{line}'\n" for line in [
    "::progress " + json.dumps({"partial": picture("AAAA")}),
    "::progress " + json.dumps({"partial": picture("BBBB")}),
    json.dumps({"message_content": [{"type": "text", "text": "painted"}], "block_list": [picture("CCCC")]}),
]))

TYPIST = pathlib.Path(FILES.name, "type.sh")
TYPIST.write_text("".join(f"printf '%s\\n' '{line}'\n" for line in [
    "::progress " + json.dumps({"partial": {"type": "text", "text": "Row one. "}}),
    "::progress " + json.dumps({"partial": {"type": "text", "text": "Row one. Row two. "}}),
    "Row one. Row two. Row three.",
]))

CONFIG = f"""
[tools.get_weather]
command = ["printf", "%s", '{json.dumps(RESULT).replace("{", "{{").replace("}", "}}")}']
read_only = true
parameters = {{ type = "object", properties = {{ location = {{ type = "string" }} }} }}

[tools.paint]
command = ["sh", "{PAINTER}"]
read_only = true
parameters = {{ type = "object", properties = {{}} }}

[tools.type]
command = ["sh", "{TYPIST}"]
read_only = true
parameters = {{ type = "object", properties = {{}} }}

[tools.plain]
command = ["printf", "15C"]
read_only = true
parameters = {{ type = "object", properties = {{}} }}

[agents.main]
model = "scripted/main"
tools = ["get_weather"]
deltas = "as_sent"

[agents.painter]
model = "scripted/main"
tools = ["paint"]

[agents.writer]
model = "scripted/main"
tools = ["type"]

[agents.plain]
model = "scripted/main"
tools = ["plain"]
"""

# The order of the document's sections, for this turn.
ORDER = """
task.created task.working
task.output_item.added
task.reasoning_summary_item.added task.reasoning_summary_text.delta task.reasoning_summary_text.delta task.reasoning_summary_item.done
task.reasoning_summary_item.added task.reasoning_summary_text.delta task.reasoning_summary_text.delta task.reasoning_summary_item.done
task.output_item.done
task.output_item.added task.tool_call_arguments.delta task.tool_call_arguments.delta task.tool_call_arguments.done task.output_item.done
task.output_item.added task.text.done task.image.done task.block.done task.output_item.done
task.output_item.added task.text.added task.text.delta task.text.delta task.text.done task.output_item.done
task.completed
""".split()

PREFIXES = {"reasoning": "rs_", "tool_call": "fc_", "tool_result": "fco_", "message": "msg_"}


class AgentLin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hosted = Hosted(SCENARIO, CONFIG)
        cls.session, cls.turn = cls.hosted.run()
        cls.frames = cls.hosted.frames(cls.session, "task")

    @classmethod
    def tearDownClass(cls):
        cls.hosted.stop()

    def test_the_frames_come_in_the_document_s_order(self):
        self.assertEqual([frame["type"] for frame in self.frames], ORDER)

    def test_every_type_of_frame_is_the_document_s_or_a_documented_addition(self):
        text = documents.document("000")
        if text is None:
            self.skipTest("the document is absent")
        known = {frame["type"] for frame in documents.json_frames(text)}
        added = {"task.created", "task.working", "task.completed", "task.text.added", "task.text.delta",
                 "task.block.done"}
        self.assertLessEqual({frame["type"] for frame in self.frames}, known | added)

    def test_ids_have_the_document_s_prefixes(self):
        items = {frame["item"]["id"]: frame["item"] for frame in self.frames if "item" in frame and "id" in frame["item"]
                 and frame["type"].startswith("task.output_item.")}
        self.assertEqual(len(items), 4)
        for name, item in items.items():
            self.assertTrue(name.startswith(PREFIXES[item["type"]]), name)
        self.assertEqual({frame["item_id"] for frame in self.frames if "item_id" in frame}, set(items))

    def test_every_block_of_a_source_has_its_number(self):
        [result] = [frame["item"] for frame in self.frames
                    if frame["type"] == "task.output_item.done" and frame["item"]["type"] == "tool_result"]
        self.assertEqual([(block["type"], block.get("id")) for block in result["block_list"]],
                         [("text", 1), ("image", 1), ("plotly-json", 1)])

    def test_a_running_tool_streams_its_text(self):
        session, _ = self.hosted.run(agent="writer")
        frames = [frame for frame in self.hosted.frames(session, "task") if frame.get("output_index") == 1]
        self.assertEqual([(frame["type"], frame.get("delta") or frame["item"].get("text")) for frame in frames[1:-1]], [
            ("task.text.added", "Row one. "),
            ("task.text.delta", "Row two. "),
            ("task.text.done", "Row one. Row two. Row three."),
        ])

    def test_the_final_object_has_content_and_blocks(self):
        task = json.loads(self.hosted.call("GET", f"/v1/tasks/{self.turn['taskId']}"))
        message = task["output"][-1]
        text = "The weather in Paris is sunny with a temperature of 15C.[^1]"
        self.assertEqual(message["content"], [{"type": "text", "text": text}])
        cited = {"type": "reference_to_block", "reference_id": 1, "start_index": 56, "end_index": 60}
        self.assertEqual(message["block_list"], [{"type": "text", "text": text, "annotations": [cited]}])
        self.assertNotIn('"content"', json.dumps(self.frames))

    def test_the_document_s_own_frames_are_taken_and_told_again(self):
        text = documents.document("000")
        if text is None:
            self.skipTest("the document is absent")
        frames = documents.json_frames(text)
        session = json.loads(self.hosted.call("POST", "/v1/sessions", {}))["sessionId"]
        answer = json.loads(self.hosted.call("POST", f"/v1/sessions/{session}/events?dialect=task", frames))
        self.assertEqual(answer["last"], len(frames))
        task = json.loads(self.hosted.call("GET", f"/v1/tasks/task_1234xyz?session={session}"))
        self.assertEqual([item["type"] for item in task["output"]], ["reasoning", "tool_call", "tool_result", "message"])
        self.assertEqual([part["text"] for part in task["output"][0]["summary"]],
                         ["Thinking about the weather in Paris.", "Decided to call get_weather function."])
        # The document's offsets are wrong; they are found again in the text.
        [cited] = task["output"][3]["block_list"][0]["annotations"]
        self.assertEqual((cited["start_index"], cited["end_index"]), (56, 60))

    def test_the_frames_of_the_released_server_come_to_the_same_task_however_they_are_sent(self):
        vector = documents.ROOT / "spec/vectors/ingest/agentlin_released"
        frames = [json.loads(line) for line in (vector / "frames.ndjson").read_text().splitlines()]
        expected = json.loads((vector / "object.json").read_text().splitlines()[0])
        for bodies in ([frames], frames):
            session = json.loads(self.hosted.call("POST", "/v1/sessions", {}))["sessionId"]
            for body in bodies:
                self.hosted.call("POST", f"/v1/sessions/{session}/events?dialect=task", body)
            task = json.loads(self.hosted.call("GET", f"/v1/tasks/task_1?session={session}"))
            self.assertEqual(task["output"], expected["output"])
            self.assertEqual(json.loads(self.hosted.call("GET", f"/v1/sessions/{session}/state"))["problems"]["count"], 0)

    def test_a_running_tool_streams_drafts_of_its_picture(self):
        session, _ = self.hosted.run(agent="painter")
        frames = [frame for frame in self.hosted.frames(session, "task") if frame["type"].startswith("task.image.")]
        told = [(frame["type"], frame.get("partial_image_index"), frame["item"]["image_url"]["url"]) for frame in frames]
        self.assertEqual(told, [
            ("task.image.added", None, ""),
            ("task.image.delta", 0, "data:image/png;base64,AAAA"),
            ("task.image.delta", 1, "data:image/png;base64,BBBB"),
            ("task.image.done", None, "data:image/png;base64,CCCC"),
        ])

    def test_a_plain_result_reaches_the_model_without_marks(self):
        _, turn = self.hosted.run(agent="plain")
        task = json.loads(self.hosted.call("GET", f"/v1/tasks/{turn['taskId']}"))
        [result] = [item for item in task["output"] if item["type"] == "tool_result"]
        self.assertEqual(result["content"], [{"type": "text", "text": "15C"}])


if __name__ == "__main__":
    unittest.main()
