"""Places by id and counts, derived from a state: every event finds what it is about without a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from .contents import Item, blocks_of, call_id_of, id_of, references_of
from .scanner import Scanner

Key = TypeVar("Key", bound=Hashable)


class Derived:
    def __init__(self, state: dict[str, Any]) -> None:
        self.outputs = {task["taskId"]: Output(task) for task in state["tasks"]}
        self._rebuild(state)

    def forget(self, state: dict[str, Any], sealed: list[dict[str, Any]]) -> None:
        """After turns left the state: positions moved, what is derived of a task's output did not."""
        for task in sealed:
            self.outputs.pop(task["taskId"], None)
        self._rebuild(state)

    def _rebuild(self, state: dict[str, Any]) -> None:
        self.tasks = _places(state["tasks"], lambda task: task["taskId"])
        self.turns = _places(state["turns"], lambda turn: turn["turnId"])
        self.threads = _places(state["threads"], lambda thread: thread["threadId"])
        self.actions = _places(state["actions"], lambda action: action["actionId"])
        self.calls = _places(state["toolCalls"], lambda call: call["toolCallId"])
        """The newest call with the id."""
        self.calls_of_tasks = _places(state["toolCalls"], lambda call: (call["toolCallId"], call.get("taskId")))
        self.active_threads = sum("activeTurnId" in thread for thread in state["threads"])
        """Threads with an active turn."""
        self._callers: dict[str, Counter[int]] = {}
        for at, task in enumerate(state["tasks"]):
            for item in task["output"]:
                self.add_caller(at, item)
        self.pending = 0
        self._pending_by_turn: Counter[str] = Counter()
        self._pending_by_task: Counter[str] = Counter()
        for action in state["actions"]:
            if action["status"] == "pending":
                self.add_pending(action)

    def add_caller(self, task: int, item: Item) -> None:
        call = call_id_of(item)
        if call is not None:
            self._callers.setdefault(call, Counter())[task] += 1

    def remove_caller(self, task: int, item: Item) -> None:
        call = call_id_of(item)
        if call is not None and call in self._callers:
            decrease(self._callers[call], task)

    def caller(self, call: str) -> int | None:
        """The newest task whose output has a call or a result with this call id."""
        return max(self._callers.get(call, ()), default=None)

    def add_pending(self, action: dict[str, Any]) -> None:
        self.pending += 1
        if "turnId" in action:
            self._pending_by_turn[action["turnId"]] += 1
        for task in _waiting_tasks(action):
            self._pending_by_task[task] += 1

    def remove_pending(self, action: dict[str, Any]) -> None:
        self.pending -= 1
        if "turnId" in action:
            decrease(self._pending_by_turn, action["turnId"])
        for task in _waiting_tasks(action):
            decrease(self._pending_by_task, task)

    def turn_waits(self, turn_id: str) -> bool:
        return turn_id in self._pending_by_turn

    def waits_in(self, turn_id: str) -> int:
        """How many decisions a turn waits for."""
        return self._pending_by_turn.get(turn_id, 0)

    def task_waits(self, task_id: str) -> bool:
        return task_id in self._pending_by_task


class Output:
    """What is derived of one task's output."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.positions = {item_id: at for at, item in enumerate(task["output"]) if (item_id := id_of(item)) is not None}
        """Positions by item id."""
        self.references = Counter(number for item in task["output"] for number in references_of(item))
        """How often each number that can be cited stands in the results."""
        self.scanners: dict[int, list[Scanner]] = {}
        """The open items by position, with the citation scan of each of their blocks."""
        for position in (entry["position"] for entry in task.get("open", ())):
            item = task["output"][position]
            blocks = blocks_of(item) if item["type"] == "message" else []
            texts = (block["text"] if block["type"] == "text" else "" for block in blocks)
            self.scanners[position] = [Scanner.after(text) for text in texts]

    def scanner(self, position: int, part: int) -> Scanner | None:
        """The scan of a block of an open item."""
        scanners = self.scanners.get(position)
        if scanners is None:
            return None
        while len(scanners) <= part:
            scanners.append(Scanner())
        return scanners[part]


def decrease(counts: Counter[Key], key: Key) -> None:
    if counts[key] > 1:
        counts[key] -= 1
    else:
        counts.pop(key, None)


def _waiting_tasks(action: dict[str, Any]) -> set[str]:
    """An action makes its own task wait and the outermost one, which may be the same."""
    return {action[name] for name in ("taskId", "rootTaskId") if name in action}


def _places(of: Iterable[dict[str, Any]], key: Callable[[dict[str, Any]], Key]) -> dict[Key, int]:
    return {key(entry): at for at, entry in enumerate(of)}
