"""An event with its members named as the wire names them."""

from __future__ import annotations

from typing import Any

from .event import decode
from .payload import PayloadError, camel_case, camel_payload
from .timestamp import normal_time

_STANDARD = frozenset(
    (
        "type eventId schemaVersion timestamp firstSequence sequence sessionId threadId turnId taskId runId stepId "
        "toolCallId actionId subagentId parentTaskId parentToolCallId depth traceId spanId payload refs runtimeId "
        "attemptId artifactId evidenceId rootTaskId requestId modelRequestId processId channelId jobId jobItemId "
        "queueId outputRef statusReason nativeStatus taskAttempt taskRelationship taskGraph taskProgress "
        "taskAcceptance deliveryState permissionDecision sandboxProfile routingDecision candidateModelSet taskProfile "
        "limitState limitEvent costState hookRun executionEnvironment jobItem historyBoundary"
    ).split()
)
"""Members of the envelope whose snake_case forms are renamed; others are a vendor's and keep their spelling."""


def envelope(event: dict[str, Any]) -> dict[str, Any]:
    """The envelope that the server would make of an event: camelCase names, no null, one spelling of time.

    Raises `DecodeError`, or `PayloadError` if the payload does not fit its type.
    """
    decoded = decode(event)
    if isinstance(decoded.payload, PayloadError):
        raise decoded.payload
    out: dict[str, Any] = {}
    for key, value in event.items():
        name = camel_case(key) if camel_case(key) in _STANDARD else key
        if value is None or name in out:
            continue
        if name == "payload":
            value = camel_payload(decoded.type, value)
        elif name == "timestamp":
            value = normal_time(value)
        out[name] = value
    return out
