"""A small MCP server on standard input and output, written by hand so that it can also misbehave.

The first argument is how: `good`, or one of the modes below. The second is a file to write down what it saw.
"""

import json
import os
import sys
import time

MODE, NOTES = sys.argv[1], sys.argv[2]


WAITING = []


def note(word):
    with open(NOTES, "a") as notes:
        notes.write(word + "\n")


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def raw(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def text(words):
    return {"content": [{"type": "text", "text": words}]}


ANY = {"type": "object"}
ECHO = {
    "name": "echo",
    "description": "Says it again.",
    "inputSchema": {"type": "object", "properties": {"say": {"type": "string"}}, "required": ["say"]},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
TOOLS = [
    [ECHO, {"name": "files.read", "inputSchema": ANY, "annotations": {"destructiveHint": False, "idempotentHint": True}}],
    [{"name": name, "inputSchema": ANY} for name in ("boom", "fail", "wait", "steps", "kinds", "change", "crash", "big", "chatty", "both", "paint")],
    [
        {"name": "a b", "inputSchema": ANY},
        {"name": "a\u202eb", "inputSchema": ANY},
        {"name": "x" * 10240, "inputSchema": ANY},
        {"name": "files/read", "inputSchema": ANY},
        {"name": "remote", "inputSchema": {"$ref": "http://127.0.0.1:1/s.json"}},
        {"name": "endless", "inputSchema": {"$ref": "#"}},
        {"name": "shapeless", "inputSchema": 7},
        {"name": "", "inputSchema": ANY},
    ],
]

BROKEN = {
    "surrogate": '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\ud800"}]}}',
    "no_result": '{"jsonrpc":"2.0","id":%d}',
    "deep": '{"jsonrpc":"2.0","id":%d,"result":{"content":' + "[" * 200 + "]" * 200 + "}}",
    "half": '{"jsonrpc":"2.0","id":%d,"result":{"content":[',
}


def call(request):
    name, arguments = request["params"]["name"], request["params"].get("arguments", {})
    token = request["params"].get("_meta", {}).get("progressToken")
    note("call " + name)
    note("key " + request["params"].get("_meta", {}).get("riverrun/idempotencyKey", ""))
    if name == "echo":
        return text(arguments["say"])
    if name == "files.read":
        return text("read")
    if name == "fail":
        return {**text("it did not work"), "isError": True}
    if name == "steps":
        for step in (1, 2):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 2, "message": f"step {step}"}})
        time.sleep(0.3)
        return text("two steps")
    if name == "paint":
        drafts = [{"_meta": {"riverrun/partial": {"type": "image", "mimeType": "image/png", "data": "AAAA"}}},
                  {"message": json.dumps({"message": "half", "partial": {"type": "text", "text": "so"}, "block_index": 1})},
                  {"_meta": {"riverrun/partial": {"type": "html", "text": "<b>x</b>"}, "riverrun/blockIndex": 2}},
                  {"message": "{not a draft}", "_meta": {"riverrun/partial": 7}}]
        for step, draft in enumerate(drafts):
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, **draft}})
            time.sleep(0.05)
        time.sleep(0.3)
        return text("painted")
    if name == "chatty":
        for level, data in (("debug", "noise"), ("info", "looking"), ("warning", {"msg": "slow disk"}), ("error", [1, 2])):
            send({"method": "notifications/message", "params": {"level": level, "logger": "disk", "data": data}})
        time.sleep(0.3)
        return text("said")
    if name == "both":
        # Answers when a second call is there, so that two are open while it speaks.
        WAITING.append(request["id"])
        if len(WAITING) < 2:
            return None
        send({"method": "notifications/message", "params": {"level": "info", "data": "whose?"}})
        time.sleep(0.3)
        for waiting in WAITING:
            send({"id": waiting, "result": text("both")})
        return None
    if name == "kinds":
        return {"content": [{"type": "image", "mimeType": "image/png", "data": "iVBO"},
                            {"type": "from_the_future", "x": 1}],
                "structuredContent": {"n": 1}}
    if name == "change":
        send({"method": "notifications/tools/list_changed"})
        return text("changed")
    if name == "big":
        return text("x" * 300000)
    if name == "crash":
        sys.exit(3)
    if name == "wait":
        if MODE == "hangs":
            time.sleep(600)
        return None
    raise KeyError(name)


def answer(request):
    method = request.get("method")
    if method == "initialize":
        note("initialize")
        if MODE == "mute":
            return
        if MODE == "crash_at_start":
            sys.exit(1)
        return {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "by hand", "version": "1"}}
    if method == "tools/list":
        if MODE == "endless_pages":
            return {"tools": [ECHO], "nextCursor": request.get("params", {}).get("cursor", "") + "x"}
        page = int(request.get("params", {}).get("cursor") or 0)
        more = {"nextCursor": str(page + 1)} if page + 1 < len(TOOLS) else {}
        return {"tools": TOOLS[page], **more}
    if method == "tools/call":
        if MODE == "noisy":
            raw("starting up...\n{not json}\n\n[1,2]\n")
            send({"id": 999, "result": text("for nobody")})
            send({"id": "what", "error": {"code": -1, "message": "for nobody"}})
        if MODE == "garbage":
            raw("log line\n" * 150)
        if MODE == "huge":
            raw("x" * 3_000_000)
            time.sleep(30)
        if MODE in BROKEN:
            raw(BROKEN[MODE] % request["id"] + "\n")
            return None
        if MODE == "nonsense":
            return {"tools": 5}
        return call(request)
    if method == "ping":
        return {}
    if method == "notifications/cancelled":
        note("cancelled")


note(f"pid {os.getpid()}")
print("a line with a s3cret", file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        result = answer(request)
        if result is not None and "id" in request:
            send({"id": request["id"], "result": result})
    except KeyError as error:
        send({"id": request["id"], "error": {"code": -32602, "message": f"no tool {error}"}})
note("end of input")
