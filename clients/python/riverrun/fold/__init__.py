"""The fold: events in, one JSON state out. It reads no clock and does no I/O."""

from .adopt import adopt
from .apply import Applied, Density, Folder, Outcome, apply, fold, from_snapshot
from .scanner import Marker, Scanner
from .state import WINDOW, State, empty_state
from .status import STATUSES, is_terminal, is_waiting, parse_status

__all__ = [
    "STATUSES",
    "WINDOW",
    "Applied",
    "Density",
    "Folder",
    "Marker",
    "Outcome",
    "Scanner",
    "State",
    "adopt",
    "apply",
    "empty_state",
    "fold",
    "from_snapshot",
    "is_terminal",
    "is_waiting",
    "parse_status",
]
