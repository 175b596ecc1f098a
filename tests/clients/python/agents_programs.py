"""Runs programs that use openai-agents as they stand, and records what the SDK streamed to them."""

import ast
import asyncio
import contextlib
import inspect
import io
import os
from unittest import mock

from agents import RunResultStreaming, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI

# Traces would leave this machine.
set_tracing_disabled(True)


class Recorded:
    """What a program printed, the runs that it started, and the events that each of them streamed."""

    def __init__(self):
        self.printed, self.results, self.events = "", [], []

    def items(self, run=0):
        """The agents and items of a run, in their order."""
        events = [event for event in self.events[run] if event.type != "raw_response_event"]
        return [getattr(event, "name", None) or f"agent: {event.new_agent.name}" for event in events]

    def raw(self, run=0):
        """The types of the raw events of a run; deltas in a row are one."""
        types = [event.data.type for event in self.events[run] if event.type == "raw_response_event"]
        return [kind for before, kind in zip([None, *types], types) if kind != before or not kind.endswith(".delta")]


def run(code, server, model=None, **names):
    """Runs the program as `python program.py` would; `names` are those that a fragment expects to be there."""
    recorded, output = Recorded(), io.StringIO()
    stream_events = RunResultStreaming.stream_events

    async def recording(result):
        recorded.results.append(result)
        recorded.events.append([])
        async for event in stream_events(result):
            recorded.events[-1].append(event)
            yield event

    environment = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": server.key}
    if model:
        environment["OPENAI_DEFAULT_MODEL"] = model
    program = compile(code, "<a program of the document>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names["__name__"] = "__main__"
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(RunResultStreaming, "stream_events", recording),
        contextlib.redirect_stdout(output),
    ):
        # A client belongs to the loop that it was first used in, and each program has a loop of its own.
        client = AsyncOpenAI(max_retries=0, timeout=30, default_headers={"connection": "close"})
        set_default_openai_client(client, use_for_tracing=False)
        waiting = eval(program, names)
        if inspect.iscoroutine(waiting):
            asyncio.run(waiting)
    recorded.printed = output.getvalue()
    return recorded
