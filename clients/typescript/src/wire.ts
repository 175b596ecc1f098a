/** What the calls carry and answer that have no generated form. */

import type { Input } from "./generated/events.js";

export interface NewTurn {
  readonly input: Input;
  /** The idempotency key of the submit. */
  readonly turnId?: string;
  readonly agent?: string;
  readonly threadId?: string;
  readonly busy?: "queue" | "reject" | "interrupt" | "steer";
}

export interface SubmittedTurn {
  readonly turnId: string;
  readonly taskId: string;
  readonly runId: string;
  readonly status: string;
  /** A follower that begins here sees the whole turn. */
  readonly cursor: string;
  /** True if the turn was there before. */
  readonly duplicate?: boolean;
}

/** An event before it has a place in a log. */
export interface EventDraft {
  readonly type: string;
  readonly payload?: unknown;
  readonly [member: string]: unknown;
}

/** Where events were stored. It is given only once they are durable. */
export interface Appended {
  /** Absent, as `last`, for a repeat whose place the server no longer knows: its producer appended more since. */
  readonly first?: number;
  readonly last?: number;
  /** Behind the events, or at the head if their place is not known. */
  readonly cursor: string;
  /** An earlier attempt had stored them already. */
  readonly duplicate?: boolean;
}

/** Who appends, and which of its appends this is: the server stores each stamp once. */
export interface ProducerStamp {
  readonly id: string;
  readonly epoch: number;
  readonly sequence: number;
}

/** What a browser credential is made with. */
export interface NewBrowserCredential {
  /** One session, or all whose ids begin with `sessionPrefix`. */
  readonly session?: string;
  readonly sessionPrefix?: string;
  /** `read` without it. Never more than the key has. */
  readonly scopes?: readonly ("read" | "write" | "approve")[];
  /** Such as `https://app.example.com`: the pages that may use it. */
  readonly origins: readonly string[];
  /** Agents that a turn may name; without it a turn runs the session's own. */
  readonly agents?: readonly string[];
  /** An hour without it; a day at most. */
  readonly expiresInSeconds?: number;
  /** How far renewals go: a day without it, thirty at most. */
  readonly maxLifetimeSeconds?: number;
  readonly label?: string;
}
