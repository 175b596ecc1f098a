/** Sessions, threads and turns. */

import type {
  HistoryRollback,
  SessionInfo,
  ThreadInfo,
  TurnCancelled,
  TurnCompleted,
  TurnFailed,
  TurnStarted,
  TurnSubmitted,
  Usage,
} from "../generated/events.js";
import { endTurn, setActiveTurn } from "./close.js";
import { findTurn, threadOf, turnOf } from "./find.js";
import { addUsage, ledger } from "./plain.js";
import type { Status } from "./state.js";
import { isTerminal, parseStatus } from "./status.js";
import type { Step } from "./step.js";
import { put, putIfTold } from "./step.js";
import { reopenTask } from "./tasks.js";

export function session(step: Step, info: SessionInfo): void {
  const state = step.own(step.state, "session");
  state.createdAt ??= step.event.timestamp;
  putIfTold(state, "title", info.title);
  putIfTold(state, "agent", info.agent);
  putIfTold(state, "metadata", info.metadata);
  if (info.tags !== undefined) put(state, "tags", info.tags.length > 0 ? info.tags : undefined);
  state.status = sessionStatus(info.status, state.status);
  step.change();
}

function sessionStatus(told: string | undefined, before: Status): Status {
  if (told === "closed") return "archived";
  if (told === "open" && before === "archived") return "idle";
  const status = parseStatus(told) ?? before;
  return status === "unknown" ? "idle" : status;
}

export function thread(step: Step, info: ThreadInfo): void {
  const state = step.thread(threadOf(step, step.event.scope.threadId ?? "main"));
  putIfTold(state, "title", info.title);
  putIfTold(state, "status", parseStatus(info.status));
  step.change();
}

export function turnSubmitted(step: Step, submitted: TurnSubmitted): void {
  const at = namedTurn(step);
  if (at === undefined) return;
  const turn = step.turn(at);
  if (turn.submittedAt !== undefined) {
    const { runId } = step.event.scope;
    // A turn that left another reader's state is told again before it is tried again.
    if (isTerminal(turn.status) && runId !== undefined && runId !== turn.runId) return;
    return step.problem("already_ended", `turn \`${turn.turnId}\` was submitted before`);
  }
  turn.submittedAt = step.event.timestamp;
  put(turn, "input", submitted.input);
  put(turn, "inputRef", submitted.inputRef);
  put(turn, "history", submitted.history?.length ? submitted.history : undefined);
  put(turn, "settings", submitted.settings);
  put(turn, "request", submitted.request);
  putIfTold(turn, "agent", submitted.agent);
  putIfTold(turn, "taskId", step.event.scope.taskId);
  putIfTold(turn, "runId", step.event.scope.runId);
  if (turn.status === "unknown") turn.status = submitted.status === "queued" ? "queued" : "accepted";
  const thread = step.thread(threadOf(step, turn.threadId));
  if (thread.activeTurnId === undefined) thread.status = turn.status === "queued" ? "queued" : "preparing";
  step.change();
}

export function turnStarted(step: Step, started: TurnStarted): void {
  const at = namedTurn(step);
  if (at === undefined) return;
  const turn = step.turn(at);
  const { runId, taskId } = step.event.scope;
  if (isTerminal(turn.status)) {
    if (runId === undefined || runId === turn.runId) {
      return step.problem("after_terminal", `turn \`${turn.turnId}\` had ended`);
    }
    retryTurn(step, at);
  }
  turn.status = "running";
  turn.startedAt ??= step.event.timestamp;
  putIfTold(turn, "runId", runId);
  putIfTold(turn, "agent", started.agent);
  put(turn, "texts", started.texts);
  putIfTold(turn, "taskId", taskId);
  const thread = threadOf(step, turn.threadId);
  step.thread(thread).status = "running";
  setActiveTurn(step, thread, turn.turnId);
  putIfTold(step.state, "agent", turn.agent);
  step.change();
}

/** Another run of an ended turn is a retry: the turn and its root task are open again. */
function retryTurn(step: Step, at: number): void {
  const turn = step.turn(at);
  delete turn.endedAt;
  delete turn.error;
  delete turn.finalOutput;
  delete turn.stopReason;
  delete turn.removed;
  // What could not be read is tried again.
  const read = turn.files?.filter((file) => file.status === "completed");
  put(turn, "files", read?.length ? read : undefined);
  const task = turn.taskId === undefined ? undefined : step.derived.tasks.get(turn.taskId);
  if (task === undefined) return;
  reopenTask(step, task, step.event.scope.runId);
  step.change();
}

/** Turns that are taken out of the conversation stay, marked. Those that left the state before are only named. */
export function historyRolledBack(step: Step, rollback: HistoryRollback): void {
  for (const removed of rollback.removedTurns ?? []) {
    const turn = findTurn(step, removed);
    if (turn === undefined || step.state.turns[turn]?.removed === true) continue;
    step.turn(turn).removed = true;
    step.change();
  }
  ledger(step);
}

export function turnCompleted(step: Step, completed: TurnCompleted): void {
  const turn = endingTurn(step);
  if (turn === undefined) return;
  put(step.turn(turn), "finalOutput", completed.finalOutput);
  put(step.turn(turn), "stopReason", completed.stopReason);
  toldUsage(step, turn, completed.usage);
  endTurn(step, turn, "completed");
}

export function turnFailed(step: Step, failed: TurnFailed): void {
  const turn = endingTurn(step);
  if (turn === undefined) return;
  step.turn(turn).error = failed.error;
  toldUsage(step, turn, failed.usage);
  endTurn(step, turn, "failed");
}

export function turnCancelled(step: Step, cancelled: TurnCancelled): void {
  const turn = endingTurn(step);
  if (turn === undefined) return;
  toldUsage(step, turn, cancelled.usage);
  endTurn(step, turn, "cancelled");
}

/** What the turn's end tells about usage counts only if no model call told it. */
function toldUsage(step: Step, at: number, usage: Usage | undefined): void {
  const turn = step.turn(at);
  if (usage === undefined || Object.keys(turn.usage).length > 0) return;
  turn.usage = addUsage(turn.usage, usage);
  step.state.usage = addUsage(step.state.usage, usage);
}

function namedTurn(step: Step): number | undefined {
  const turn = turnOf(step);
  if (turn === undefined) step.problem("missing_correlation", `${step.event.type} without a turnId`);
  return turn;
}

/** The turn that a terminal event ends; the first terminal event stands. */
function endingTurn(step: Step): number | undefined {
  const at = namedTurn(step);
  const turn = at === undefined ? undefined : step.state.turns[at];
  if (turn === undefined || !isTerminal(turn.status)) return at;
  step.problem("already_ended", `turn \`${turn.turnId}\` was ${turn.status} before`);
  return undefined;
}
