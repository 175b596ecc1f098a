"""A model service on a real socket, for the gateway: Gemini's API. The model's name says how it behaves."""

import http.server
import json
import threading


class Service:
    """Serves until it is stopped; `calls` are the paths and bodies that came, in order."""

    def __init__(self):
        calls = self.calls = []

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                calls.append((self.path, body))
                model, method = self.path.rsplit("/", 1)[1].split(":")
                if model == "limit":
                    error = {"code": 429, "message": "Slow down please", "status": "RESOURCE_EXHAUSTED"}
                    return self.say(429, "application/json", json.dumps({"error": error}), **{"retry-after": "600"})
                if method == "countTokens":
                    return self.say(200, "application/json", json.dumps({"totalTokens": 7}))
                chunks = [chunk("Hello "), chunk("there."), chunk("", "STOP")]
                return self.say(200, "text/event-stream", "".join(f"data: {json.dumps(one)}\n\n" for one in chunks))

            def say(self, status, kind, text, **headers):
                self.send_response(status)
                for name, value in {"content-type": kind, "content-length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1beta"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def chunk(text, reason=None):
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": "m"}
