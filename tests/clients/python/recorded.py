"""Turns that were played once, and copies of them that readers enter behind every event."""

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
}
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

    def text(self):
        """The text of the agent's messages, sub-agents left out."""
        status, task = request("GET", f"/v1/tasks/{self.task}")
        assert status == 200, task
        items = task.get("task", task)["output"]
        blocks = [block for item in items if item["type"] == "message" for block in blocks_of(item)]
        return "".join(block.get("text") or "" for block in blocks)

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
    """Plays a turn to its end, with every action approved."""
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


def approve_all(session):
    for action in request("GET", f"/v1/sessions/{session}/actions")[1]["actions"]:
        if action["status"] == "pending":
            answer = {"decision": "approve", "digest": action["digest"]}
            status, said = request("POST", f"/v1/sessions/{session}/actions/{action['actionId']}", answer)
            assert status == 200, said


def copied(turn, dialect):
    """Puts the turn's events into a new session one by one, and opens a reader without a state behind each.

    Returns the copy and the readers `(sequence, answer)`, whose bodies end with the turn.
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
                readers.append((number + 1, copy.open(dialect, catchup="snapshot")))
        yield copy, readers


def handed(answer, library=httpx):
    """A client of that HTTP library which gets an answer that was opened before, whatever it asks for."""

    def handle(_):
        return library.Response(200, headers=dict(answer.headers), content=answer.iter_raw())

    return library.Client(transport=library.MockTransport(handle))


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
        self.check(found == wanted, f"{what}\n    found  {short(found)}\n    wanted {short(wanted)}")

    def end(self):
        print(f"{self.name}: {self.right}/{self.all} ({time.time() - self.began:.0f} s)")
        raise SystemExit(self.right != self.all or self.all == 0)


def short(value):
    text = repr(value)
    return text if len(text) < 600 else f"{text[:400]} … {text[-200:]}"


def chosen(arguments, small):
    """The scenarios: all with `--all`, else the small ones."""
    return AGENTS if "--all" in arguments else {name: AGENTS[name] for name in small}
