/** An event with its members named as the wire names them. */

import { decode } from "./event.js";
import { PayloadError, camelCase, camelPayload } from "./payload.js";
import { normalTime } from "./timestamp.js";

/** Members of the envelope whose snake_case forms are renamed; others are a vendor's and keep their spelling. */
const STANDARD: ReadonlySet<string> = new Set(
  (
    "type eventId schemaVersion timestamp firstSequence sequence sessionId threadId turnId taskId runId stepId " +
    "toolCallId actionId subagentId parentTaskId parentToolCallId depth traceId spanId payload refs runtimeId " +
    "attemptId artifactId evidenceId rootTaskId requestId modelRequestId processId channelId jobId jobItemId queueId " +
    "outputRef statusReason nativeStatus taskAttempt taskRelationship taskGraph taskProgress taskAcceptance " +
    "deliveryState permissionDecision sandboxProfile routingDecision candidateModelSet taskProfile limitState " +
    "limitEvent costState hookRun executionEnvironment jobItem historyBoundary"
  ).split(" "),
);

/**
 * The envelope that the server would make of an event: camelCase names, no null, one spelling of time. Throws
 * `DecodeError`, or `PayloadError` if the payload does not fit its type.
 */
export function envelope(event: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type, payload } = decode(event);
  if (payload instanceof PayloadError) throw payload;
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(event)) {
    const name = STANDARD.has(camelCase(key)) ? camelCase(key) : key;
    if (value === null || Object.hasOwn(out, name)) continue;
    out[name] = name === "payload" ? camelPayload(type, value) : name === "timestamp" ? normalTime(value as string) : value;
  }
  return out;
}
