"""What the tests share: where the server is, and a session's log as the server tells it."""

import json
import os
import urllib.error
import urllib.request

BASE = os.environ["RIVERRUN_URL"].rstrip("/")
KEY = os.environ["RIVERRUN_KEY"]
FAULT = "x-riverrun-fault"


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
