"""Turns that were played once, and copies of them that readers enter behind every event."""

import json
import pathlib
import time
import uuid

import httpx

from support import BASE, KEY, request

AGENTS = {
    "text": "scenario-text",
    "tool": "scenario-tool",
    "approval": "scenario-approval",
    "subagent": "scenario-subagent",
    "error": "scenario-error",
    "parallel": "scenario-parallel",
    "citations": "demo",
    "citation": "recorded/citation",
    "images": "recorded/images",
    "beside": "recorded/approval_beside",
    "rejected": "recorded/approval_rejected",
    "cancelled": "recorded/cancel",
    "handoff": "recorded/blocks",
    "tools_side_by_side": "recorded/parallel_tools",
    "agents_side_by_side": "recorded/sub_agents_parallel",
    "state": "recorded/state",
    "steered": "recorded/steered",
}
# What a turn can hold that clients easily get wrong.
EVERYTHING = ["approval", "beside", "subagent", "error", "citation", "images", "agents_side_by_side"]
RECORDINGS = pathlib.Path(__file__).parents[3] / "spec/vectors/dialect/scenarios"
TERMINAL = ("completed", "failed", "cancelled")
# Every reader holds a connection, and a key may hold only so many.
AT_ONCE = 100

def http():
    """A client of its own for each stream: one that was left half read must not stand in another's way."""
    return httpx.Client(
        base_url=BASE,
        headers={"authorization": f"Bearer {KEY}", "accept": "text/event-stream"},
        timeout=30,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=8),
    )


class Turn:
    """A turn that ended: where it is, its events, and the text that the fold made of it."""

    def __init__(self, session, turn, task):
        self.session, self.turn, self.task = session, turn, task

    @property
    def response_id(self):
        return f"resp_{self.turn}"

    def events(self):
        status, page = request("GET", f"/v1/sessions/{self.session}/events?limit=5000")
        assert status == 200 and not page["more"], page
        return page["events"]

    def state(self):
        status, state = request("GET", f"/v1/sessions/{self.session}/state")
        assert status == 200, state
        return state.get("state", state)

    def object(self):
        """The turn's task as the fold has it."""
        status, task = request("GET", f"/v1/tasks/{self.task}")
        assert status == 200, task
        return task.get("task", task)

    def blocks(self, *kinds):
        """The blocks of such items; what people said while the turn ran is not the agent's."""
        items = [item for item in self.object()["output"] if item["type"] in kinds and item.get("role") != "user"]
        return [block for item in items for block in blocks_of(item)]

    def texts(self):
        """The texts of the agent's messages, sub-agents left out."""
        return [block["text"] for block in self.blocks("message") if block.get("text")]

    def text(self):
        return "".join(self.texts())

    def pictures(self, *kinds):
        """Where the pictures of such items are."""
        return [block["image_url"]["url"] for block in self.blocks(*kinds) if block.get("image_url")]

    def waits(self):
        """The last events before somebody decided."""
        return [event["sequence"] - 1 for event in self.events() if event["type"] == "action.resolved"]

    def open(self, dialect, **query):
        """The open answer of a stream in a dialect."""
        query = {"dialect": dialect, "turn": self.turn, **query}
        own = http()
        call = own.build_request("GET", f"/v1/sessions/{self.session}/events", params=query)
        answer = own.send(call, stream=True)
        if answer.status_code != 200:
            raise AssertionError(f"{call.url}: {answer.status_code} {answer.read()[:300]}")
        return answer


def blocks_of(item):
    return item.get("block_list") or item.get("blockList") or item.get("content") or []


def play(agent, text="wind"):
    """Plays a turn to its end, with every action approved, or puts a recorded one into a session."""
    if agent.startswith("recorded/"):
        return put(agent.removeprefix("recorded/"))
    session = f"ses_{uuid.uuid4().hex}"
    assert request("POST", "/v1/sessions", {"sessionId": session})[0] == 201
    status, turn = request("POST", f"/v1/sessions/{session}/turns", {"agent": agent, "input": text})
    assert status == 202, turn
    played = Turn(session, turn["turnId"], turn["taskId"])
    for _ in range(400):
        if played.state()["turns"][-1]["status"] in TERMINAL:
            return played
        approve_all(session)
        time.sleep(0.05)
    raise AssertionError(f"{agent}: the turn did not end")


def put(name):
    """A recorded turn in a session of its own, under names of its own."""
    tag = uuid.uuid4().hex[:12]
    put_in = Turn(f"rec_{tag}", f"r1_{tag}", f"k1_{tag}")
    assert request("POST", "/v1/sessions", {"sessionId": put_in.session})[0] == 201
    names = {"r1": put_in.turn, "k1": put_in.task}
    for line in (RECORDINGS / f"{name}.ndjson").read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "session.created":
            continue
        for member in ("turnId", "taskId", "parentTaskId"):
            if event.get(member) in names:
                event[member] = names[event[member]]
        status, said = request("POST", f"/v1/sessions/{put_in.session}/events", event)
        assert status in (200, 201), said
    return put_in


def approve_all(session):
    for action in request("GET", f"/v1/sessions/{session}/actions")[1]["actions"]:
        if action["status"] == "pending":
            answer = {"decision": "approve", "digest": action["digest"]}
            status, said = request("POST", f"/v1/sessions/{session}/actions/{action['actionId']}", answer)
            assert status == 200, said


def copied(turn, dialect, reader=None):
    """Puts the turn's events into a new session one by one, and opens a reader without a state behind each.

    Returns the copy and the readers `(sequence, answer)`, whose bodies end with the turn. Another kind of `reader` is
    made of the session's name.
    """
    events = turn.events()
    for first in range(0, len(events), AT_ONCE):
        copy = Turn(f"cpy_{uuid.uuid4().hex}", turn.turn, turn.task)
        assert request("POST", "/v1/sessions", {"sessionId": copy.session})[0] == 201
        readers = []
        for number, event in enumerate(events):
            kept = {name: value for name, value in event.items() if name not in ("sequence", "sessionId")}
            status, said = request("POST", f"/v1/sessions/{copy.session}/events", kept)
            assert status in (200, 201), said
            if first <= number < first + AT_ONCE:
                opened = reader(copy.session) if reader else copy.open(dialect, catchup="snapshot")
                readers.append((number + 1, opened))
        yield copy, readers


def handed(answer, library=httpx):
    """A client of that HTTP library which gets an answer that was opened before, whatever it asks for."""

    def handle(_):
        return library.Response(200, headers=dict(answer.headers), content=answer.iter_raw())

    return library.Client(transport=library.MockTransport(handle))


def data_of(answer):
    """The frames of a body: what each says, without the words about the stream itself."""
    left = ""
    for piece in answer.iter_text():
        *frames, left = (left + piece).split("\n\n")
        for frame in frames:
            lines = frame.split("\n")
            said = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
            if said and "event: riverrun" not in lines and said[0] != "[DONE]":
                yield json.loads(said[0])
    answer.close()


class Report:
    """Counts what was checked, and ends the program with it."""

    def __init__(self, name):
        self.name, self.right, self.all, self.shown, self.began = name, 0, 0, 0, time.time()

    def check(self, is_right, what):
        self.all += 1
        self.right += bool(is_right)
        if not is_right and (shown := self.shown) < 5:
            self.shown = shown + 1
            print(f"  wrong: {what}")

    def equal(self, found, wanted, what):
        self.check(found == wanted, f"{what}\n    {difference(found, wanted)}" if found != wanted else what)

    def end(self):
        print(f"{self.name}: {self.right}/{self.all} ({time.time() - self.began:.0f} s)")
        raise SystemExit(self.right != self.all or self.all == 0)


def difference(found, wanted, path=""):
    """Where two values first differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in [*wanted, *found]:
            if found.get(name) != wanted.get(name):
                return difference(found.get(name), wanted.get(name), f"{path}/{name}")
    if isinstance(found, (list, tuple)) and isinstance(wanted, (list, tuple)):
        for place, (one, other) in enumerate(zip(found, wanted)):
            if one != other:
                return difference(one, other, f"{path}/{place}")
        path = f"{path} has {len(found)}, not {len(wanted)}"
    return f"{path}: found {repr(found)[:300]}, wanted {repr(wanted)[:300]}"


def chosen(arguments, small):
    """The scenarios: all with `--all`, else the small ones."""
    return AGENTS if "--all" in arguments else {name: AGENTS[name] for name in small}
