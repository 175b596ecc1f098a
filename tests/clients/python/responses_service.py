"""A model service with the Responses API and tools of its own: the model's name chooses the items that it plays."""

import http.server
import json
import re
import threading


def message(text):
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def events(model, items):
    """The events of a response with these items, each of them added and done."""
    response = {"id": "resp_1", "object": "response", "created_at": 1767268800, "model": model, "status": "in_progress",
                "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    usage = {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 3,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 10}
    found = [{"type": "response.created", "response": response}, {"type": "response.in_progress", "response": response}]
    for index, item in enumerate(items):
        found += [{"type": f"response.{part}", "output_index": index} | rest for part, rest in inside(item)]
    if model.startswith("gpt-failing"):
        error = {"code": "invalid_prompt", "message": "no", "of_next_year": [1.5, None]}
        found.append({"type": "response.of_next_year.delta", "delta": {"a": [1]}})
        found.append({"type": "response.failed", "response": response | {"status": "failed", "error": error}})
    else:
        completed = response | {"status": "completed", "output": items, "usage": usage}
        found.append({"type": "response.completed", "response": completed})
    return [event | {"sequence_number": number} for number, event in enumerate(found)]


def inside(item):
    """The events of one item: their types and members."""
    at = {"item_id": item["id"]}
    if item["type"] != "message":
        yield "output_item.added", {"item": item}
        if item["type"] in ("web_search_call", "mcp_list_tools", "mcp_call"):
            yield f"{item['type']}.completed", at
        yield "output_item.done", {"item": item}
        return
    [part], at = item["content"], at | {"content_index": 0}
    yield "output_item.added", {"item": item | {"status": "in_progress", "content": []}}
    yield "content_part.added", at | {"part": part | {"text": ""}}
    for number, word in enumerate(re.findall(r"\S+\s*", part["text"])):
        yield "output_text.delta", at | {"delta": word, "logprobs": [], "obfuscation": "x" * (number % 5)}
    yield "output_text.done", at | {"text": part["text"], "logprobs": []}
    yield "content_part.done", at | {"part": part}
    yield "output_item.done", {"item": item}


class ResponsesService:
    """`plays` has the items of each model by its name; a request that brings an output back is answered with a text."""

    def __init__(self, plays):
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                requests.append(body)
                kinds = [item.get("type", "") for item in body["input"] if isinstance(item, dict)]
                is_answered = any(kind in ("computer_call_output", "mcp_approval_response") for kind in kinds)
                items = [message("Done.")] if is_answered else plays[body["model"]]
                frames = [(event["type"], json.dumps(event)) for event in events(body["model"], items)]
                data = "".join(f"event: {kind}\ndata: {text}\n\n" for kind, text in frames).encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.key = "service"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
