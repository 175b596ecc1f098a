/** Turns that are halted with their root task, and what that makes of the session. */

import { setTurnStatus } from "./actions.js";
import { findTurn } from "./find.js";
import type { Status } from "./state.js";
import { isTerminal } from "./status.js";
import type { Step } from "./step.js";

/** A turn that is at work is halted with its root task, and goes on with it. */
export function haltTurn(step: Step, at: number, before: Status): void {
  const { taskId, turnId, status } = step.peekTask(at);
  const turn = findTurn(step, turnId);
  if (turn === undefined || turnId === undefined || (before === "paused") === (status === "paused")) return;
  const known = step.turn(turn);
  if (known.taskId !== taskId) return;
  let told: Status;
  if (known.status === "paused") told = step.derived.turnWaits(turnId) ? "waiting_permission" : "running";
  else if (status === "paused" && (known.status === "running" || known.status === "waiting_permission")) told = "paused";
  else return;
  setTurnStatus(step, turn, told);
  weighSession(step, told);
}

export function followStatus(step: Step): void {
  const told = SESSION_STATUS.get(step.event.type);
  if (told !== undefined) weighSession(step, told);
}

/**
 * The session's status is that of the newest word on a turn or an action, unless somebody must decide, another thread
 * is at work, or what is halted is all that is left.
 */
function weighSession(step: Step, told: Status): void {
  const { derived, state } = step;
  let [waiting, active, isHalted] = [derived.pending, derived.activeThreads, false];
  for (const { turnId, threadId, status } of state.turns) {
    if (status !== "paused") continue;
    isHalted = true;
    waiting -= derived.waitsIn(turnId);
    const thread = derived.threads.get(threadId);
    if (thread !== undefined && state.threads[thread]?.activeTurnId === turnId) active -= 1;
  }
  let status = told;
  if (waiting > 0) status = "waiting_permission";
  else if (active > 0 && (isHalted || isTerminal(told))) status = "running";
  else if (isHalted) status = "paused";
  if (state.session.status === status) return;
  step.own(state, "session").status = status;
  step.change();
}

/** What an event says about its session, without the rest of the log. */
const SESSION_STATUS: ReadonlyMap<string, Status> = new Map([
  ["turn.submitted", "running"],
  ["turn.started", "running"],
  ["action.resolved", "running"],
  ["action.required", "waiting_permission"],
  ["turn.completed", "completed"],
  ["turn.failed", "failed"],
  ["turn.cancelled", "cancelled"],
]);
