"""Checks that schemathesis makes of each answer beside its own. Loaded by `SCHEMATHESIS_HOOKS`.

schemathesis' own `positive_data_acceptance` counts every 400 and 422 as a wrong refusal. A schema says which requests are
well formed, not which keys, ids and cursors exist, so this check looks at why a request was refused.
"""

import json

import schemathesis
from schemathesis.core.failures import Failure

# Refusals of what a well-formed request means. Everything else is a refusal of its form.
MEANING = {
    "bad_cursor": "a cursor of another session, or ahead of the log",
    "bad_ref": "a blob that nobody stored",
    "cursor_conflict": "`after` is ahead of `Last-Event-ID`",
    "cursor_wrong_run": "a cursor of another session",
    "idempotency_mismatch": "an Idempotency-Key that was used with another body",
    "invalid_decision": "a decision that the action does not offer",
    "unknown_agent": "an agent that is not there",
    "url_blocked": "an address that is not public",
}
# Headers and members that need or exclude each other, for which OpenAPI has no words that generators understand: the
# three of a producer, what belongs to a decision, and an input that is empty without `endOfInput`.
TOGETHER = {"Producer-Id", "Producer-Epoch", "Producer-Seq", "arguments", "response", "always", "digest", "text"}

# Ids of something that must be there, or be the one in the path.
NAMING = {"parentTaskId", "targetId", "sessionId", "pageToken"}
# What a document cannot say of one operation: a body of bytes is not empty, and only some models count tokens.
OF_ONE = {"/v1/blobs": b"body_empty", "/v1/messages/count_tokens": b"cannot be counted"}


@schemathesis.serializer("application/x-ndjson")
def ndjson(_ctx, value):
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else json.dumps(value).encode()


def why(response):
    """The code of a refusal and the field that it names, in whichever shape it came."""
    try:
        body = json.loads(response.content)
    except ValueError:
        return None, None
    if not isinstance(body, dict):
        return None, None
    error = body.get("error") if isinstance(body.get("error"), dict) else {}
    for detail in error.get("details") or []:
        for violation in detail.get("fieldViolations", []):
            return error.get("status"), violation.get("field")
    return body.get("code") or error.get("code") or error.get("type"), body.get("field") or error.get("field")


def has_written_out_integer(value):
    """JSON Schema counts 1.0 as an integer; the server takes integers without a fraction only."""
    if isinstance(value, dict):
        return any(map(has_written_out_integer, value.values()))
    if isinstance(value, list):
        return any(map(has_written_out_integer, value))
    return isinstance(value, float) and value.is_integer()


@schemathesis.check
def a_valid_request_is_not_refused_for_its_form(ctx, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if response.status_code not in (400, 405, 406, 411, 413, 415, 416, 422):
        return
    # Lines of JSON are one string for the document, which cannot say what stands in them.
    if case.media_type == "application/x-ndjson":
        return
    if has_written_out_integer(case.body) or OF_ONE.get(case.path, b"\0") in response.content:
        return
    code, field = why(response)
    if code in MEANING or field in TOGETHER or field in NAMING and code != "invalid_id":
        return
    raise Failure(
        operation=case.operation.label,
        title="Schema-valid request refused for its form",
        message=f"{response.status_code} {code} {field}: {response.content[:300]!r}",
    )


@schemathesis.check
def a_json_rpc_answer_refuses_invalid_requests(ctx, response, case):
    """JSON-RPC answers 200 and says in the body that a request is refused."""
    if case.path != "/a2a" or case.meta is None or case.meta.generation.mode.is_positive:
        return
    if response.status_code == 200 and "error" not in json.loads(response.content):
        raise Failure(operation=case.operation.label, title="Invalid JSON-RPC accepted", message=str(response.content[:300]))
