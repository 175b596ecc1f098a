"""What the tests share: where the server is, and a session's log as the server tells it."""

import json
import os
import time
import urllib.error
import urllib.request

BASE = os.environ["RIVERRUN_URL"].rstrip("/")
KEY = os.environ["RIVERRUN_KEY"]
FAULT = "x-riverrun-fault"


def spoilt(library, body):
    """A client of that HTTP library which sends another body than the SDK wrote."""

    class Spoil(library.HTTPTransport):
        def handle_request(self, request):
            headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
            return super().handle_request(library.Request(request.method, request.url, headers=headers, content=body))

    return library.Client(transport=Spoil(), timeout=30)


def approve_next(session=None):
    """Approves what waits, once something does."""
    for _ in range(200):
        _, waiting = request("GET", "/v1/actions?status=pending")
        for action in waiting["actions"]:
            if session in (None, action["sessionId"]):
                path = f"/v1/sessions/{action['sessionId']}/actions/{action['actionId']}"
                return request("POST", path, {"decision": "approve", "digest": action["digest"]})
        time.sleep(0.05)
    raise AssertionError("nothing waits for a decision")


def request(method, path, body=None, **headers):
    """The answer of the native API: its status and its JSON."""
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(BASE + path, data=data, method=method)
    call.add_header("authorization", f"Bearer {KEY}")
    call.add_header("accept", "application/json")
    if data is not None:
        call.add_header("content-type", "application/json")
    for name, value in headers.items():
        call.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(call, timeout=30) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")
