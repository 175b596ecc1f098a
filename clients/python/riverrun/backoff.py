"""How long to wait before the next attempt."""

from __future__ import annotations

_FIRST = 0.2
_LONGEST = 10.0


def delay(attempt: int, wish: float | None, random: float) -> float:
    """The pause before attempt `attempt` (from 1), in seconds.

    It doubles, up to a limit, and is spread over its upper half by `random` in [0, 1), so that followers that were cut
    together do not come back together. A server's own wish is a lower bound.
    """
    doubled = min(_FIRST * 2 ** min(attempt - 1, 10), _LONGEST)
    half = doubled / 2
    return max(half + half * random, wish or 0.0)
