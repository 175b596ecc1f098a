"""openai-agents with tools of the model service: through Riverrun it streams what it streams without it.

The document on streaming names the events of computer, tool-search and MCP items; a small service plays such items.
"""

import json
import unittest

from agents import Agent, Computer, ComputerTool, HostedMCPTool, Runner, ToolSearchTool, WebSearchTool, function_tool

from agents_programs import run
from hosted import Hosted
from responses_service import ResponsesService, events, message

UNUSED = '[[step]]\nplay = [{ text = { pieces = ["-"] } }]\n'

CONFIG = """
[providers.openai]
kind = "openai"
base_url = "{url}/v1"

[agents.searcher]
model = "openai/gpt-web-search"

[agents.web-search]
model = "openai/gpt-web-search"

[agents.mcp]
model = "openai/gpt-mcp"

[agents.tool-search]
model = "openai/gpt-tool-search"

[agents.failing]
model = "openai/gpt-failing"

[agents.tools]
model = "openai/gpt-tools"

[routes]
"gpt-*" = "openai/*"
"""

FOLLOWED = """
result = Runner.run_streamed(agent, "Hello")
async for event in result.stream_events():
    pass
"""

CLICK = {"type": "click", "x": 1, "y": 2, "button": "left"}
COMPUTER = {"id": "cu_1", "type": "computer_call", "status": "completed", "call_id": "c_1", "pending_safety_checks": []}
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}}
LIST = {"id": "ml_1", "type": "mcp_list_tools", "server_label": "files",
        "tools": [{"name": "read", "input_schema": {"type": "object"}}]}
MCP_CALL = {"id": "mc_1", "type": "mcp_call", "server_label": "files", "name": "read", "arguments": "{}", "output": "x"}
ASK = {"id": "ma_1", "type": "mcp_approval_request", "server_label": "files", "name": "read", "arguments": "{}"}
FIND = {"id": "ts_1", "type": "tool_search_call", "execution": "server", "status": "completed", "arguments": {}}
FOUND = {"id": "to_1", "type": "tool_search_output", "execution": "server", "status": "completed", "tools": []}

CODE = {"id": "ci_1", "type": "code_interpreter_call", "status": "completed", "container_id": "c", "code": "1",
        "outputs": None}
FILES = {"id": "fs_1", "type": "file_search_call", "status": "completed", "queries": ["x"], "results": None}
IMAGE = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "A" * 100_000}

PLAYS = {
    "gpt-tools": [CODE, FILES, IMAGE, message("All of it is done now.")],
    "gpt-failing": [message("I begin to")],
    "gpt-computer-preview": [COMPUTER | {"action": CLICK}],
    "gpt-computer": [COMPUTER | {"actions": [CLICK, {"type": "wait"}]}],
    "gpt-web-search": [SEARCH, message("Done.")],
    "gpt-mcp": [LIST, MCP_CALL, message("Done.")],
    "gpt-mcp-approval": [ASK],
    "gpt-tool-search": [FIND, FOUND, message("Done.")],
}


class Screen(Computer):
    environment, dimensions = "browser", (10, 10)

    def screenshot(self):
        return "AAAA"

    def ignore(self, *_, **__):
        pass

    click = double_click = scroll = type = wait = move = keypress = drag = ignore


@function_tool(defer_loading=True)
def deferred() -> str:
    """A tool that the model loads when it needs it."""
    return ""


def mcp(**options):
    config = {"type": "mcp", "server_label": "files", "server_url": "https://example.com/mcp"}
    return HostedMCPTool(tool_config=config | options, on_approval_request=lambda _: {"approve": True})


TOOLS = {
    "gpt-computer-preview": lambda: [ComputerTool(Screen())],
    "gpt-computer": lambda: [ComputerTool(Screen())],
    "gpt-web-search": lambda: [WebSearchTool()],
    "gpt-mcp": lambda: [mcp(require_approval="never")],
    "gpt-mcp-approval": lambda: [mcp(require_approval="always")],
    "gpt-tool-search": lambda: [ToolSearchTool(), deferred],
}

NAMES = {
    "gpt-computer-preview": ["tool_called", "tool_output", "message_output_created"],
    "gpt-computer": ["tool_called", "tool_output", "message_output_created"],
    "gpt-web-search": ["tool_called", "message_output_created"],
    "gpt-mcp": ["mcp_list_tools", "tool_called", "message_output_created"],
    "gpt-mcp-approval": ["mcp_approval_requested", "mcp_approval_response", "message_output_created"],
    "gpt-tool-search": ["tool_search_called", "tool_search_output_created", "message_output_created"],
}

# Turns that an agent of the server runs: the service runs the tools.
HOSTED = {
    "gpt-web-search": ["tool_called", "message_output_created"],
    "gpt-mcp": ["mcp_list_tools", "tool_called", "message_output_created"],
    "gpt-tool-search": ["tool_search_called", "tool_search_output_created", "message_output_created"],
    "gpt-tools": ["tool_called", "tool_called", "tool_called", "message_output_created"],
}


def raw_items(recorded):
    """The items of the first run as the service has them. A message has an id of Riverrun's own."""
    items = [event.item.raw_item for event in recorded.events[0] if event.type == "run_item_stream_event"]
    items = [item if isinstance(item, dict) else item.to_dict() for item in items]
    return [item | {"id": None} if item["type"] == "message" else item for item in items]


class HostedTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = ResponsesService(PLAYS)
        cls.addClassCleanup(cls.service.stop)
        cls.hosted = Hosted(UNUSED, CONFIG.format(url=cls.service.url))
        cls.addClassCleanup(cls.hosted.stop)

    def test_the_sdk_streams_the_same_with_and_without_riverrun(self):
        for model, names in NAMES.items():
            with self.subTest(model=model):
                agent = Agent(name="A", model=model, tools=TOOLS[model]())
                direct = run(FOLLOWED, self.service, agent=agent, Runner=Runner)
                through = run(FOLLOWED, self.hosted.server, agent=agent, Runner=Runner)
                self.assertEqual(through.items(), ["agent: A", *names])
                self.assertEqual(through.items(), direct.items())
                self.assertEqual(through.raw(), direct.raw())
                self.assertEqual(raw_items(through), raw_items(direct))

    def followed(self, agent="searcher"):
        """A turn of an agent of the server, as the dialect `agents-sdk` has it."""
        session, turn = self.hosted.run(agent=agent)
        return self.hosted.frames(session, "agents-sdk", f"&turn={turn['turnId']}")

    def test_raw_events_of_a_hosted_turn_are_the_service_s(self):
        for model in HOSTED:
            with self.subTest(model=model):
                frames = [frame for frame in self.followed(model[4:]) if frame["type"] == "raw_response_event"]
                self.assertEqual([frame["data"] for frame in frames], events(model, PLAYS[model]))
                self.assertFalse(any(frame.get("rebuilt") for frame in frames))

    def test_a_tool_of_the_service_is_an_item_of_a_hosted_turn(self):
        for model, names in HOSTED.items():
            with self.subTest(model=model):
                items = [frame for frame in self.followed(model[4:]) if frame["type"] == "run_item_stream_event"]
                self.assertEqual([frame["name"] for frame in items], names)
                for frame, item in zip(items, PLAYS[model]):
                    if item["type"] != "message":
                        self.assertEqual(frame["item"]["raw_item"], item)

    def test_a_failure_of_the_service_passes_as_it_came(self):
        session, turn = self.hosted.run(agent="failing", end="failed")
        frames = self.hosted.frames(session, "agents-sdk", f"&turn={turn['turnId']}")
        raw = [frame["data"] for frame in frames if frame["type"] == "raw_response_event"]
        self.assertEqual(raw, events("gpt-failing", PLAYS["gpt-failing"]))
        self.assertFalse([frame for frame in frames if frame["type"] == "run_item_stream_event"])
        self.assertEqual(frames[-1]["status"], "failed")

    def test_raw_events_are_the_same_bytes_after_a_kill(self):
        session, turn = self.hosted.run(agent="web-search")
        path = f"/v1/sessions/{session}/events?follow=false&dialect=agents-sdk&turn={turn['turnId']}"

        def raw():
            lines = self.hosted.call("GET", path, accept="application/x-ndjson").splitlines()
            return [line for line in lines if '"raw_response_event"' in line]

        before = raw()
        self.hosted.server.kill()
        self.hosted.server.start()
        self.assertEqual(raw(), before)
        self.assertEqual([json.loads(line)["data"] for line in before],
                         events("gpt-web-search", PLAYS["gpt-web-search"]))


if __name__ == "__main__":
    unittest.main()
