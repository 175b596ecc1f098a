"""A stub of Anthropic's Messages with one tool: with threads, or without them."""

import http.server
import json
import threading

TEXT = "It is 15C in Paris."


class Service:
    def __init__(self):
        self.calls = []
        self.held = {}
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                service.calls.append((dict(self.headers), body))
                status, kind, data = service.answer(body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def answer(self, body):
        messages, thread = list(body["messages"]), body.get("thread")
        if thread and thread["type"] == "continue":
            before = self.held.pop(thread["previous_message_id"], None)
            if before is None:
                details = {"error_code": "thread_not_found"}
                error = {"type": "not_found_error", "message": "No such thread.", "details": details}
                return 404, "application/json", json.dumps({"type": "error", "error": error}).encode()
            messages = before + messages
        identity = f"msg_service_{len(self.calls)}"
        content = messages[-1]["content"]
        has_result = isinstance(content, list) and any(block["type"] == "tool_result" for block in content)
        block = (
            {"type": "text", "text": TEXT}
            if has_result
            else {"type": "tool_use", "id": f"toolu_{len(self.calls)}", "name": "get_weather", "input": {"city": "Paris"}}
        )
        if thread:
            self.held[identity] = messages + [{"role": "assistant", "content": [block]}]
        return 200, "text/event-stream", stream(identity, block).encode()


def stream(identity, block):
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": identity, "type": "message", "role": "assistant", "model": "stub", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    if block["type"] == "text":
        opened, delta, stop = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}, "end_turn"
    else:
        partial = json.dumps(block["input"])
        opened, delta, stop = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": partial}, "tool_use"
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
