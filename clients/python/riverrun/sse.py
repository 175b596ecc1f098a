"""An incremental reader of `text/event-stream`.

Bytes may be split anywhere: inside a line end, inside a character, inside the byte order mark. The frames are the same
for every split. Nothing is replaced or dropped in silence: bytes that are not UTF-8, and lines or frames over the
limit, are errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import MalformedError

_LIMIT = 64 << 20
"""A snapshot travels as one line, so a line may be as large as a frame."""
_LINE_END = re.compile(rb"[\r\n]")


@dataclass(frozen=True, slots=True)
class SseFrame:
    """One dispatched frame."""

    data: str
    """The `data:` lines, joined by line feeds."""
    event: str | None = None
    """The `event:` name."""
    id: str | None = None
    """The last `id:` that was in effect when the frame ended."""
    retry: int | None = None
    """A `retry:` of this frame, in milliseconds."""


class SseParser:
    """Holds the unfinished line and the unfinished frame between two pieces of the body."""

    def __init__(self, line_bytes: int = _LIMIT, frame_bytes: int = _LIMIT) -> None:
        self._line_limit = line_bytes
        self._frame_limit = frame_bytes
        self._line = bytearray()
        self._after_cr = False
        """The last byte was a CR, so a LF that follows belongs to the same line end."""
        self._at_start = True
        """No line has ended yet, so a byte order mark may still open the stream."""
        self._data: list[str] = []
        self._frame_bytes = 0
        self._event: str | None = None
        self._id: str | None = None
        self._retry: int | None = None

    def push(self, data: bytes) -> list[SseFrame]:
        """Takes the next bytes and gives every frame that they complete. After an error it must be dropped."""
        frames: list[SseFrame] = []
        start = 1 if self._after_cr and data[:1] == b"\n" else 0
        if data:
            self._after_cr = False
        while (found := _LINE_END.search(data, start)) is not None:
            end = found.start()
            self._extend(data[start:end])
            self._end_line(frames)
            start = end + 1
            if data[end : end + 1] == b"\r":
                if data[start : start + 1] == b"\n":
                    start += 1
                self._after_cr = start == end + 1 == len(data)
        self._extend(data[start:])
        return frames

    @property
    def is_inside_frame(self) -> bool:
        """True when the stream stopped inside a frame: what was read of it must not be used."""
        return bool(self._line or self._data or self._event is not None)

    def _extend(self, part: bytes) -> None:
        if len(self._line) + len(part) > self._line_limit:
            raise MalformedError(f"a line of the stream is over {self._line_limit} bytes")
        self._line += part

    def _end_line(self, frames: list[SseFrame]) -> None:
        try:
            line = self._line.decode()
        except UnicodeDecodeError as error:
            raise MalformedError(f"a line of the stream is not UTF-8 at byte {error.start}") from None
        size = len(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix("\ufeff")
            self._at_start = False
        if line == "":
            self._end_frame(frames)
        else:
            self._field(line, size)

    def _field(self, line: str, size: int) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._frame_bytes += size
            if self._frame_bytes > self._frame_limit:
                raise MalformedError(f"a frame of the stream is over {self._frame_limit} bytes")
            self._data.append(value)
        elif name == "event":
            self._event = value or None
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = int(value)
        # A comment has an empty name; other names are for readers that know them.

    def _end_frame(self, frames: list[SseFrame]) -> None:
        event, self._event = self._event, None
        # A frame without data is not dispatched, but its pause holds for the next frame that is.
        if not self._data:
            return
        frames.append(SseFrame("\n".join(self._data), event, self._id, self._retry))
        self._data = []
        self._frame_bytes = 0
        self._retry = None
