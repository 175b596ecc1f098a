"""States that came over the wire."""

from __future__ import annotations

from .fold import State, adopt, from_snapshot
from .frame import FollowedSnapshot


def adopted(state: State, snapshot: FollowedSnapshot) -> State:
    """Goes on from a snapshot; of another log nothing is kept."""
    after = from_snapshot(snapshot.state)
    return after if snapshot.is_of_new_log else adopt(state, after)
