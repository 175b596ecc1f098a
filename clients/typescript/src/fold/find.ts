/** Finds what an event is about, and makes it if the event is the first to name it. */

import { Output } from "./derived.js";
import { sealOldTurns } from "./seal.js";
import type { TaskState } from "./state.js";
import { isTerminal } from "./status.js";
import type { ItemAt, Step } from "./step.js";
import { put } from "./step.js";

/** Deeper chains of tasks are a cycle or an attack. */
const MAX_DEPTH = 64;
const LARGEST_DEPTH = 2 ** 32 - 1;

/** Moves on the last sequence of the turn that the event names. */
export function touchTurn(step: Step): void {
  const turn = namedTurn(step);
  if (turn !== undefined) step.turn(turn).lastSequence = step.event.sequence;
}

/** The turn that the event names, if it is known. */
export function namedTurn(step: Step): number | undefined {
  return findTurn(step, step.event.scope.turnId);
}

export function findTurn(step: Step, turnId: string | undefined): number | undefined {
  return turnId === undefined ? undefined : step.derived.turns.get(turnId);
}

/** The turn that the event names; made if no event submitted it. */
export function turnOf(step: Step): number | undefined {
  const { turnId } = step.event.scope;
  if (turnId === undefined) return undefined;
  return step.derived.turns.get(turnId) ?? newTurn(step, turnId);
}

function newTurn(step: Step, turnId: string): number {
  sealOldTurns(step);
  const { threadId = "main", runId } = step.event.scope;
  const thread = step.thread(threadOf(step, threadId));
  thread.turns += 1;
  thread.lastTurnId = turnId;
  const turn = step.push("turns", {
    turnId,
    threadId,
    status: "unknown",
    firstSequence: step.event.sequence,
    lastSequence: step.event.sequence,
    ...(runId !== undefined && { runId }),
    usage: {},
  });
  step.derived.turns.set(turnId, turn);
  return turn;
}

export function threadOf(step: Step, threadId: string): number {
  const known = step.derived.threads.get(threadId);
  if (known !== undefined) return known;
  const thread = step.push("threads", { threadId, status: "idle", turns: 0 });
  step.derived.threads.set(threadId, thread);
  return thread;
}

/**
 * The task that the event belongs to; made if it is the first to name it. Without a task id it is the turn's root
 * task, and without a turn the task `main`.
 */
export function taskOf(step: Step): number {
  const { taskId: named, turnId } = step.event.scope;
  const turn = named === undefined ? turnOf(step) : undefined;
  const root = turn === undefined ? undefined : step.state.turns[turn]?.taskId;
  const taskId = named ?? root ?? turnId ?? "main";
  return step.derived.tasks.get(taskId) ?? newTask(step, taskId);
}

export function findTask(step: Step): number | undefined {
  const turn = namedTurn(step);
  const taskId = step.event.scope.taskId ?? (turn === undefined ? undefined : step.state.turns[turn]?.taskId);
  return taskId === undefined ? undefined : step.derived.tasks.get(taskId);
}

/** The event's task, unless its turn or the task itself has ended: then nothing of it changes any more. */
export function liveTask(step: Step): number | undefined {
  if (isAfterTheEnd(step)) return undefined;
  const task = taskOf(step);
  const { status, taskId } = step.peekTask(task);
  if (!isTerminal(status)) return task;
  step.problem("after_terminal", `${step.event.type} after the end of task \`${taskId}\``);
  return undefined;
}

/** True, and told as a problem, if the event's turn has ended. */
export function isAfterTheEnd(step: Step): boolean {
  const turn = namedTurn(step);
  const state = turn === undefined ? undefined : step.state.turns[turn];
  if (state === undefined || !isTerminal(state.status)) return false;
  step.problem("after_terminal", `${step.event.type} after the end of turn \`${state.turnId}\``);
  return true;
}

function newTask(step: Step, taskId: string): number {
  const turn = turnOf(step);
  const { scope, depth, timestamp } = step.event;
  const [parent, call] = parentOf(step, taskId);
  const state: TaskState = {
    taskId,
    status: "running",
    depth: depth ?? depthBelow(step, parent),
    createdAt: timestamp,
    usage: {},
    output: [],
  };
  put(state, "turnId", scope.turnId);
  put(state, "runId", scope.runId);
  put(state, "parentTaskId", parent);
  put(state, "parentToolCallId", call);
  if (turn !== undefined && parent === undefined) step.turn(turn).taskId ??= taskId;
  const task = step.push("tasks", state);
  step.derived.tasks.set(taskId, task);
  step.derived.outputs.set(taskId, new Output(state));
  step.change();
  return task;
}

/** The parent of a new task and the parent's call. A child's task id is its parent's call id. */
function parentOf(step: Step, taskId: string): [string | undefined, string | undefined] {
  let { parentTaskId: parent, parentToolCallId: call } = step.event.scope;
  if (parent === undefined) {
    const caller = step.derived.caller(taskId);
    if (caller !== undefined) {
      parent = step.peekTask(caller).taskId;
      call ??= taskId;
    }
  }
  if (parent !== undefined && isAncestor(step, taskId, parent)) {
    taskCycle(step, taskId);
    parent = undefined;
  }
  return [parent, call];
}

/** The depth of a task below this parent, which may not have been told yet. */
export function depthBelow(step: Step, parent: string | undefined): number {
  if (parent === undefined) return 0;
  const above = step.derived.tasks.get(parent);
  return Math.min((above === undefined ? 0 : step.peekTask(above).depth) + 1, LARGEST_DEPTH);
}

export function taskCycle(step: Step, taskId: string): void {
  step.problem("task_cycle", `task \`${taskId}\` would be its own ancestor`);
}

/** True if `task` is `below` or stands above it. */
export function isAncestor(step: Step, task: string, below: string): boolean {
  let at: string | undefined = below;
  for (let level = 0; level < MAX_DEPTH; level += 1) {
    if (at === undefined) return false;
    if (at === task) return true;
    const known = step.derived.tasks.get(at);
    at = known === undefined ? undefined : step.peekTask(known).parentTaskId;
  }
  return true;
}

/** The outermost task above this one. */
export function rootOf(step: Step, task: number): number {
  let at = task;
  for (let level = 0; level < MAX_DEPTH; level += 1) {
    const parent = step.peekTask(at).parentTaskId;
    const above = parent === undefined ? undefined : step.derived.tasks.get(parent);
    if (above === undefined) return at;
    at = above;
  }
  return at;
}

export function itemById(step: Step, task: number, itemId: string): ItemAt | undefined {
  const item = step.output(task).positions.get(itemId);
  return item === undefined ? undefined : { task, item };
}
