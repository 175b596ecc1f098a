"""langgraph-sdk enters a run behind every event, without a state and with the last id: it ends with the same state."""

import sys

import httpx
from langgraph_sdk import get_sync_client

from recorded import Report, chosen, copied, handed, play
from support import BASE, KEY

report = Report("langgraph")


def client():
    return get_sync_client(url=BASE, api_key=KEY, timeout=30)


def told(parts):
    """The text of the chunks, the last state, and how the stream ended."""
    chunks = [part.data[0] for part in parts if part.event == "messages"]
    text = "".join(chunk["content"] for chunk in chunks if chunk["type"] == "AIMessageChunk")
    values = [part.data for part in parts if part.event == "values"]
    return text, values[-1] if values else None, (parts[-1].event, parts[-1].data)


def read(opened):
    own = client()
    with handed(opened, httpx) as transport:
        transport.base_url = BASE
        own.http.client = transport
        return told(list(own.runs.join_stream("thread", "run")))


def sweep(name, agent):
    turn = play(agent)
    for copy, readers in copied(turn, "langgraph"):
        # A stream ends where the run waits; who comes behind the decision gets the run to its end.
        first, whole = read(copy.open("langgraph")), read(copy.open("langgraph", catchup="snapshot"))
        report.equal(whole[0], turn.text(), f"{name}: the uncut text and the fold's")
        waits = first != whole
        report.check(not waits or "__interrupt__" in first[1], f"{name}: only an interrupt ends it early")
        for sequence, opened in readers:
            seen = read(opened)
            waits = waits and seen == first
            report.equal(seen, first if waits else whole, f"{name}: entered behind {sequence}")
    parts = list(client().runs.join_stream(turn.session, turn.turn))
    report.equal(told(parts), whole, f"{name}: joined")
    # Of what a client without a place is told first, only the last frame is a place.
    for at, part in ((at, part) for at, part in enumerate(parts) if part.id):
        rest = list(client().runs.join_stream(turn.session, turn.turn, last_event_id=part.id))
        report.equal(rest, parts[at + 1:], f"{name}: joined behind frame {at + 1}")


for name, agent in chosen(sys.argv, ["text", "approval", "error"]).items():
    sweep(name, agent)
report.end()
