"""Makes a session, tells it four events, and follows them. Needs `riverrun serve` in this folder or RIVERRUN_KEY."""

import os
from pathlib import Path

from riverrun import Riverrun, is_known

key = os.environ.get("RIVERRUN_KEY") or Path(".riverrun/admin.key").read_text().strip()
with Riverrun(key=key) as riverrun:
    session_id = riverrun.create_session(title="hello")["sessionId"]
    riverrun.append(
        session_id,
        [
            {"type": "turn.started", "turnId": "turn_1"},
            {"type": "model.delta", "turnId": "turn_1", "payload": {"delta": "Hello, "}},
            {"type": "model.delta", "turnId": "turn_1", "payload": {"delta": "world."}},
            {"type": "turn.completed", "turnId": "turn_1"},
        ],
    )
    for event in riverrun.events(session_id, turn="turn_1"):
        if is_known(event) and event["type"] == "model.delta":
            print(event["payload"]["delta"], end="", flush=True)
    print()
    print(riverrun.state(session_id)["turns"][0]["status"])
