/** The standard's words for where work stands, in one list for sessions, threads, turns, tasks and calls. */

export const STATUSES = [
  /** No event told it. */
  "unknown",
  "idle",
  "draft",
  "accepted",
  "queued",
  "preparing",
  "running",
  "waiting_input",
  "waiting_permission",
  "waiting_resource",
  "blocked",
  "paused",
  "retrying",
  "cancelling",
  "cancelled",
  "timed_out",
  "failed",
  "lost",
  "completed",
  "archived",
  "stale",
] as const;

export type Status = (typeof STATUSES)[number];

const TERMINAL: ReadonlySet<string> = new Set(["cancelled", "timed_out", "failed", "lost", "completed", "archived"]);
const WAITING: ReadonlySet<string> = new Set(["waiting_input", "waiting_permission", "waiting_resource"]);
const KNOWN: ReadonlySet<string> = new Set(STATUSES);

export function isTerminal(status: Status): boolean {
  return TERMINAL.has(status);
}

export function isWaiting(status: Status): boolean {
  return WAITING.has(status);
}

/** Absent for a word that is not in the list. */
export function parseStatus(word: string | undefined): Status | undefined {
  return word !== undefined && KNOWN.has(word) ? (word as Status) : undefined;
}
