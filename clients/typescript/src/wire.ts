/** What requests carry and answers hold, besides events and state. */

import type { BlobRef, Input, Item } from "./generated/events.js";
import type { BenchmarkFact, JobState, JobStatus, Status, TrialState } from "./fold/state.js";

export interface NewSession {
  /** Given, a second create with the same contents gives the same session. */
  readonly sessionId?: string;
  readonly agent?: string;
  readonly title?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A session as the catalogue knows it. */
export interface Session {
  readonly sessionId: string;
  readonly title?: string;
  readonly agent?: string;
  readonly status?: Status;
  readonly tags?: readonly string[];
  /** The last sequence of its log. */
  readonly head?: number;
  readonly cursor?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
}

export interface SessionFilter {
  readonly status?: string;
  /** RFC 3339; sessions that changed at or after it. */
  readonly since?: string;
  readonly tag?: string;
  readonly limit?: number;
  /** Where the last page ended. */
  readonly cursor?: string;
}

export interface Page<T> {
  readonly data: readonly T[];
  /** Given when there is more. */
  readonly nextCursor?: string;
}

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

/** The decision that holds. */
export interface Decided {
  readonly actionId: string;
  /** `already_decided` if the same decision was made before. */
  readonly status: "decided" | "already_decided";
  readonly decision: string;
  readonly source: string;
  /** False if the same decision was made before. */
  readonly won: boolean;
  readonly cursor: string;
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

/** A task in AgentLin's words. */
export interface Task {
  readonly task_id: string;
  readonly status: string;
  readonly output: readonly Item[];
}

/** An action as the catalogue knows it. */
export interface Action {
  readonly actionId: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly status?: string;
  readonly actionType?: string;
  readonly toolName?: string;
  readonly prompt?: string;
  readonly digest?: string;
  readonly expiresAt?: string;
  /** What `action.required` said, whole. */
  readonly request?: unknown;
}

/** A decision names the digest of exactly what will run. */
export interface Decision {
  readonly decision: "approve" | "edit" | "reject" | "respond";
  readonly digest?: string;
  readonly arguments?: unknown;
  readonly message?: string;
  /** The answer as a value, to respond. */
  readonly response?: unknown;
  readonly always?: boolean;
}

export interface NewShare {
  /** Default: the session's. */
  readonly title?: string;
  /** How long the link works, in seconds; 30 days without it. */
  readonly expiresIn?: number;
}

/** A link by which anybody who has it may read a session up to a moment. */
export interface Share {
  readonly shareId: string;
  readonly url: string;
  readonly title: string;
  /** The last event that its readers see. */
  readonly through: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly revokedAt?: string;
  readonly status: "live" | "expired" | "revoked";
}

export interface NewJob {
  /** Given, a second create with the same title and items gives the same job. */
  readonly jobId?: string;
  readonly title?: string;
  readonly items?: readonly NewJobItem[];
  readonly metadata?: unknown;
  readonly instructionRef?: BlobRef;
  /** The task that the job works for. */
  readonly taskId?: string;
  readonly threadId?: string;
}

export interface NewJobItem {
  readonly itemId: string;
  readonly title?: string;
  readonly inputRef?: BlobRef;
  readonly metadata?: unknown;
}

export interface JobAnswer {
  readonly jobId: string;
  readonly status: JobStatus;
  /** How many items it has. */
  readonly items: number;
  /** True if nothing was to be done. */
  readonly duplicate?: boolean;
}

/** A job with its items, and how many there are in all and by status. */
export type JobDetails = JobState & { readonly counts: Readonly<Record<"total" | JobStatus, number>> };
export type JobSummary = Omit<JobDetails, "items">;

/** An item whose next attempt began. */
export interface RetriedItem {
  readonly jobId: string;
  readonly itemId: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly jobStatus: JobStatus;
}

/** A trial with the ids in this runtime. What no event told is in `knownGaps` by its name. */
export type TrialPack = Omit<TrialState, "threadId" | "turnId" | "taskId" | "runId" | "traceId"> & {
  readonly runtimeCorrelation: Readonly<Record<string, unknown>>;
  readonly knownGaps: readonly string[];
  readonly runtime?: Readonly<Record<string, unknown>>;
};

export interface BenchmarkExport {
  readonly sessionId: string;
  readonly sequence: number;
  readonly trials: readonly TrialPack[];
  readonly datasets?: readonly BenchmarkFact[];
  readonly configurations?: readonly BenchmarkFact[];
  readonly comparisons?: readonly BenchmarkFact[];
  /** Older trials are in the log alone. */
  readonly truncated: boolean;
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
