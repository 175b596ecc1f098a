"""Hosted turns for the tests of dialects that nobody ships a client for: a scenario, a server, and its frames."""

import json
import pathlib
import tempfile
import time
import urllib.request

from server import Server


class Hosted:
    """A server whose agent `main` plays `scenario` with the tools of `config`."""

    def __init__(self, scenario, config):
        self.files = tempfile.TemporaryDirectory(prefix="riverrun-hosted-")
        script = pathlib.Path(self.files.name, "main.toml")
        script.write_text(scenario)
        self.server = Server(f'[scripts]\nfiles = ["{script}"]\n\n{config}')

    def stop(self):
        self.server.stop()
        self.files.cleanup()

    def call(self, method, path, body=None, accept="application/json", headers=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server.url + path, data=data, method=method)
        request.add_header("authorization", f"Bearer {self.server.key}")
        request.add_header("accept", accept)
        request.add_header("content-type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def run(self, headers=None, end="completed", **body):
        """A turn in a session of its own, to its end: the session and what the answer named."""
        session = json.loads(self.call("POST", "/v1/sessions", {}))["sessionId"]
        body = {"agent": "main", "input": "go"} | body
        turn = json.loads(self.call("POST", f"/v1/sessions/{session}/turns", body, headers=headers))
        for _ in range(400):
            if f'"turn.{end}"' in self.call("GET", f"/v1/sessions/{session}/events?follow=false&types=turn.*",
                                             accept="application/x-ndjson"):
                return session, turn
            time.sleep(0.05)
        raise AssertionError("the turn did not end in twenty seconds")

    def frames(self, session, dialect, query=""):
        """The frames of a dialect from the beginning, without those of the stream itself."""
        path = f"/v1/sessions/{session}/events?follow=false&dialect={dialect}{query}"
        lines = self.call("GET", path, accept="application/x-ndjson").splitlines()
        frames = [json.loads(line) for line in lines if line]
        return [frame for frame in frames if not frame["type"].startswith("stream.")]
