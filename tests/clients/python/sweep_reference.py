"""The dialects without a client of somebody else's: a small one enters behind every event, and ends with the fold."""

import json
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import reference
from recorded import EVERYTHING, Report, chosen, copied, data_of, play
from support import BASE, KEY

# A socket is cut behind every message with `--all`, else behind some.
STEP = 1 if "--all" in sys.argv else 4
report = Report("reference")


def read(client, answer):
    for frame in data_of(answer):
        client.take(frame)
    return client


def tasks(label, turn):
    # What only the model is given is not told.
    wanted = turn.object()
    wanted["output"] = [without_content(item) for item in wanted["output"]]
    for copy, readers in copied(turn, "task"):
        whole = read(reference.Task(), copy.open("task")).object(turn.task)
        report.equal(whole, wanted, f"task, {label}: the uncut task and the fold's")
        for sequence, answer in readers:
            found = read(reference.Task(), answer).object(turn.task)
            report.equal(found, wanted, f"task, {label}: entered behind {sequence}")


def without_content(item):
    item = {name: value for name, value in item.items() if name != "content"}
    if "block_list" in item:
        item["block_list"] = [without_content(block) for block in item["block_list"]]
    return item


def simple_runs(label, turn):
    for copy, readers in copied(turn, "simple-run"):
        whole = read(reference.SimpleRun(), copy.open("simple-run")).object()
        report.equal("".join(whole["texts"].values()), turn.text(), f"simple-run, {label}: the uncut text and the fold's")
        told = [url(block) for item in whole["items"].values() for block in item.get("block_list") or []]
        pictures = turn.pictures("message", "tool_result")
        report.equal([one for one in told if one], pictures, f"simple-run, {label}: the uncut pictures and the fold's")
        for sequence, answer in readers:
            found = read(reference.SimpleRun(), answer).object()
            report.equal(found, whole, f"simple-run, {label}: entered behind {sequence}")


def url(block):
    return (block.get("image_url") or block.get("imageUrl") or {}).get("url")


def agents_runs(label, turn):
    waits = turn.waits()

    def run(copy, answer):
        """A body ends where the run waits; the rest comes when somebody decided."""
        client = read(reference.AgentsRun(), answer)
        for wait in waits:
            if client.end["interruptions"]:
                read(client, copy.open("agents-sdk", after=wait))
        return client.object()

    for copy, readers in copied(turn, "agents-sdk"):
        whole = run(copy, copy.open("agents-sdk"))
        report.equal("".join(whole["said"].values()), turn.text(), f"agents-sdk, {label}: the uncut text and the fold's")
        for sequence, answer in readers:
            report.equal(run(copy, answer), whole, f"agents-sdk, {label}: entered behind {sequence}")


class Socket:
    def __init__(self):
        self.socket = connect(BASE.replace("http", "ws") + "/v1/ws/blocks", close_timeout=1)
        self.say(type="auth", token=KEY)
        self.until("auth_ok")

    def say(self, **message):
        self.socket.send(json.dumps(message))

    def hear(self):
        return json.loads(self.socket.recv(timeout=30))

    def until(self, kind):
        while (message := self.hear())["type"] != kind:
            assert message["type"] != "error", message
        return message

    def subscribe(self, session, after=None):
        cursor = {} if after is None else {"last_event_id": after}
        self.say(type="subscribe", session_id=session, **cursor)
        return self.until("subscribed")

    def turn(self):
        """The messages of the turn, to its end."""
        heard = []
        while not heard or heard[-1]["type"] != "message_stop":
            message = self.hear()
            assert message["type"] != "error", message
            if "message_id" in message:
                heard.append(message)
        return heard

    def close(self):
        try:
            self.socket.close()
        except ConnectionClosed:
            pass


def shown(messages):
    client = reference.Blocks()
    for message in messages:
        client.take(message)
    return client.object()


def ordered(found, label):
    """Blocks have the numbers in which a reader met them; what went on side by side is met in another order later."""
    if "beside" not in label and "side_by_side" not in label:
        return found
    return found | {"blocks": sorted(json.dumps(block, sort_keys=True) for block in found["blocks"].values())}


class Seat:
    """A reader that sits down behind an event, and is read at the end."""

    def __init__(self, session):
        self.socket = Socket()
        self.status = self.socket.subscribe(session)["status"]


def blocks(label, turn):
    first = "0.0"
    for copy, seats in copied(turn, "blocks", Seat):
        one = Socket()
        one.subscribe(copy.session, first)
        messages = one.turn()
        whole = shown(messages)
        own = [block for block in whole["blocks"].values() if not block.get("subagent")]
        said = "".join(block["text"] for block in own if block["type"] == "text" and "extras" not in block)
        report.equal(said, turn.text(), f"blocks, {label}: the uncut text and the fold's")
        pictures = [url(block["artifact"]) for block in own if block["type"] == "artifact"]
        wanted = turn.pictures("message")
        report.equal([one for one in pictures if one], wanted, f"blocks, {label}: the uncut pictures and the fold's")
        for number, message in list(enumerate(messages[:-1]))[::STEP]:
            one.subscribe(copy.session, message["event_id"])
            report.equal(one.turn(), messages[number + 1:], f"blocks, {label}: cut behind message {number}")
        one.close()
        for sequence, seat in seats:
            if seat.status in ("running", "waiting_approval"):
                found = shown(seat.socket.turn())
                report.equal(ordered(found, label), ordered(whole, label), f"blocks, {label}: entered behind {sequence}")
            seat.socket.close()


for label, agent in chosen(sys.argv, EVERYTHING).items():
    turn = play(agent)
    for sweep in (tasks, simple_runs, agents_runs, blocks):
        try:
            sweep(label, turn)
        except Exception as error:  # noqa: BLE001: what a client cannot read is counted, and the rest is still read
            report.check(False, f"{sweep.__name__}, {label}: {error!r}")
report.end()
