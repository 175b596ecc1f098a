"""The one tolerant decoder: camelCase or snake_case, unknown members and unknown types kept as they came."""

from .envelope import envelope
from .event import DecodedEvent, DecodeError, decode
from .payload import PayloadError, read_payload

__all__ = ["DecodeError", "DecodedEvent", "PayloadError", "decode", "envelope", "read_payload"]
