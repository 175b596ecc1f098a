"""An MCP server that can be killed and started again: `stdio TOOLS NOTES`, or `http TOOLS NOTES PORT`.

TOOLS is a file with a tool's name in each line; NOTES is a file to which the process adds its id.
Every tool answers with its name and arguments. `crash` ends the process, `big` answers with three million letters.
Over HTTP there are more ways to answer, below.
"""

import json
import os
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS, NOTES = sys.argv[2], sys.argv[3]
BOTH = threading.Barrier(2)


def listed():
    with open(TOOLS) as tools:
        return [{"name": name, "inputSchema": {"type": "object"}} for name in tools.read().split()]


def result(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": listed()}
    if method == "tools/call":
        name = params["name"]
        if name == "crash":
            os._exit(1)
        words = "x" * 3_000_000 if name == "big" else f"{name} {json.dumps(params.get('arguments'))}"
        return {"content": [{"type": "text", "text": words}]}
    return {}


def answer(message):
    return {"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params") or {})}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = set()

    def reply(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = [("content-type", "application/json")]
        if message.get("method") == "initialize":
            session = uuid.uuid4().hex
            self.sessions.add(session)
            headers.append(("mcp-session-id", session))
        elif self.headers.get("mcp-session-id") not in self.sessions:
            return self.reply(404)
        if "id" not in message:
            return self.reply(202)
        if message["method"] == "tools/call" and self.misbehaves(message["params"]["name"], message):
            return
        self.reply(200, json.dumps(answer(message)).encode(), headers)

    def misbehaves(self, tool, message):
        """Over HTTP, some names are ways to answer a call that no client can make sense of."""
        kind = {"html": "text/html", "words": "application/json", "broken": "application/json", "stream": "text/event-stream"}
        status = {"s500": 500, "s403": 403, "s503": 503, "s202": 202}
        if tool in status:
            self.reply(status[tool], b"oops", [("content-type", "text/plain")])
        elif tool == "broken":
            self.send_response(200)
            self.send_header("content-type", kind[tool])
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b"{")
            self.close_connection = True
        elif tool == "cut":
            self.close_connection = True
        elif tool == "stream":
            self.send_response(200)
            self.send_header("content-type", kind[tool])
            self.send_header("connection", "close")
            self.end_headers()
            try:
                for _ in range(40):
                    self.wfile.write(b"data: " + b"x" * 1_000_000)
            except OSError:
                pass
            self.close_connection = True
        elif tool in kind:
            self.reply(200, b"<html>", [("content-type", kind[tool])])
        elif tool in ("tells_a", "tells_b"):
            self.tells(tool, message)
        else:
            return False
        return True

    def tells(self, tool, message):
        """Two calls that are open together, each with a line of log on its own stream."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        BOTH.wait(10)
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": tool}}
        for said in (note, answer(message)):
            self.wfile.write(f"data: {json.dumps(said)}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.3)
        self.close_connection = True

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        self.reply(200)

    def log_message(self, *_):
        pass


with open(NOTES, "a") as notes:
    notes.write(f"{os.getpid()}\n")

if sys.argv[1] == "stdio":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps(answer(message)), flush=True)
else:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[4])), Handler).serve_forever()
