/** What a frame of a native stream says. */

import { MalformedError } from "../errors.js";
import type { Event } from "../generated/events.js";
import type { State } from "../fold/state.js";
import type { SseFrame } from "./sse.js";

/** How the server answered a (re)connect. */
export interface Opened {
  readonly outcome: "replayed" | "coalesced" | "snapshot" | (string & {});
  readonly reason?: string;
  readonly after?: number;
  readonly head?: number;
}

/** The folded state that a stream starts from. */
export interface FollowedSnapshot {
  /** Why a state came instead of events: `asked`, `expired`, `epoch_changed`, … */
  readonly reason?: string;
  readonly sequence: number;
  readonly cursor?: string;
  readonly state: State;
}

/** An event as the server sent it. With `firstSequence` it stands for all events from there to its own sequence. */
export type WireEvent = Event & { readonly firstSequence?: number };

export type Control =
  | { readonly type: "opened"; readonly opened: Opened }
  | { readonly type: "snapshot"; readonly snapshot: FollowedSnapshot }
  | ({ readonly type: "heartbeat" | "caught_up" | "end" } & Place)
  | { readonly type: "draining"; readonly retryMillis: number | undefined }
  /** From a newer server; a control frame never carries an event, so it can be passed over. */
  | { readonly type: "unknown" };

/** Where the stream stands: everything up to `head` that was asked for was sent. */
export interface Place {
  readonly head: number | undefined;
  readonly cursor: string | undefined;
}

export function isControl(frame: SseFrame): boolean {
  return frame.event === "riverrun";
}

export function readEvent(frame: SseFrame): WireEvent {
  const value = parse(frame, "event frame");
  const { type, sequence, firstSequence } = value;
  if (typeof type !== "string") throw new MalformedError("event frame without a type");
  if (!isSequence(sequence)) throw new MalformedError(`event frame of type ${type} without a sequence`);
  if (firstSequence !== undefined && !(isSequence(firstSequence) && firstSequence <= sequence)) {
    throw new MalformedError(`firstSequence of event ${sequence} is not a place before it`);
  }
  return value as unknown as WireEvent;
}

export function readControl(frame: SseFrame): Control {
  const value = parse(frame, "control frame");
  switch (value["type"]) {
    case "stream.opened":
      return { type: "opened", opened: readOpened(value) };
    case "stream.snapshot":
      return { type: "snapshot", snapshot: readSnapshot(value, frame.id) };
    case "stream.heartbeat":
      return { type: "heartbeat", ...readPlace(value) };
    case "stream.caught_up":
      return { type: "caught_up", ...readPlace(value) };
    case "stream.end":
      return { type: "end", ...readPlace(value) };
    case "stream.draining":
      return { type: "draining", retryMillis: isSequence(value["retryMillis"]) ? value["retryMillis"] : undefined };
    default:
      return { type: "unknown" };
  }
}

function readOpened(value: Record<string, unknown>): Opened {
  const [reason, after, head] = [text(value["reason"]), place(value["after"]), place(value["head"])];
  return {
    outcome: text(value["outcome"]) ?? "",
    ...(reason !== undefined && { reason }),
    ...(after !== undefined && { after }),
    ...(head !== undefined && { head }),
  };
}

function readSnapshot(value: Record<string, unknown>, id: string | undefined): FollowedSnapshot {
  const state = value["state"];
  if (typeof state !== "object" || state === null) throw new MalformedError("stream.snapshot without a state");
  const sequence = place(value["sequence"]) ?? place((state as Record<string, unknown>)["sequence"]);
  if (sequence === undefined) throw new MalformedError("stream.snapshot without a sequence");
  const [reason, cursor] = [text(value["reason"]), text(value["cursor"]) ?? id];
  return {
    sequence,
    state: state as State,
    ...(reason !== undefined && { reason }),
    ...(cursor !== undefined && { cursor }),
  };
}

function readPlace(value: Record<string, unknown>): Place {
  return { head: place(value["sequence"]), cursor: text(value["cursor"]) };
}

/** A place in the log, as a number or as a cursor. */
function place(value: unknown): number | undefined {
  if (isSequence(value)) return value;
  if (typeof value !== "string") return undefined;
  const sequence = /^(\d{1,16})(?:\+\d+)?(?:\..*)?$/.exec(value)?.[1];
  return sequence === undefined || !isSequence(Number(sequence)) ? undefined : Number(sequence);
}

function isSequence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function parse(frame: SseFrame, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(frame.data);
  } catch (error) {
    throw new MalformedError(`${what}: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new MalformedError(`${what}: no object`);
  return value as Record<string, unknown>;
}
