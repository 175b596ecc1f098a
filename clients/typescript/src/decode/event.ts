/** The one tolerant decoder: camelCase or snake_case, unknown members and unknown types kept as they came. */

import { MalformedError } from "../errors.js";
import { PayloadError, camelCase, camelPayload, isId, isKnownType, isObject, readPayload } from "./payload.js";
import { normalTime } from "./timestamp.js";

/** The ids around an event. Absent means that it does not apply. */
export interface Scope {
  threadId?: string;
  turnId?: string;
  taskId?: string;
  runId?: string;
  stepId?: string;
  toolCallId?: string;
  actionId?: string;
  parentTaskId?: string;
  parentToolCallId?: string;
}

/** An event as the fold reads it. */
export interface DecodedEvent {
  readonly type: string;
  /** False for a vendor's type or one from a newer server. */
  readonly known: boolean;
  /** Given when the event stands for all events from there to its own sequence. */
  readonly firstSequence?: number;
  readonly sequence: number;
  readonly timestamp: string;
  readonly scope: Scope;
  readonly subagentId?: string;
  readonly depth?: number;
  /** What the event is about when it is about a process, a channel, a job, an artifact or evidence. */
  readonly subject?: string;
  readonly jobId?: string;
  readonly jobItemId?: string;
  readonly traceId?: string;
  /** Read by the form of its type, or why it does not fit. */
  readonly payload: Record<string, unknown> | PayloadError;
  /** As it came, with known names in camelCase; absent if there was none. */
  readonly rawPayload?: unknown;
}

/** Why a value is not an event. */
export class DecodeError extends MalformedError {
  override readonly name = "DecodeError";
  /** The code that a server refuses it with. */
  readonly code: "invalid_event" | "invalid_id";
  /** The member at fault. */
  readonly field: string | undefined;

  constructor(field: string | undefined, problem: string, code: "invalid_event" | "invalid_id" = "invalid_event") {
    super(field === undefined ? problem : `\`${field}\`: ${problem}`);
    this.code = code;
    this.field = field;
  }
}

const IDS = [
  "threadId",
  "turnId",
  "taskId",
  "runId",
  "stepId",
  "toolCallId",
  "actionId",
  "parentTaskId",
  "parentToolCallId",
] as const;
const SUBJECTS = ["processId", "channelId", "jobItemId", "jobId", "artifactId", "evidenceId"];

export function decode(event: unknown): DecodedEvent {
  if (!isObject(event)) throw new DecodeError(undefined, "an event is an object");
  const members = camelMembers(event);
  const type = text(members, "type");
  if (type === undefined) throw new DecodeError("type", "is missing");
  if (!/^[A-Za-z0-9._-]{1,128}$/.test(type)) throw new DecodeError("type", "may hold letters, digits and `. _ -`");
  id(members, "eventId");
  id(members, "sessionId");
  const scope: Scope = {};
  for (const name of IDS) {
    const value = id(members, name);
    if (value !== undefined) scope[name] = value;
  }
  const subject = SUBJECTS.map((name) => members.get(name)).find((value) => value !== undefined);
  const raw = members.get("payload");
  const [firstSequence, depth, subagentId] = [
    integer(members, "firstSequence", Number.MAX_SAFE_INTEGER),
    integer(members, "depth", 2 ** 32 - 1),
    text(members, "subagentId"),
  ];
  const [jobId, jobItemId, traceId] = ["jobId", "jobItemId", "traceId"].map((name) => members.get(name));
  return {
    type,
    known: isKnownType(type),
    sequence: integer(members, "sequence", Number.MAX_SAFE_INTEGER) ?? 0,
    timestamp: time(members),
    scope,
    ...readBoth(type, raw, members),
    ...(firstSequence !== undefined && { firstSequence }),
    ...(depth !== undefined && { depth }),
    ...(subagentId !== undefined && { subagentId }),
    ...(typeof subject === "string" && { subject }),
    ...(typeof jobId === "string" && { jobId }),
    ...(typeof jobItemId === "string" && { jobItemId }),
    ...(typeof traceId === "string" && { traceId }),
  };
}

/** Members that an event on a benchmark may carry beside its payload. The payload's own members win. */
const BENCHMARK_MEMBERS = ["benchmark", "runtimeCorrelation", "trajectory", "reward", "comparison", "metrics", "refs"];

function withEnvelope(type: string, raw: unknown, members: Map<string, unknown>): unknown {
  const inside = camelPayload(type, raw ?? {});
  if (!type.startsWith("benchmark.") || !isObject(inside)) return raw;
  const outside = BENCHMARK_MEMBERS.filter((name) => members.has(name) && !Object.hasOwn(inside, name));
  return { ...inside, ...Object.fromEntries(outside.map((name) => [name, members.get(name)])) };
}

function readBoth(
  type: string,
  raw: unknown,
  members: Map<string, unknown>,
): Pick<DecodedEvent, "payload" | "rawPayload"> {
  if (!isKnownType(type)) return { payload: {}, ...(raw !== undefined && { rawPayload: raw }) };
  try {
    const payload = readPayload(type, withEnvelope(type, raw, members));
    return { payload, ...(raw !== undefined && { rawPayload: camelPayload(type, raw) }) };
  } catch (error) {
    if (error instanceof PayloadError) return { payload: error };
    throw error;
  }
}

/** Absent and null are the same. Of two spellings the first one stands. */
function camelMembers(event: Record<string, unknown>): Map<string, unknown> {
  const members = new Map<string, unknown>();
  for (const [key, value] of Object.entries(event)) {
    const name = camelCase(key);
    if (value !== null && value !== undefined && !members.has(name)) members.set(name, value);
  }
  return members;
}

function text(members: Map<string, unknown>, name: string): string | undefined {
  const value = members.get(name);
  if (value !== undefined && typeof value !== "string") throw new DecodeError(name, "must be a string");
  return value;
}

function id(members: Map<string, unknown>, name: string): string | undefined {
  const value = text(members, name);
  if (value !== undefined && !isId(value)) {
    const alphabet = "an id may hold letters, digits and `_ - . : ~ @ + =`, at most 128 of them";
    throw new DecodeError(name, alphabet, "invalid_id");
  }
  return value;
}

function integer(members: Map<string, unknown>, name: string, most: number): number | undefined {
  const value = members.get(name);
  if (value === undefined) return undefined;
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > most) {
    throw new DecodeError(name, `must be an integer from 0 to ${most}`);
  }
  return value as number;
}

function time(members: Map<string, unknown>): string {
  const value = text(members, "timestamp");
  const normal = normalTime(value ?? "1970-01-01T00:00:00Z");
  if (normal === undefined) throw new DecodeError("timestamp", "must be an RFC 3339 date and time");
  return normal;
}
