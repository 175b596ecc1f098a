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
    "idempotency_mismatch": "an Idempotency-Key that was used with another body",
    "invalid_decision": "a decision that the action does not offer",
    "unknown_agent": "an agent that is not there",
    "url_blocked": "an address that is not public",
}
# OpenAPI has no words for headers that belong together.
TOGETHER = {"Producer-Id", "Producer-Epoch", "Producer-Seq"}


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
    return body.get("code") or error.get("code") or error.get("type"), body.get("field") or error.get("field")


@schemathesis.check
def a_valid_request_is_not_refused_for_its_form(ctx, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if response.status_code not in (400, 405, 406, 411, 413, 415, 416, 422):
        return
    code, field = why(response)
    if code in MEANING or field in TOGETHER:
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
