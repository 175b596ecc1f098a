"""An event being applied.

A step changes only what it owns. When the old state must stay as it was, it owns what it copied; when it may work in
place, it owns everything. The rules are the same code for both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..decode.event import DecodedEvent
from .contents import HAVE_BLOCKS, Block, Item
from .derived import Derived, Output
from .state import State

_KEPT_PROBLEMS = 32
"""How many problems are kept in full; older ones are only counted."""


class ItemAt(NamedTuple):
    """A place in a task's output."""

    task: int
    """Position in the state's tasks."""
    item: int
    """Position in the task's output."""


class Step:
    def __init__(self, state: State, event: DecodedEvent, derived: Derived, *, in_place: bool) -> None:
        self.state = state if in_place else State(state)
        self.event = event
        self.scope = event.scope
        self.derived = derived
        self.sealed: list[dict[str, Any]] = []
        # By identity; the objects are held, so that an identity is not used again.
        self._owned: dict[int, Any] | None = None if in_place else {}

    def own(self, holder: Any, key: Any) -> Any:
        """The object at this place, which may be changed."""
        value = holder[key]
        if self._owned is None or id(value) in self._owned:
            return value
        copy = value.copy()
        self._owned[id(copy)] = copy
        holder[key] = copy
        return copy

    def own_list(self, holder: dict[str, Any], key: str) -> list[Any]:
        """The list at this place, which may be changed; made if it is not there."""
        holder.setdefault(key, [])
        return self.own(holder, key)

    def entry(self, name: str, at: int) -> dict[str, Any]:
        """An entry of one of the state's lists, which may be changed."""
        return self.own(self.own(self.state, name), at)

    def push(self, name: str, entry: dict[str, Any]) -> int:
        """Puts an entry at the end of one of the state's lists."""
        entries = self.own(self.state, name)
        entries.append(entry)
        return len(entries) - 1

    def thread(self, at: int) -> dict[str, Any]:
        return self.entry("threads", at)

    def turn(self, at: int) -> dict[str, Any]:
        return self.entry("turns", at)

    def task(self, at: int) -> dict[str, Any]:
        return self.entry("tasks", at)

    def item(self, at: ItemAt) -> Item:
        return self.own(self.own(self.task(at.task), "output"), at.item)

    def block(self, at: ItemAt, part: int) -> Block:
        """A block that is there, which may be changed."""
        return self.own(self.own(self.item(at), "blockList"), part)

    # What is only looked at.

    def peek_task(self, at: int) -> dict[str, Any]:
        return self.state["tasks"][at]

    def peek_item(self, at: ItemAt) -> Item:
        return self.state["tasks"][at.task]["output"][at.item]

    def peek_block(self, at: ItemAt, part: int) -> Block | None:
        item = self.peek_item(at)
        blocks = item.get("blockList", ()) if item["type"] in HAVE_BLOCKS else ()
        return blocks[part] if part < len(blocks) else None

    def output(self, task: int) -> Output:
        return self.derived.outputs[self.peek_task(task)["taskId"]]

    # What happened.

    def change(self) -> None:
        """Counts a change of the state."""
        self.state["revision"] += 1

    def problem(self, code: str, detail: str) -> None:
        problems = self.own(self.state, "problems")
        problems["count"] += 1
        recent = self.own(problems, "recent")
        if len(recent) == _KEPT_PROBLEMS:
            recent.pop(0)
        recent.append({"sequence": self.event.sequence, "code": code, "detail": detail})
        self.change()


def put(holder: dict[str, Any], key: str, value: Any) -> None:
    """Sets a member, or takes it away."""
    if value is None:
        holder.pop(key, None)
    else:
        holder[key] = value


def put_if_told(holder: dict[str, Any], key: str, value: Any) -> None:
    """Sets a member unless there is nothing to set."""
    if value is not None:
        holder[key] = value
