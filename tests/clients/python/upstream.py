"""A model service: it answers with the recorded bytes that the model's name names, and keeps what it was asked."""

import http.server
import json
import os
import pathlib
import threading

RECORDED = pathlib.Path(os.environ["RIVERRUN_SCENARIOS"], "../../provider").resolve()
APIS = {"responses": "openai", "completions": "chat", "messages": "anthropic"}
KINDS = {"openai": "openai", "chat": "openai-chat", "anthropic": "anthropic"}


class Upstream:
    def __init__(self):
        self.calls = []
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                upstream.calls.append((self.path, dict(self.headers), body))
                api = self.path.rsplit("/", 1)[-1]
                if api == "count_tokens":
                    return self.answer("application/json", b'{"input_tokens": 14}')
                recorded = RECORDED / APIS[api] / f"{body['model']}.sse"
                self.answer("text/event-stream", recorded.read_bytes())

            def answer(self, kind, data):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def config(self):
        """A riverrun.toml with a provider of each API, named as the API is."""
        url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        return "".join(f'[providers.{api}]\nkind = "{kind}"\nbase_url = "{url}"\n\n' for api, kind in KINDS.items())
