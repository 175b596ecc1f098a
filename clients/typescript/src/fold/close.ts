/** The end of turns and tasks: what was open is closed honestly, tasks before their turn. */

import { threadOf } from "./find.js";
import { finishItem } from "./items.js";
import type { Attempt, Status } from "./state.js";
import { isTerminal } from "./status.js";
import type { Step } from "./step.js";
import { put } from "./step.js";

export function endTurn(step: Step, turn: number, outcome: Status): void {
  const { turnId, threadId, taskId: root, error } = step.turn(turn);
  // Children stand after their parents and end before them.
  for (let task = step.state.tasks.length - 1; task >= 0; task -= 1) {
    const state = step.peekTask(task);
    if (state.turnId !== turnId || isTerminal(state.status)) continue;
    const isRoot = root === state.taskId;
    if (isRoot && error !== undefined) step.task(task).error = error;
    endTask(step, task, taskOutcome(outcome, isRoot));
  }
  closeTools(step, turnId, outcome);
  abandonActions(step, turnId);
  const state = step.turn(turn);
  state.status = outcome;
  state.endedAt = step.event.timestamp;
  const place = threadOf(step, threadId);
  const thread = step.thread(place);
  thread.lastOutcome = outcome;
  if (thread.activeTurnId === undefined || thread.activeTurnId === turnId) {
    thread.status = outcome;
    setActiveTurn(step, place, undefined);
  }
  step.change();
}

export function setActiveTurn(step: Step, thread: number, turnId: string | undefined): void {
  const state = step.thread(thread);
  step.derived.activeThreads += Number(turnId !== undefined) - Number(state.activeTurnId !== undefined);
  put(state, "activeTurnId", turnId);
}

/**
 * Ends a task. What was shown stays: a text that was open is complete if the task is, everything else that was open is
 * incomplete now.
 */
export function endTask(step: Step, task: number, outcome: Status): void {
  const open = (step.peekTask(task).open ?? []).map(({ position }) => ({ task, item: position }));
  for (const at of open) {
    const { type } = step.peekItem(at);
    const isComplete = outcome === "completed" && (type === "message" || type === "reasoning");
    finishItem(step, at, isComplete ? "completed" : "incomplete");
  }
  const state = step.task(task);
  state.status = outcome;
  state.endedAt = step.event.timestamp;
  const last = (state.attempts?.length ?? 0) - 1;
  if (last >= 0 && !isTerminal((state.attempts?.[last] as Attempt).status)) {
    const attempt = step.own(step.ownList(state, "attempts"), last);
    attempt.status = outcome;
    attempt.endedAt = step.event.timestamp;
  }
  step.change();
}

/** A call whose result never came: stopped if the turn was stopped, else its outcome is unknown. */
function closeTools(step: Step, turnId: string, outcome: Status): void {
  step.state.toolCalls.forEach((known, at) => {
    if (known.turnId !== turnId || known.status !== "running") return;
    const call = step.entry("toolCalls", at);
    call.status = outcome === "cancelled" ? "cancelled" : "unknown";
    call.endedAt = step.event.timestamp;
    step.change();
  });
}

function abandonActions(step: Step, turnId: string): void {
  step.state.actions.forEach((known, at) => {
    if (known.turnId !== turnId || known.status !== "pending") return;
    step.derived.removePending(known);
    const action = step.entry("actions", at);
    action.status = "abandoned";
    action.resolvedAt = step.event.timestamp;
    step.change();
  });
}

/** A child that nobody ended is lost when its turn ends by itself: neither success nor a stop is a default. */
function taskOutcome(turn: Status, isRoot: boolean): Status {
  return isRoot || turn === "cancelled" ? turn : "lost";
}
