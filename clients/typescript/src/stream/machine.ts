/**
 * The life of a followed stream as pure transitions: no clock, no socket, no randomness.
 *
 * ```text
 *              opened            caught up
 * connecting ─────────▶ live ──────────────▶ caught up
 *     │                  │  cut, silence         │
 *     │ refused          ▼                       │        end, or the turn's terminal event
 *     │            reconnecting ◀────────────────┤
 *     ▼                  │ opened ─▶ live        ▼
 *   closed ◀─────────────┴───────────────────  closed
 * ```
 */

/** Where a follower stands, as its user sees it. */
export type ConnectionState =
  | { readonly status: "connecting" }
  /** Connected, and behind the head of the log. */
  | { readonly status: "live" }
  /** Connected at the head of the log: events come as they happen. */
  | { readonly status: "caught_up" }
  /** Attempt number `attempt` (from 1) is next; `last` is the last sequence that was given out. */
  | { readonly status: "reconnecting"; readonly attempt: number; readonly last?: number }
  | { readonly status: "closed" };

/**
 * Which numbers the next event may have: each the successor of the last, rising with holes that a filter made, or
 * none at all, in the frames of a foreign dialect.
 */
export type Order = "dense" | "rising" | "opaque";

export type Input =
  | { readonly type: "opened"; readonly after: number | undefined }
  /** An event, or a joined run of events `first..=last`. */
  | { readonly type: "event"; readonly first: number; readonly last: number; readonly terminal: boolean }
  /** A frame of a foreign dialect. */
  | { readonly type: "frame" }
  /** `newLog`: the log was restored or made anew, so what was given out is of another history. */
  | { readonly type: "snapshot"; readonly at: number; readonly newLog: boolean }
  /** Everything up to `head` was sent, if the server says so. */
  | { readonly type: "caught_up"; readonly head: number | undefined }
  | { readonly type: "heartbeat"; readonly head: number | undefined }
  | { readonly type: "draining" }
  | { readonly type: "end"; readonly head: number | undefined }
  /** The body ended cleanly. */
  | { readonly type: "body_ended" }
  /** The connection broke, or was silent for too long. */
  | { readonly type: "cut" }
  | { readonly type: "unreachable" }
  | { readonly type: "refused"; readonly retryable: boolean };

/** What the driver must do. */
export type Verdict =
  | { readonly type: "deliver" }
  | { readonly type: "ignore" }
  | { readonly type: "gap"; readonly last: number; readonly found: number }
  /** Wait as attempt `attempt` asks, then connect again. */
  | { readonly type: "reconnect"; readonly attempt: number }
  | { readonly type: "close" }
  | { readonly type: "fail" };

export interface Machine {
  readonly state: ConnectionState;
  /** The last sequence given out; absent until the server says where the stream starts. */
  readonly last: number | undefined;
  readonly order: Order;
  readonly everOpened: boolean;
  /** What the stream was asked for has been seen to its end. */
  readonly finished: boolean;
  /** A place to resume at is known. */
  readonly resumable: boolean;
  readonly failures: number;
  readonly maxAttempts: number | undefined;
}

export function newMachine(order: Order, maxAttempts: number | undefined): Machine {
  return {
    state: { status: "connecting" },
    last: undefined,
    order,
    everOpened: false,
    finished: false,
    resumable: order !== "opaque",
    failures: 0,
    maxAttempts,
  };
}

type Next = readonly [Machine, Verdict];

const DELIVER: Verdict = { type: "deliver" };
const IGNORE: Verdict = { type: "ignore" };
const CLOSE: Verdict = { type: "close" };

export function step(machine: Machine, input: Input): Next {
  switch (input.type) {
    case "opened":
      // On a reconnect the follower knows better than the server where it stands.
      return [{ ...machine, state: { status: "live" }, last: machine.last ?? input.after, everOpened: true }, DELIVER];
    case "event":
      return event(machine, input.first, input.last, input.terminal);
    case "frame":
      return [{ ...machine, failures: 0 }, DELIVER];
    case "snapshot":
      return snapshot(machine, input.at, input.newLog);
    case "caught_up":
      return sentUpTo(machine, input.head, [{ ...machine, state: { status: "caught_up" }, failures: 0 }, IGNORE]);
    case "heartbeat":
      return sentUpTo(machine, input.head, [{ ...machine, failures: 0 }, IGNORE]);
    case "draining":
      return [machine, IGNORE];
    case "end":
      return sentUpTo(machine, input.head, [closed(machine), CLOSE]);
    case "body_ended":
      if (machine.finished || machine.order === "opaque") return [closed(machine), CLOSE];
      return broken(machine, machine.resumable);
    case "cut":
      return machine.finished ? [closed(machine), CLOSE] : broken(machine, machine.resumable);
    case "unreachable":
      return broken(machine, machine.everOpened);
    case "refused":
      return broken(machine, input.retryable);
  }
}

function event(machine: Machine, first: number, last: number, terminal: boolean): Next {
  const known = machine.last;
  if (known !== undefined) {
    if (last <= known) return [machine, IGNORE];
    const fits = machine.order === "dense" ? first === known + 1 : first > known;
    if (!fits) return [closed(machine), { type: "gap", last: known, found: first }];
  }
  return [{ ...machine, last, failures: 0, finished: machine.finished || terminal }, DELIVER];
}

function snapshot(machine: Machine, at: number, newLog: boolean): Next {
  // One of the same log that is older than what was given out would take events back.
  if (!newLog && machine.last !== undefined && at < machine.last) return [machine, IGNORE];
  return [{ ...machine, last: at, failures: 0 }, DELIVER];
}

/** The server says that it sent everything up to `head`. What is missing then was lost on the way. */
function sentUpTo(machine: Machine, head: number | undefined, next: Next): Next {
  if (machine.order !== "dense" || machine.last === undefined || head === undefined || head <= machine.last) return next;
  return [closed(machine), { type: "gap", last: machine.last, found: head }];
}

function broken(machine: Machine, mayRetry: boolean): Next {
  const attempt = machine.failures + 1;
  if (!mayRetry || (machine.maxAttempts !== undefined && attempt > machine.maxAttempts)) {
    return [closed(machine), { type: "fail" }];
  }
  const last = machine.last === undefined ? {} : { last: machine.last };
  const state: ConnectionState = { status: "reconnecting", attempt, ...last };
  return [{ ...machine, state, failures: attempt }, { type: "reconnect", attempt }];
}

function closed(machine: Machine): Machine {
  return { ...machine, state: { status: "closed" } };
}
