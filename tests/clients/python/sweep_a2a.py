"""a2a-sdk subscribes to a task behind every event, or reads it once it ended: it ends with the same task."""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import GetTaskRequest, SubscribeToTaskRequest, TaskState
from a2a.utils.errors import UnsupportedOperationError

from recorded import Report, Turn, chosen, http, play
from support import BASE, KEY, request

report = Report("a2a")


class Seen:
    """The task as the updates make it."""

    def __init__(self):
        self.state, self.artifacts = None, {}

    def take(self, update):
        kind = update.WhichOneof("payload")
        if kind == "task":
            self.state = update.task.status.state
            self.artifacts = {known.artifact_id: texts(known) for known in update.task.artifacts}
        elif kind == "status_update":
            self.state = update.status_update.status.state
        elif kind == "artifact_update":
            update = update.artifact_update
            before = self.artifacts.get(update.artifact.artifact_id, "") if update.append else ""
            self.artifacts[update.artifact.artifact_id] = before + texts(update.artifact)

    def told(self):
        return TaskState.Name(self.state), self.artifacts


def texts(artifact):
    return "".join(part.text for part in artifact.parts)


async def official(transport=None):
    headers = {"authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(timeout=30) as plain:
        card = await A2ACardResolver(plain, BASE).get_agent_card()
    own = httpx.AsyncClient(headers=headers, timeout=30, transport=transport)
    return ClientFactory(ClientConfig(httpx_client=own)).create(card), own


async def read_task(turn):
    client, own = await official()
    async with own:
        seen = Seen()
        task = await client.get_task(GetTaskRequest(id=turn))
        seen.state, seen.artifacts = task.status.state, {known.artifact_id: texts(known) for known in task.artifacts}
        return seen.told()


async def read_stream(opened, turn):
    """The answer was opened before; the official client gets it, whatever it asks for."""
    body, headers = opened.read(), {"content-type": opened.headers["content-type"]}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=body))
    client, own = await official(transport)
    async with own:
        seen = Seen()
        try:
            async for update in client.subscribe(SubscribeToTaskRequest(id=turn)):
                seen.take(update)
        except UnsupportedOperationError:
            return await read_task(turn)
    if seen.state != TaskState.TASK_STATE_INPUT_REQUIRED:
        return seen.told()
    # A task that waits ends a subscription. What was told until then stands, and who asks again gets the rest.
    whole = await read_task(turn)
    kept = {known: text for known, text in seen.artifacts.items() if whole[1].get(known, "").startswith(text)}
    return whole if kept == seen.artifacts else seen.told()


def subscribe(turn):
    own = http()
    body = {"jsonrpc": "2.0", "id": "1", "method": "SubscribeToTask", "params": {"id": turn}}
    return own.send(own.build_request("POST", "/a2a", json=body), stream=True)


def copied_task(turn):
    """Puts the turn into a new session event by event, under an id of its own, and subscribes behind each."""
    copy = Turn(f"cpy_{uuid.uuid4().hex}", f"turn_{uuid.uuid4().hex}", turn.task)
    assert request("POST", "/v1/sessions", {"sessionId": copy.session})[0] == 201
    readers, is_known = [], False
    for number, event in enumerate(turn.events()):
        kept = {name: value for name, value in event.items() if name not in ("sequence", "sessionId", "eventId")}
        if "turnId" in kept:
            kept["turnId"], is_known = copy.turn, True
        status, said = request("POST", f"/v1/sessions/{copy.session}/events", kept)
        assert status in (200, 201), said
        if is_known:
            readers.append((number + 1, subscribe(copy.turn)))
    return copy, readers


def sweep(name, agent):
    turn = play(agent)
    copy, readers = copied_task(turn)
    whole = asyncio.run(read_task(copy.turn))
    report.equal("".join(whole[1].values()), turn.text(), f"{name}: the task's text and the fold's")
    for sequence, opened in readers:
        report.equal(asyncio.run(read_stream(opened, copy.turn)), whole, f"{name}: subscribed behind {sequence}")


for name, agent in chosen(sys.argv, ["text", "tool", "error"]).items():
    sweep(name, agent)
report.end()
