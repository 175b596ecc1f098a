/** Tasks and their attempts. */

import { isId } from "../decode/payload.js";
import type { TaskAttempt, TaskChange, TaskCompleted, TaskFailed, TaskInfo } from "../generated/events.js";
import { endTask } from "./close.js";
import { depthBelow, findTask, findTurn, isAfterTheEnd, isAncestor, taskCycle, taskOf } from "./find.js";
import { haltTurn } from "./halt.js";
import type { Attempt, Status, TaskState } from "./state.js";
import { isTerminal, isWaiting, parseStatus } from "./status.js";
import type { Step } from "./step.js";
import { put, putIfTold } from "./step.js";

export function taskCreated(step: Step, info: TaskInfo): void {
  const known = step.state.tasks.length;
  const at = namedTask(step);
  if (at === undefined) return;
  const task = step.task(at);
  fillTask(task, info);
  nameCall(step, task, info);
  if (step.state.tasks.length > known) task.status = parseStatus(info.status) ?? "accepted";
  else linkParent(step, task);
  step.change();
}

export function taskUpdated(step: Step, info: TaskInfo): void {
  const at = namedTask(step);
  if (at === undefined) return;
  fillTask(step.task(at), info);
  const status = parseStatus(info.status);
  if (status === undefined) step.change();
  else setTaskStatus(step, at, status);
}

function fillTask(task: TaskState, info: TaskInfo): void {
  putIfTold(task, "title", info.title);
  putIfTold(task, "objective", info.objective);
  putIfTold(task, "agent", info.agent);
  putIfTold(task, "statusReason", info.reason);
}

/** The payload may name the parent's call where the envelope does not. */
function nameCall(step: Step, task: TaskState, info: TaskInfo): void {
  const told = isId(info.parentToolCallId) ? info.parentToolCallId : undefined;
  put(task, "parentToolCallId", task.parentToolCallId ?? step.event.scope.parentToolCallId ?? told);
}

/** A task may have been told before its parent was. */
function linkParent(step: Step, task: TaskState): void {
  const parent = step.event.scope.parentTaskId;
  if (parent === undefined || task.parentTaskId !== undefined) return;
  if (isAncestor(step, task.taskId, parent)) return taskCycle(step, task.taskId);
  task.depth = step.event.depth ?? depthBelow(step, parent);
  task.parentTaskId = parent;
  // A child is not the root of its turn.
  const turn = findTurn(step, task.turnId);
  if (turn !== undefined && step.state.turns[turn]?.taskId === task.taskId) delete step.turn(turn).taskId;
}

export function taskStatus(status: Status): (step: Step, change: TaskChange) => void {
  return (step, change) => {
    const at = namedTask(step);
    if (at === undefined) return;
    // `task.waiting` says what for; the other types are their own status.
    const told = parseStatus(change.status);
    put(step.task(at), "statusReason", change.reason);
    setTaskStatus(step, at, told !== undefined && isWaiting(status) && isWaiting(told) ? told : status);
  };
}

export function taskFailed(step: Step, failed: TaskFailed): void {
  const at = namedTask(step);
  if (at === undefined) return;
  const task = step.task(at);
  if (!isTerminal(task.status)) task.error = failed.error;
  setTaskStatus(step, at, "failed");
}

export function taskCompleted(step: Step, completed: TaskCompleted): void {
  const at = namedTask(step);
  if (at === undefined) return;
  putIfTold(step.task(at), "statusReason", completed.reason);
  setTaskStatus(step, at, "completed");
}

function setTaskStatus(step: Step, at: number, status: Status): void {
  const task = step.task(at);
  // After its end a task may only be tried again or put away.
  if (isTerminal(task.status) && status !== "retrying" && status !== "archived") {
    return step.problem("already_ended", `task \`${task.taskId}\` was ${task.status} before`);
  }
  if (isTerminal(status) && !isTerminal(task.status)) return endTask(step, at, status);
  const before = task.status;
  task.status = status;
  if (!isTerminal(status)) delete task.endedAt;
  step.change();
  haltTurn(step, at, before);
}

export function attempt(status: Status): (step: Step, told: TaskAttempt) => void {
  return (step, told) => {
    const at = namedTask(step);
    if (at === undefined) return;
    const { runId } = step.event.scope;
    const ended = isTerminal(status) ? step.event.timestamp : undefined;
    const attempts = step.ownList(step.task(at), "attempts");
    const place = attempts.findLastIndex((known) => known.runId === runId);
    if (place >= 0) {
      const known = step.own(attempts, place);
      known.status = status;
      putIfTold(known, "error", told.error);
      putIfTold(known, "worker", told.worker);
      put(known, "endedAt", ended);
    } else {
      const begun = status === "running" ? step.event.timestamp : undefined;
      attempts.push(newAttempt({ runId, status, startedAt: begun, endedAt: ended, error: told.error, worker: told.worker }));
    }
    if (status === "running") reopenTask(step, at, runId);
    step.change();
  };
}

/** A new run of a task. One that had ended is open again, and the run that ended stays as an attempt. */
export function reopenTask(step: Step, at: number, runId: string | undefined): void {
  const task = step.task(at);
  const isKnown = (run: string | undefined): boolean => task.attempts?.some((known) => known.runId === run) ?? false;
  const before = task.runId;
  if (isTerminal(task.status) && before !== runId && !isKnown(before)) {
    const { status, createdAt: startedAt, endedAt, error } = task;
    const attempts = step.ownList(task, "attempts");
    // The new run may stand there already; what ended comes before it.
    const isNew = attempts.length > 0 && attempts[attempts.length - 1]?.runId === runId;
    attempts.splice(attempts.length - Number(isNew), 0, newAttempt({ runId: before, status, startedAt, endedAt, error }));
  }
  if ((task.attempts?.length ?? 0) > 0 && !isKnown(runId)) {
    step.ownList(task, "attempts").push(newAttempt({ runId, status: "running", startedAt: step.event.timestamp }));
  }
  put(task, "runId", runId);
  task.status = "running";
  delete task.error;
  delete task.endedAt;
}

type Told<T> = { [K in keyof T]: T[K] | undefined };

function newAttempt({ status, ...told }: Told<Omit<Attempt, "status">> & { status: Status }): Attempt {
  const out: Attempt = { status };
  put(out, "runId", told.runId);
  put(out, "startedAt", told.startedAt);
  put(out, "endedAt", told.endedAt);
  put(out, "error", told.error);
  put(out, "worker", told.worker);
  return out;
}

function namedTask(step: Step): number | undefined {
  const { taskId, turnId } = step.event.scope;
  if (taskId === undefined && turnId === undefined) {
    step.problem("missing_correlation", `${step.event.type} without a taskId`);
    return undefined;
  }
  const known = findTask(step);
  if (known !== undefined) return known;
  // An ended turn gets no new tasks.
  return isAfterTheEnd(step) ? undefined : taskOf(step);
}
