"""A reader follows the first half of a turn in one dialect, and the rest in another from the same cursor.

What it was told is what the fold has, for every pair of dialects.
"""

import re
import sys
import uuid

from recorded import Report, Turn, chosen, data_of, play
from support import request

# Behind every event with `--all`, else behind some.
STEP = 1 if "--all" in sys.argv else 4
report = Report("switch")


def native(frame):
    return frame["payload"]["delta"] if frame.get("nativeType", frame["type"]) == "model.delta" else ""


def blocks(frame):
    delta = frame.get("delta") or {}
    # The block that says how a turn ended is not the agent's.
    return "" if "extras" in delta else delta.get("text", "")


def gemini(frame):
    parts = [part for one in frame.get("candidates", []) for part in one.get("content", {}).get("parts", [])]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def typed(kind, member="delta"):
    return lambda frame: frame[member] if frame.get("type") == kind else ""


def anthropic(frame):
    return frame["delta"].get("text", "") if frame["type"] == "content_block_delta" else ""


def agents_sdk(frame):
    return typed("response.output_text.delta")(frame["data"]) if frame["type"] == "raw_response_event" else ""


def langgraph(frame):
    return frame[0]["content"] if isinstance(frame, list) and frame[0]["type"].startswith("AI") else ""


def a2a(frame):
    artifact = frame.get("artifactUpdate", {}).get("artifact", {})
    return "".join(part.get("text", "") for part in artifact.get("parts", []))


# What a frame adds to the text of the agent's messages.
SAYS = {
    "native": native,
    "native-strict": native,
    "native-lime": native,
    "task": typed("task.text.delta"),
    "blocks": blocks,
    "responses": typed("response.output_text.delta"),
    "chat": lambda frame: "".join(choice["delta"].get("content") or "" for choice in frame.get("choices", [])),
    "anthropic": anthropic,
    "gemini": gemini,
    "ag-ui": typed("TEXT_MESSAGE_CONTENT"),
    "ai-sdk": typed("text-delta"),
    "agents-sdk": agents_sdk,
    "simple-run": typed("response.text.delta"),
    "langgraph": langgraph,
    "a2a": a2a,
}


def said(turn, dialect, **query):
    return "".join(SAYS[dialect](frame) for frame in data_of(turn.open(dialect, follow="false", **query)))


def cursor_of(turn):
    """Where a reader of the native stream stands."""
    answer = turn.open("native", follow="false")
    try:
        return re.findall(r"^id: (.+)$", answer.read().decode(), re.M)[-1]
    finally:
        answer.close()


def append(turn, events):
    for event in events:
        kept = {name: value for name, value in event.items() if name not in ("sequence", "sessionId")}
        status, answer = request("POST", f"/v1/sessions/{turn.session}/events", kept)
        assert status in (200, 201), answer


def switch(label, turn):
    events, wanted = turn.events(), turn.text()
    # A stream of a turn begins with the turn.
    begins = next(event["sequence"] for event in events if event["type"] == "turn.submitted")
    for sequence in range(begins, len(events), STEP):
        copy = Turn(f"swi_{uuid.uuid4().hex}", turn.turn, turn.task)
        assert request("POST", "/v1/sessions", {"sessionId": copy.session})[0] == 201
        append(copy, events[:sequence])
        cursor = cursor_of(copy)
        before = {dialect: said(copy, dialect) for dialect in SAYS}
        append(copy, events[sequence:])
        after = {dialect: said(copy, dialect, after=cursor) for dialect in SAYS}
        for first in SAYS:
            for then in SAYS:
                what = f"{label}: {first} to event {sequence}, then {then}"
                report.equal(before[first] + after[then], wanted, what)


def all_dialects_are_here():
    _, refusal = request("GET", "/v1/sessions/none/events?dialect=none-such")
    names = re.findall(r"`([^`]+)`", refusal["detail"].split("there are:")[1])
    report.equal(sorted(SAYS), sorted(names), "the dialects")


all_dialects_are_here()
for label, agent in chosen(sys.argv, ["text", "citation"]).items():
    # Texts of sub-agents stand beside the agent's own; pauses end some bodies; two texts are one in some dialects.
    if label in ("text", "tool", "citation", "error", "cancelled"):
        switch(label, play(agent))
report.end()
