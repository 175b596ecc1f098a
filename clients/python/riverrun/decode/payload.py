"""Reads a payload by the form of its type, as the server does.

What does not fit is an error with a path, snake_case names become camelCase, members that are not known are left out,
and values of unknown types are kept as they came.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ..generated.shapes import PAYLOADS, SHAPES

_ID = re.compile(r"[A-Za-z0-9_.:~@+=-]{1,128}", re.ASCII)
_DEEPEST = 100
"""Values inside values inside values: more levels than any sender needs."""
_TAG_ALIASES = {"image_url": "image", "input_image": "image", "output_image": "image"}
"""Other spellings of a block's tag."""

Read = Callable[[Any, str, int], Any]
"""Reads a value at a path, this many unions deep."""


class PayloadError(Exception):
    """A payload that does not have the form of its type."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(f"{path}: expected {expected}")
        self.path = path
        self.expected = expected


def is_known_type(kind: str) -> bool:
    return kind in PAYLOADS


def is_id(value: Any) -> bool:
    """Ids are safe in a path segment, a header and a log line; `.` and `..` have a meaning of their own there."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None and value.strip(".") != ""


def read_payload(kind: str, payload: Any) -> dict[str, Any]:
    """Reads the payload of a type that is known here. An absent payload reads like `{}`."""
    return reader(PAYLOADS[kind])(camel_payload(kind, {} if payload is None else payload), "payload", 0)


def camel_payload(kind: str, payload: Any) -> Any:
    """The payload with the snake_case spellings of known members in camelCase; everything else as it came."""
    if kind not in PAYLOADS or not isinstance(payload, dict):
        return payload
    shape = SHAPES[PAYLOADS[kind]]
    out: dict[str, Any] = {}
    for key, value in payload.items():
        name = camel_case(key) if "_" in key else key
        if name not in shape["needed"] and name not in shape["optional"]:
            name = key
        if name in out:
            raise PayloadError(f"payload.{name}", "one spelling, found two")
        out[name] = value
    return out


def camel_case(name: str) -> str:
    """`event_id` → `eventId`; a name without `_` is itself."""
    if "_" not in name or name.startswith("_"):
        return name
    return re.sub(r"_+([^_]?)", lambda found: found[1].upper(), name)


@cache
def reader(form: str) -> Read:
    """The reader of a form, made once."""
    if form in _PLAIN:
        return _PLAIN[form]
    if form.endswith("?"):
        inner = reader(form[:-1])
        return lambda value, path, depth: None if value is None else inner(value, path, depth)
    if form.startswith("["):
        return _list_reader(form[1:-1])
    shape = SHAPES[form]
    if "tags" in shape:
        return _union_reader(form, shape["tags"])
    if "words" in shape:
        words = tuple(shape["words"])
        return _check(f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words)
    if "either" in shape:
        return _either_reader(form, shape["either"])
    if form == "Reward":
        return _reward_reader(object_reader(shape))
    return _image_url_reader(object_reader(shape)) if form == "ImageUrl" else object_reader(shape)


def _check(expected: str, fits: Callable[[Any], bool]) -> Read:
    def read(value: Any, path: str, depth: int) -> Any:
        if not fits(value):
            raise PayloadError(path, expected)
        return value

    return read


def _integer(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) <= sys.float_info.max)


_PLAIN: dict[str, Read] = {
    "text": _check("a string", lambda value: isinstance(value, str)),
    "boolean": _check("a boolean", lambda value: isinstance(value, bool)),
    "number": _check("a number", _is_number),
    "u32": _check("an integer from 0 below 2^32", _integer(0, 2**32 - 1)),
    "u64": _check("an integer from 0 below 2^64", _integer(0, 2**64 - 1)),
    "i64": _check("an integer below 2^63", _integer(-(2**63), 2**63 - 1)),
    "json": lambda value, path, depth: value,
    "id": _check("an id", is_id),
}


def _list_reader(inner: str) -> Read:
    def read(value: Any, path: str, depth: int) -> Any:
        if not isinstance(value, list):
            raise PayloadError(path, "an array")
        return [reader(inner)(entry, f"{path}[{at}]", depth) for at, entry in enumerate(value)]

    return read


class _Member(NamedTuple):
    name: str
    snake: str
    form: str
    needed: bool

    @property
    def is_patch(self) -> bool:
        """Null has a meaning of its own here."""
        return self.form.endswith("?")


def object_reader(shape: dict[str, Any]) -> Read:
    """A reader of objects of this shape."""

    def snake(name: str) -> str:
        return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)

    members = [_Member(name, snake(name), form, True) for name, form in shape["needed"].items()]
    members += [_Member(name, snake(name), form, False) for name, form in shape["optional"].items()]

    def read(value: Any, path: str, depth: int) -> Any:
        if not isinstance(value, dict):
            raise PayloadError(path, "an object")
        out: dict[str, Any] = {}
        for member in members:
            key = _spelling(member, value, path)
            if key is None or (value[key] is None and not member.needed and not member.is_patch):
                continue
            out[member.name] = reader(member.form)(value[key], f"{path}.{member.name}", depth)
        return out

    return read


def _spelling(member: _Member, value: dict[str, Any], path: str) -> str | None:
    """The name that the member has in this object; None if it is not there and need not be."""
    if member.snake != member.name and member.snake in value:
        if member.name in value:
            raise PayloadError(f"{path}.{member.name}", "one spelling, found two")
        return member.snake
    if member.name in value:
        return member.name
    if member.needed:
        raise PayloadError(path, f"an object with `{member.name}`")
    return None


def _union_reader(name: str, tags: dict[str, str]) -> Read:
    def read(value: Any, path: str, depth: int) -> Any:
        if depth >= _DEEPEST:
            raise PayloadError(path, f"values that nest at most {_DEEPEST} levels")
        if not isinstance(value, dict):
            raise PayloadError(path, "an object")
        if "type" not in value:
            raise PayloadError(path, "an object with `type`")
        tag = value["type"]
        if not isinstance(tag, str):
            raise PayloadError(f"{path}.type", "a string")
        if name == "Block":
            tag = _TAG_ALIASES.get(tag, tag)
        if tag not in tags:
            return value
        return {"type": tag, **reader(tags[tag])(value, path, depth + 1)}

    return read


def _either_reader(name: str, forms: list[str]) -> Read:
    """The forms of one of these differ by the kind of JSON value: a string, an array, an object."""

    def read(value: Any, path: str, depth: int) -> Any:
        for form in forms:
            kind = str if form == "text" else list if form.startswith("[") else dict
            if isinstance(value, kind):
                return reader(form)(value, path, depth)
        raise PayloadError(path, f"a form of {name}")

    return read


def _image_url_reader(object_form: Read) -> Read:
    """Some senders write the address alone."""
    return lambda value, path, depth: {"url": value} if isinstance(value, str) else object_form(value, path, depth)


def _reward_reader(object_form: Read) -> Read:
    """Some senders write the number alone."""
    return lambda value, path, depth: {"value": value} if _is_number(value) else object_form(value, path, depth)
