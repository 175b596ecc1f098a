/** A snapshot in the log may correct what events told. It never erases a pending action or a failed call. */

import { PayloadError, isObject, objectReader } from "../decode/payload.js";
import type { ErrorInfo, SnapshotInfo } from "../generated/events.js";
import { pushAction } from "./actions.js";
import { endTask } from "./close.js";
import { rootOf, threadOf } from "./find.js";
import { ledger } from "./plain.js";
import type { ActionState } from "./state.js";
import { isTerminal, parseStatus } from "./status.js";
import type { Step } from "./step.js";
import { put, putIfTold } from "./step.js";
import { newCall } from "./tools.js";

interface ThreadCorrection {
  threadId: string;
  status: string;
  pendingRequests?: unknown[];
  toolCalls?: unknown[];
}

interface TaskCorrection {
  taskId: string;
  status: string;
  title?: string;
}

interface PendingRequest {
  actionId: string;
  turnId?: string;
  taskId?: string;
  toolCallId?: string;
}

interface FailedCall {
  toolCallId: string;
  status: string;
  toolName?: string;
  turnId?: string;
  error?: ErrorInfo;
}

const readThread = objectReader({
  needed: { threadId: "id", status: "text" },
  optional: { pendingRequests: "[json]", toolCalls: "[json]" },
});
const readTask = objectReader({ needed: { taskId: "id", status: "text" }, optional: { title: "text" } });
const readPending = objectReader({
  needed: { actionId: "id" },
  optional: { turnId: "id", taskId: "id", toolCallId: "id" },
});
const readCall = objectReader({
  needed: { toolCallId: "id", status: "text" },
  optional: { toolName: "text", turnId: "id", error: "ErrorInfo" },
});

/**
 * The union of both sides: statuses and titles are the snapshot's, pending actions and failed calls are ours and the
 * snapshot's.
 */
export function snapshot(step: Step, info: SnapshotInfo): void {
  if (info.snapshot !== undefined) {
    const told = attempt(() => readCorrection(info.snapshot));
    if (told instanceof PayloadError) step.problem("malformed", told.message);
    else {
      told.threads.forEach((thread) => correctThread(step, thread));
      told.tasks.forEach((task) => correctTask(step, task));
    }
  }
  ledger(step);
}

/** What we take from the standard's snapshot; the rest is shown as it was told. */
function readCorrection(value: unknown): { threads: ThreadCorrection[]; tasks: TaskCorrection[] } {
  if (!isObject(value)) throw new PayloadError("payload.snapshot", "an object");
  const list = (name: string, read: typeof readThread): unknown[] => {
    const entries = value[name] === undefined ? [] : value[name];
    if (!Array.isArray(entries)) throw new PayloadError(`payload.snapshot.${name}`, "an array");
    return entries.map((entry, at) => read(entry, `payload.snapshot.${name}[${at}]`, 0));
  };
  return {
    threads: list("threads", readThread) as ThreadCorrection[],
    tasks: list("tasks", readTask) as TaskCorrection[],
  };
}

function correctThread(step: Step, told: ThreadCorrection): void {
  const at = threadOf(step, told.threadId);
  const status = parseStatus(told.status);
  if (status !== undefined) {
    step.thread(at).status = status;
    step.change();
  }
  for (const request of told.pendingRequests ?? []) {
    const pending = attempt(() => readPending(request, "", 0) as PendingRequest);
    if (!(pending instanceof PayloadError)) addPending(step, pending, request);
  }
  for (const entry of told.toolCalls ?? []) {
    const call = attempt(() => readCall(entry, "", 0) as FailedCall);
    if (!(call instanceof PayloadError)) addFailedCall(step, call);
  }
}

function addPending(step: Step, pending: PendingRequest, request: unknown): void {
  const { actionId } = pending;
  if (step.derived.actions.has(actionId)) return;
  const task = pending.taskId === undefined ? undefined : step.derived.tasks.get(pending.taskId);
  const { sequence, timestamp } = step.event;
  const action: ActionState = { actionId, status: "pending", sequence, requiredAt: timestamp, request };
  put(action, "turnId", pending.turnId);
  put(action, "taskId", pending.taskId);
  put(action, "rootTaskId", task === undefined ? undefined : step.peekTask(rootOf(step, task)).taskId);
  put(action, "toolCallId", pending.toolCallId);
  pushAction(step, action);
}

function addFailedCall(step: Step, told: FailedCall): void {
  if (told.status !== "failed" || step.derived.calls.has(told.toolCallId)) return;
  const call = step.entry("toolCalls", newCall(step, told.toolCallId));
  call.status = "failed";
  put(call, "toolName", told.toolName);
  putIfTold(call, "turnId", told.turnId);
  put(call, "error", told.error);
  step.change();
}

function correctTask(step: Step, told: TaskCorrection): void {
  const at = step.derived.tasks.get(told.taskId);
  if (at === undefined) return;
  const task = step.task(at);
  putIfTold(task, "title", told.title);
  const status = parseStatus(told.status) ?? task.status;
  if (isTerminal(status) && !isTerminal(task.status)) return endTask(step, at, status);
  if (!isTerminal(status)) delete task.endedAt;
  task.status = status;
  step.change();
}

function attempt<T>(read: () => T): T | PayloadError {
  try {
    return read();
  } catch (error) {
    if (error instanceof PayloadError) return error;
    throw error;
  }
}
