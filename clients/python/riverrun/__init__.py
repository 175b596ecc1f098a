"""Follow, fold and feed Riverrun sessions.

The fold is in `riverrun.fold` and needs nothing but Python.
`Riverrun` and `AsyncRiverrun` need `httpx`: `pip install riverrun[client]`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .calls import ProducerStamp
from .decode import DecodeError, PayloadError
from .errors import ConnectionLostError, GapError, MalformedError, ProblemError, RiverrunError, UnreachableError
from .fold import State
from .follower import Update
from .frame import FollowedEvent, FollowedSnapshot, Opened, is_known
from .generated.events import Event, KnownEvent
from .machine import ConnectionState, Machine
from .options import FollowOptions
from .sse import SseFrame, SseParser

if TYPE_CHECKING:
    from .async_client import AsyncRiverrun
    from .client import Riverrun
    from .follow import AsyncFollow, Follow

__all__ = [
    "AsyncFollow",
    "AsyncRiverrun",
    "ConnectionLostError",
    "ConnectionState",
    "DecodeError",
    "Event",
    "Follow",
    "FollowOptions",
    "FollowedEvent",
    "FollowedSnapshot",
    "GapError",
    "KnownEvent",
    "Machine",
    "MalformedError",
    "Opened",
    "PayloadError",
    "ProblemError",
    "ProducerStamp",
    "Riverrun",
    "RiverrunError",
    "SseFrame",
    "SseParser",
    "State",
    "UnreachableError",
    "Update",
    "is_known",
]


_OVER_HTTP = {"Riverrun": "client", "AsyncRiverrun": "async_client", "Follow": "follow", "AsyncFollow": "follow"}


def __getattr__(name: str) -> Any:
    """What needs `httpx` is imported when it is asked for."""
    if name not in _OVER_HTTP:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_OVER_HTTP[name]}")
    except ModuleNotFoundError as error:
        if error.name == "httpx":
            raise ImportError(f"{name} needs httpx: pip install 'riverrun[client]'") from error
        raise
    return getattr(module, name)
