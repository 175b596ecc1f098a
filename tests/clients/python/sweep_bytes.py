"""The same turn has the same bytes in every dialect: asked twice, and of another process after a restart."""

import re
import sys

from server import Server

server = Server()
server.environment()

from recorded import EVERYTHING, Report, chosen, play  # noqa: E402: they read the environment
from support import request  # noqa: E402

report = Report("bytes")


def dialects(session):
    """Every name that the refusal of an unknown one lists."""
    _, refusal = request("GET", f"/v1/sessions/{session}/events?dialect=none-such")
    return refusal["detail"].split("there are:")[1].replace("`", "").replace(" ", "").split(",")


def projected(turn, dialect, **query):
    answer = turn.open(dialect, follow="false", **query)
    try:
        # When to come back depends on how many are here, so that not all come at once; the rest is the log's.
        return re.sub(rb"^retry: \d+\n", b"", answer.read())
    finally:
        answer.close()


def all_bytes(turn, names):
    ways = [{}, {"catchup": "snapshot"}]
    return {(name, *way): projected(turn, name, **way) for name in names for way in ways}


def sweep(names_and_agents):
    turns = {label: play(agent) for label, agent in names_and_agents}
    names = dialects(next(iter(turns.values())).session)
    before = {label: all_bytes(turn, names) for label, turn in turns.items()}
    for label, turn in turns.items():
        again = all_bytes(turn, names)
        for way, body in before[label].items():
            report.check(len(body) > 0, f"{label} {way}: there is nothing")
            report.equal(again[way], body, f"{label} {way}: asked again")
    server.stop()
    server.start()
    for label, turn in turns.items():
        for way, body in all_bytes(turn, names).items():
            report.equal(body, before[label][way], f"{label} {way}: after a restart")


try:
    sweep(chosen(sys.argv, EVERYTHING).items())
finally:
    server.stop()
report.end()
