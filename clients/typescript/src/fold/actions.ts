/** Actions: what waits for somebody, and what was decided. The first decision stands. */

import { findTask, findTurn, isAfterTheEnd, rootOf, taskOf, threadOf } from "./find.js";
import type { ActionState, Status } from "./state.js";
import { isTerminal } from "./status.js";
import type { Step } from "./step.js";
import { put } from "./step.js";

export function actionRequired(step: Step): void {
  const { scope, sequence, timestamp, rawPayload } = step.event;
  const { actionId } = scope;
  if (actionId === undefined) return step.problem("missing_correlation", "action.required without an actionId");
  if (step.derived.actions.has(actionId)) {
    return step.problem("already_ended", `action \`${actionId}\` was required before`);
  }
  if (isAfterTheEnd(step)) return;
  const task = scope.taskId === undefined ? findTask(step) : taskOf(step);
  const root = task === undefined ? undefined : rootOf(step, task);
  const idOf = (at: number | undefined): string | undefined => (at === undefined ? undefined : step.peekTask(at).taskId);
  const ofTask = task === undefined ? undefined : step.peekTask(task).turnId;
  const action: ActionState = { actionId, status: "pending", sequence, requiredAt: timestamp, request: rawPayload ?? {} };
  put(action, "turnId", scope.turnId ?? ofTask);
  put(action, "taskId", idOf(task));
  put(action, "rootTaskId", idOf(root));
  put(action, "toolCallId", scope.toolCallId);
  pushAction(step, action);
  for (const waiting of new Set([task, root])) if (waiting !== undefined) waitTask(step, waiting);
  waitTurn(step, action.turnId);
}

export function pushAction(step: Step, action: ActionState): void {
  step.derived.actions.set(action.actionId, step.push("actions", action));
  step.derived.addPending(action);
  step.change();
}

export function actionResolved(step: Step): void {
  const { actionId } = step.event.scope;
  if (actionId === undefined) return step.problem("missing_correlation", "action.resolved without an actionId");
  const at = step.derived.actions.get(actionId);
  if (at === undefined) return step.problem("unknown_action", `action \`${actionId}\``);
  const action = step.entry("actions", at);
  if (action.status !== "pending") return step.problem("already_ended", `action \`${actionId}\` was decided before`);
  step.derived.removePending(action);
  action.status = "resolved";
  action.resolvedAt = step.event.timestamp;
  put(action, "resolution", step.event.rawPayload);
  step.change();
  for (const waiting of new Set([action.taskId, action.rootTaskId])) if (waiting !== undefined) wakeTask(step, waiting);
  wakeTurn(step, action.turnId);
}

/** What is paused waits for that first. */
function waitTask(step: Step, at: number): void {
  const { status } = step.peekTask(at);
  if (isTerminal(status) || status === "waiting_permission" || status === "paused") return;
  step.task(at).status = "waiting_permission";
  step.change();
}

/** Only what waits for a decision goes on with it; a task that was paused since stays so. */
function wakeTask(step: Step, taskId: string): void {
  const at = step.derived.tasks.get(taskId);
  if (at === undefined || step.derived.taskWaits(taskId) || step.peekTask(at).status !== "waiting_permission") return;
  step.task(at).status = "running";
  step.change();
}

function waitTurn(step: Step, turnId: string | undefined): void {
  const at = findTurn(step, turnId);
  if (at === undefined || isTerminal(step.turn(at).status) || step.turn(at).status === "paused") return;
  setTurnStatus(step, at, "waiting_permission");
}

function wakeTurn(step: Step, turnId: string | undefined): void {
  const at = findTurn(step, turnId);
  if (turnId === undefined || at === undefined || step.derived.turnWaits(turnId)) return;
  if (step.turn(at).status === "waiting_permission") setTurnStatus(step, at, "running");
}

export function setTurnStatus(step: Step, at: number, status: Status): void {
  const turn = step.turn(at);
  turn.status = status;
  step.thread(threadOf(step, turn.threadId)).status = status;
  step.change();
}
