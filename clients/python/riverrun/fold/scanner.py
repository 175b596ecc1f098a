"""Finds `[^1]` in text that arrives in pieces.

A marker may be split over any number of pieces. Inside code (a run of backticks up to the same run, or up to a blank
line if it has fewer than three) a marker is code, not a citation.
"""

from __future__ import annotations

from typing import NamedTuple

_MAX_DIGITS = 9
"""Longer numbers are not citations."""
_SPACE = frozenset("\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000") | {*map(chr, range(0x2000, 0x200B))}
"""Unicode's White_Space, which is not what `str.isspace` means."""


class Marker(NamedTuple):
    """A marker in the text: `[start, end)` in code points."""

    number: int
    start: int
    end: int


class Scanner:
    """Where the scan of one text stands."""

    __slots__ = ("_code", "_digits", "_line_is_blank", "_number", "_run", "_start", "seen")

    def __init__(self) -> None:
        self.seen = 0
        """Code points that were seen."""
        self._start: int | None = None
        """Where the bracket stands that we are behind; None in plain text."""
        self._digits = -1
        """How many digits came behind `[^`; -1 before the `^`."""
        self._number = 0
        self._code = 0
        """Length of the run of backticks that opened the code we are in; 0 outside code."""
        self._run = 0
        """Length of the run of backticks that we are in the middle of."""
        self._line_is_blank = False

    @classmethod
    def after(cls, text: str) -> Scanner:
        """The scanner that has seen all of this text. What it found was annotated, or refused, before."""
        scanner = cls()
        scanner.scan(text)
        return scanner

    def scan(self, piece: str) -> list[Marker]:
        """Goes on with the piece that comes next."""
        found: list[Marker] = []
        for character in piece:
            self._step(character, found)
            self.seen += 1
        return found

    def _step(self, character: str, found: list[Marker]) -> None:
        if character == "`":
            self._run += 1
            self._start = None
            self._line_is_blank = False
            return
        self._end_run()
        self._end_line(character)
        if self._code > 0:
            self._start = None
        else:
            self._next_place(character, found)

    def _end_run(self) -> None:
        if self._run == 0:
            return
        if self._code == 0:
            self._code = self._run
        elif self._code == self._run:
            self._code = 0
        self._run = 0

    def _end_line(self, character: str) -> None:
        """A blank line ends a paragraph, and with it code that was opened by one or two backticks."""
        if character == "\n":
            if self._line_is_blank and self._code < 3:
                self._code = 0
            self._line_is_blank = True
        elif self._line_is_blank and character not in _SPACE:
            self._line_is_blank = False

    def _next_place(self, character: str, found: list[Marker]) -> None:
        if character == "[":
            self._start, self._digits, self._number = self.seen, -1, 0
        elif self._start is None:
            return
        elif self._digits < 0 and character == "^":
            self._digits = 0
        elif 0 <= self._digits < _MAX_DIGITS and "0" <= character <= "9":
            self._number = self._number * 10 + int(character)
            self._digits += 1
        else:
            if character == "]" and self._digits > 0:
                found.append(Marker(self._number, self._start, self.seen + 1))
            self._start = None
