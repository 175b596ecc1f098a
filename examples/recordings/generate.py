#!/usr/bin/env python3
"""Writes the recordings beside this file.

A recording is one bare event per line with the time at which it happened; `riverrun play FILE` sends it through
ingest and keeps the time. The output is the same on every machine: the clock starts at a fixed moment and the
pauses come from a seeded source.

    python3 generate.py            write the files
    python3 generate.py --check    fail if a file differs from what would be written
"""

import hashlib
import json
import random
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).parent
START = datetime(2026, 3, 2, 9, 0, 0, tzinfo=timezone.utc)
CITATION = re.compile(r"\[\^(\d+)\]")
# The order of the envelope's members on the wire.
SCOPE = ("threadId", "turnId", "taskId", "runId", "stepId", "toolCallId", "actionId", "subagentId",
         "parentTaskId", "parentToolCallId", "depth")


def text_block(text, ref_id=None, annotations=None):
    block = {"type": "text", "text": text}
    if ref_id is not None:
        block["refId"] = ref_id
    if annotations:
        block["annotations"] = annotations
    return block


def citations(text):
    """One annotation for each marker, in code points; the marker stays in the text."""
    return [{"type": "reference_to_block", "referenceId": int(found[1]),
             "startIndex": found.start(), "endIndex": found.end()} for found in CITATION.finditer(text)]


def tokens(text):
    """Splits text as models do: a space goes with the word after it, long words come in pieces."""
    parts = []
    for word in re.findall(r"\s*\S+|\s+$", text):
        while len(word) > 7:
            parts.append(word[:5])
            word = word[5:]
        parts.append(word)
    return parts


class Recording:
    def __init__(self, name, seed):
        self.name = name
        self.now = START
        self.random = random.Random(seed)
        self.lines = []

    def wait(self, milliseconds):
        self.now += timedelta(milliseconds=milliseconds)

    def event(self, kind, payload=None, gap=(4, 20), **scope):
        if self.lines:
            self.wait(self.random.randint(*gap))
        stamp = self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"
        line = {"type": kind, "timestamp": stamp}
        line.update({name: scope[name] for name in SCOPE if scope.get(name) is not None})
        line["payload"] = payload or {}
        self.lines.append(line)

    def text(self):
        return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in self.lines)


class Task:
    """Writes the events of one task: it knows its scope, its items and its next output index."""

    def __init__(self, recording, turn, task, run, parent=None, depth=None):
        self.recording = recording
        self.scope = {"threadId": "main", "turnId": turn, "taskId": task, "runId": run}
        if parent:
            self.scope.update(parentTaskId=parent, parentToolCallId=task, depth=depth)
        self.index = 0
        self.step_number = 0

    def event(self, kind, payload=None, gap=(4, 20), **more):
        self.recording.event(kind, payload, gap, **{**self.scope, **more})

    def step(self, model):
        self.step_number += 1
        self.scope["stepId"] = f"step_{self.scope['runId'].removeprefix('run_')}_{self.step_number}"
        self.event("model.requested", {"provider": "scripted", "model": model})
        self.recording.wait(350)

    def step_done(self, stop, usage):
        inputs, cached, outputs, reasoning = usage
        self.event("model.completed", {
            "usage": {"inputTokens": inputs, "cachedInputTokens": cached, "outputTokens": outputs,
                      "reasoningTokens": reasoning, "totalTokens": inputs + outputs},
            "stopReason": stop})

    def next_index(self):
        self.index += 1
        return self.index - 1

    def reasoning(self, item, summaries):
        index = self.next_index()
        self.event("item.started", {"item": {"type": "reasoning", "id": item, "summary": [], "status": "in_progress"},
                                    "outputIndex": index})
        for number, summary in enumerate(summaries):
            place = {"itemId": item, "outputIndex": index, "summaryIndex": number}
            for token in tokens(summary):
                self.event("reasoning.delta", {"delta": token, **place}, gap=(12, 40))
            self.event("reasoning.summary", {"text": summary, **place})
        self.event("item.completed", {"item": {"type": "reasoning", "id": item,
                                               "summary": [{"type": "text", "text": text} for text in summaries],
                                               "status": "completed"}, "outputIndex": index})

    def tool_call(self, item, call, name, arguments):
        index = self.next_index()
        text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        skeleton = {"type": "tool_call", "id": item, "callId": call, "name": name, "arguments": "",
                    "status": "in_progress"}
        self.event("item.started", {"item": skeleton, "outputIndex": index}, toolCallId=call)
        for at in range(0, len(text), 6):
            self.event("tool.args", {"delta": text[at:at + 6], "itemId": item, "outputIndex": index, "callId": call},
                       gap=(10, 30), toolCallId=call)
        self.event("item.completed", {"item": {**skeleton, "arguments": text, "status": "completed"},
                                      "outputIndex": index}, toolCallId=call)

    def tool_runs(self, call, name, arguments, took, preview, notes=()):
        self.event("tool.started", {"toolName": name, "safeArgs": arguments}, toolCallId=call)
        for fraction, note in notes:
            self.recording.wait(took // (len(notes) + 1))
            self.event("tool.progress", {"message": note, "fraction": fraction}, toolCallId=call)
        self.recording.wait(took // (len(notes) + 1))
        self.event("tool.result", {"toolName": name, "status": "completed", "preview": preview, "durationMs": took},
                   toolCallId=call)

    def tool_result(self, item, call, results):
        """Results seen by model and user: numbered, wrapped for the model, plain for the user."""
        index = self.next_index()
        self.event("item.started", {"item": {"type": "tool_result", "id": item, "callId": call, "blockList": [],
                                             "status": "in_progress"}, "outputIndex": index}, toolCallId=call)
        content, blocks = [], []
        for number, text in results:
            block = text_block(text, number)
            self.event("item.updated", {"itemId": item, "outputIndex": index, "blockIndex": len(blocks),
                                        "block": block, "change": "done"}, toolCallId=call)
            blocks.append(block)
            content += wrapped(number, text)
        self.event("item.completed", {"item": {"type": "tool_result", "id": item, "callId": call, "content": content,
                                               "blockList": blocks, "status": "completed"},
                                      "outputIndex": index}, toolCallId=call)

    def message(self, item, text, agent, stop_after=None):
        """Streams a message; `stop_after` ends it after so many tokens, as a cancel does."""
        index = self.next_index()
        self.event("item.started", {"item": {"type": "message", "id": item, "role": "assistant", "agent": agent,
                                             "blockList": [], "status": "in_progress"}, "outputIndex": index})
        place = {"itemId": item, "outputIndex": index, "blockIndex": 0}
        self.event("item.updated", {"itemId": item, "outputIndex": index, "blockIndex": 0, "block": text_block(""),
                                    "change": "added"})
        shown = tokens(text)[:stop_after]
        for token in shown:
            self.event("model.delta", {"delta": token, **place}, gap=(14, 55))
        text = "".join(shown)
        if stop_after is None:
            self.event("item.updated", {"itemId": item, "outputIndex": index, "blockIndex": 0,
                                        "block": text_block(text, annotations=citations(text)), "change": "done"})
        status = "completed" if stop_after is None else "incomplete"
        done = {"type": "message", "id": item, "role": "assistant", "agent": agent,
                "content": [text_block(text)], "blockList": [text_block(text, annotations=citations(text))],
                "status": status}
        return index, done

    def message_done(self, index, done):
        self.event("item.completed", {"item": done, "outputIndex": index})

    def whole_message(self, item, text, agent):
        self.message_done(*self.message(item, text, agent))


def wrapped(number, text):
    """What the model reads of a numbered result."""
    tag = {"refId": number, "tags": ["added_by_reference_manager"]}
    return [{"type": "text", "text": f"<referencable-item>\nID: {number}", **tag},
            text_block(text, number),
            {"type": "text", "text": "</referencable-item>", **tag}]


def open_turn(recording, turn, task, run, text, agent):
    recording.event("turn.submitted", {"input": text, "agent": agent, "source": "recording", "status": "accepted"},
                    threadId="main", turnId=turn)
    recording.event("turn.started", threadId="main", turnId=turn)
    opened = Task(recording, turn, task, run)
    opened.event("task.created", {"title": text[:60], "objective": text, "agent": agent, "kind": "turn"})
    opened.event("task.started", {"status": "running"})
    return opened


def close_turn(task, answer, usage):
    task.scope.pop("stepId", None)
    task.event("task.completed", {"status": "completed"})
    inputs, cached, outputs, reasoning = usage
    task.recording.event("turn.completed", {
        "finalOutput": answer,
        "usage": {"inputTokens": inputs, "cachedInputTokens": cached, "outputTokens": outputs,
                  "reasoningTokens": reasoning, "totalTokens": inputs + outputs}},
        threadId="main", turnId=task.scope["turnId"])


def weather():
    recording = Recording("weather", seed=1)
    recording.event("session.created", {"title": "Weather in Paris and Rome", "agent": "weather", "status": "running",
                                        "tags": ["example", "weather"]})
    recording.event("thread.started", {"title": "main", "status": "running"}, threadId="main")
    question = "What is the weather in Paris and in Rome? Should I take a coat?"
    task = open_turn(recording, "turn_w1", "task_w1", "run_w1", question, "weather")
    task.step("scripted/weather")
    task.reasoning("rs_w1", ["Two cities, so two lookups.", "Both can run at the same time."])
    cities = [("Paris", "call_w1", "9 °C, light rain, wind 20 km/h"), ("Rome", "call_w2", "18 °C, clear, wind 8 km/h")]
    for number, (city, call, _) in enumerate(cities, 1):
        task.tool_call(f"fc_w{number}", call, "get_weather", {"city": city, "unit": "celsius"})
    task.step_done("tool_calls", (182, 0, 64, 18))
    for number, (city, call, found) in enumerate(cities, 1):
        task.tool_runs(call, "get_weather", {"city": city, "unit": "celsius"}, 140 + 45 * number, found)
        task.tool_result(f"fco_w{number}", call, [(number, f"{city}: {found}")])
    task.step("scripted/weather")
    answer = ("In Paris it is 9 °C with light rain and some wind [^1], so yes: take a coat, and one that keeps the rain "
              "off. In Rome it is 18 °C and clear [^2]; a light jacket is enough there, even in the evening. "
              "If you travel from one to the other tomorrow, wear the coat on the way out and pack it on arrival. 🌦️")
    task.whole_message("msg_w1", answer, "weather")
    task.step_done("stop", (301, 160, 92, 0))
    close_turn(task, answer, (483, 160, 156, 18))
    return recording


def research_subagents():
    recording = Recording("research-subagents", seed=2)
    recording.event("session.created", {"title": "Why rivers meander", "agent": "researcher", "status": "running",
                                        "tags": ["example", "research"]})
    recording.event("thread.started", {"title": "main", "status": "running"}, threadId="main")
    question = "Why do rivers meander, and how fast do the bends move? Cite what you use."
    task = open_turn(recording, "turn_r1", "task_r1", "run_r1", question, "researcher")
    task.step("scripted/researcher")
    task.reasoning("rs_r1", ["One part is physics, one part is measurement.",
                             "The scout can look up the rates while I keep the thread."])
    prompt = {"agent": "scout", "prompt": "Find how bends grow and how fast they move. Cite sources."}
    task.tool_call("fc_r1", "call_r1", "ask_scout", prompt)
    task.step_done("tool_calls", (240, 0, 71, 25))
    child_answer = scout(recording, task, prompt)
    task.step("scripted/researcher")
    task.reasoning("rs_r2", ["The scout's two sources are enough for both halves of the question."])
    answer = ("Rivers meander because a bend feeds itself: water runs faster along the outside and takes the bank away, "
              "and drops what it carries on the inside, so a small bend becomes a large one [^1]. How fast depends "
              "on bank and flow; on large lowland rivers a bend moves from a few metres to some tens of metres a year, "
              "until the neck is cut through and an oxbow lake stays behind [^2].")
    task.whole_message("msg_r1", answer, "researcher")
    task.step_done("stop", (612, 240, 104, 12))
    assert child_answer
    close_turn(task, answer, (852, 240, 175, 37))
    return recording


def scout(recording, parent, prompt):
    """The sub-agent: its task id is the parent's call id, and its events pass through the parent's stream."""
    call = "call_r1"
    container = parent.next_index()
    started = {"type": "tool_result", "id": "fco_r1", "callId": call, "blockList": [], "status": "in_progress"}
    parent.event("task.delegated", {"toTaskId": call, "agent": "scout"}, toolCallId=call)
    parent.event("tool.started", {"toolName": "ask_scout", "safeArgs": prompt}, toolCallId=call)
    parent.event("item.started", {"item": started, "outputIndex": container}, toolCallId=call)
    child = Task(recording, "turn_r1", call, "run_r2", parent="task_r1", depth=1)
    child.event("task.created", {"title": "Sources on meanders", "objective": prompt["prompt"], "agent": "scout",
                                 "kind": "subagent", "parentToolCallId": call})
    child.event("subagent.spawned", {}, subagentId="sub_r1")
    child.event("task.started", {"status": "running"})
    child.step("scripted/scout")
    child.reasoning("rs_s1", ["Search for the mechanism first, then for rates."])
    searches = [
        ("call_s1", "meander growth mechanism", 1,
         "Field notes on bend growth: the fast thread of the current hugs the outer bank and undercuts it, while slack "
         "water on the inner side builds a point bar."),
        ("call_s2", "meander migration rate", 2,
         "Survey of lowland bends: yearly shift between 2 and 60 metres; neck cut-offs end the growth of a bend."),
    ]
    for number, (search, query, ref_id, found) in enumerate(searches, 1):
        child.tool_call(f"fc_s{number}", search, "web_search", {"query": query, "limit": 3})
        child.tool_runs(search, "web_search", {"query": query, "limit": 3}, 420, found[:48] + "…",
                        notes=[(0.5, "3 pages found")])
        child.tool_result(f"fco_s{number}", search, [(ref_id, found)])
    child.step_done("tool_calls", (310, 0, 88, 14))
    child.step("scripted/scout")
    answer = ("Bends grow because the outer bank is undercut and the inner bank is built up [^1]. Measured shifts are "
              "2 to 60 metres a year, until a cut-off [^2].")
    child.whole_message("msg_s1", answer, "scout")
    child.step_done("stop", (455, 300, 47, 0))
    child.scope.pop("stepId", None)
    child.event("task.completed", {"status": "completed"})
    child.event("subagent.completed", {}, subagentId="sub_r1")
    parent.event("tool.result", {"toolName": "ask_scout", "status": "completed", "preview": answer[:60] + "…",
                                 "durationMs": 4800}, toolCallId=call)
    # The model reads the cited results and the child's message; the blocks that the user collected are kept.
    content = [part for _, _, ref_id, found in searches for part in wrapped(ref_id, found)] + [text_block(answer)]
    parent.event("item.completed", {"item": {"type": "tool_result", "id": "fco_r1", "callId": call,
                                             "content": content, "status": "completed"},
                                    "outputIndex": container}, toolCallId=call)
    return answer


def approval():
    recording = Recording("approval", seed=3)
    recording.event("session.created", {"title": "Tidy the invoices", "agent": "clerk", "status": "running",
                                        "tags": ["example", "approval"]})
    recording.event("thread.started", {"title": "main", "status": "running"}, threadId="main")
    first_turn(recording)
    recording.wait(4000)
    second_turn(recording)
    return recording


def first_turn(recording):
    question = "Send the reminder for invoice 2041 to the customer."
    task = open_turn(recording, "turn_a1", "task_a1", "run_a1", question, "clerk")
    task.step("scripted/clerk")
    task.reasoning("rs_a1", ["I need the invoice before I can write.", "Sending a letter needs a yes."])
    task.tool_call("fc_a1", "call_a1", "read_invoice", {"number": 2041})
    letter = {"to": "accounts@customer.example", "subject": "Invoice 2041", "body": "Dear customer, invoice 2041 is open."}
    task.tool_call("fc_a2", "call_a2", "send_email", letter)
    task.step_done("tool_calls", (205, 0, 83, 20))
    # The ungated call runs while the other waits for its decision.
    exact = json.dumps({"tool": "send_email", "arguments": letter}, sort_keys=True, separators=(",", ":"))
    digest = "sha256:" + hashlib.sha256(exact.encode()).hexdigest()
    task.event("action.required", {
        "actionType": "tool_permission", "toolName": "send_email", "prompt": "Send this letter to the customer?",
        "arguments": letter, "digest": digest, "decisions": ["approve", "edit", "reject"], "timeoutSeconds": 300},
        toolCallId="call_a2", actionId="act_a1")
    task.event("task.waiting", {"status": "waiting", "reason": "a decision is needed"})
    task.event("tool.started", {"toolName": "read_invoice", "safeArgs": {"number": 2041}}, toolCallId="call_a1")
    recording.wait(260)
    task.event("tool.failed", {"toolName": "read_invoice", "error": {
        "code": "backend_timeout", "message": "the invoice store did not answer within 250 ms", "category": "timeout",
        "retryable": True}}, toolCallId="call_a1")
    index = task.next_index()
    failed = {"type": "tool_result", "id": "fco_a1", "callId": "call_a1"}
    task.event("item.started", {"item": {**failed, "blockList": [], "status": "in_progress"}, "outputIndex": index},
               toolCallId="call_a1")
    said = "The tool read_invoice failed: the invoice store did not answer within 250 ms."
    task.event("item.completed", {"item": {**failed, "content": [text_block(said)], "blockList": [text_block(said)],
                                           "status": "incomplete", "isError": True}, "outputIndex": index},
               toolCallId="call_a1")
    recording.wait(3200)
    task.event("action.resolved", {"decision": "approve", "source": "user", "decidedBy": "anna",
                                   "message": "fine, send it", "always": False},
               toolCallId="call_a2", actionId="act_a1")
    task.event("task.resumed", {"status": "running"})
    task.tool_runs("call_a2", "send_email", {"to": letter["to"], "subject": letter["subject"]}, 310, "accepted for delivery")
    task.tool_result("fco_a2", "call_a2", [(1, "Message accepted for delivery to accounts@customer.example.")])
    task.step("scripted/clerk")
    answer = ("The reminder for invoice 2041 is on its way to accounts@customer.example [^1]. I could not read the "
              "invoice itself, because the invoice store did not answer in time, so the letter names only its number. "
              "Ask me to try again if the amount should be in it.")
    task.whole_message("msg_a1", answer, "clerk")
    task.step_done("stop", (398, 200, 70, 0))
    close_turn(task, answer, (603, 200, 153, 20))


def second_turn(recording):
    question = "Now write a long summary of all invoices of this year."
    task = open_turn(recording, "turn_a2", "task_a2", "run_a2", question, "clerk")
    task.step("scripted/clerk")
    task.reasoning("rs_a2", ["This will be long; I begin with the first quarter."])
    text = ("Here is the year so far. In January there were twelve invoices, of which eleven are paid; the open one is "
            "number 2041, for which a reminder went out today. In February there were nine, all of them paid within "
            "thirty days. In March there were fourteen, and two of them were sent back because of a wrong address.")
    index, done = task.message("msg_a2", text, "clerk", stop_after=34)
    task.scope.pop("stepId", None)
    task.event("task.cancel_requested", {"reason": "the user stopped the answer"})
    task.message_done(index, done)
    task.event("task.cancelled", {"status": "cancelled", "reason": "the user stopped the answer"})
    recording.event("turn.cancelled", {"mode": "immediate", "reason": "the user stopped the answer"},
                    threadId="main", turnId="turn_a2")


def main():
    stale = []
    for recording in (weather(), research_subagents(), approval()):
        path = HERE / f"{recording.name}.ndjson"
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != recording.text():
                stale.append(path.name)
        else:
            path.write_text(recording.text(), encoding="utf-8")
            print(f"{path.name}: {len(recording.lines)} events", file=sys.stderr)
    if stale:
        sys.exit(f"stale: {', '.join(stale)}; run {Path(__file__).name}")


if __name__ == "__main__":
    main()
