/** Calls of tools: the facts of their execution, beside the items that show them. */

import type { ToolFailed, ToolProgress, ToolResult, ToolStarted } from "../generated/events.js";
import { callKey } from "./derived.js";
import { isAfterTheEnd } from "./find.js";
import type { Status, ToolCallState } from "./state.js";
import { isTerminal } from "./status.js";
import type { Step } from "./step.js";
import { put, putIfTold } from "./step.js";

export function toolStarted(step: Step, started: ToolStarted): void {
  const call = namedCall(step);
  if (call === undefined) return;
  call.status = "running";
  call.toolName = started.toolName;
  call.startedAt = step.event.timestamp;
  delete call.endedAt;
  delete call.error;
  put(call, "inputRef", started.inputRef);
  step.change();
}

export function toolProgress(step: Step, progress: ToolProgress): void {
  const call = namedCall(step);
  if (call === undefined) return;
  putIfTold(call, "progress", progress.message);
  step.change();
}

export function toolResult(step: Step, result: ToolResult): void {
  const call = endingCall(step);
  if (call === undefined) return;
  put(call, "preview", result.preview);
  put(call, "outputRef", result.outputRef);
  endCall(step, call, "completed", result.toolName);
}

export function toolFailed(step: Step, failed: ToolFailed): void {
  const call = endingCall(step);
  if (call === undefined) return;
  call.error = failed.error;
  put(call, "outputRef", failed.outputRef);
  endCall(step, call, "failed", failed.toolName);
}

export function toolEnded(status: Status): (step: Step, told: { toolName?: string }) => void {
  return (step, told) => {
    const call = endingCall(step);
    if (call !== undefined) endCall(step, call, status, told.toolName);
  };
}

function endCall(step: Step, call: ToolCallState, status: Status, toolName: string | undefined): void {
  putIfTold(call, "toolName", toolName);
  call.status = status;
  call.endedAt = step.event.timestamp;
  step.change();
}

/** The call that ends now. The first end stands, unless the call is started again. */
function endingCall(step: Step): ToolCallState | undefined {
  const call = namedCall(step);
  if (call === undefined || !isTerminal(call.status)) return call;
  step.problem("already_ended", `call \`${call.toolCallId}\` was ${call.status} before`);
  return undefined;
}

/** The call that the envelope names, which may be changed; made if this is the first word about it. */
export function namedCall(step: Step): ToolCallState | undefined {
  const { toolCallId } = step.event.scope;
  if (toolCallId === undefined) {
    step.problem("missing_correlation", `${step.event.type} without a toolCallId`);
    return undefined;
  }
  if (isAfterTheEnd(step)) return undefined;
  return step.entry("toolCalls", knownCall(step, toolCallId) ?? newCall(step, toolCallId));
}

/** A word that names no task is about the newest call with the id. A call that had no task gets it now. */
function knownCall(step: Step, id: string): number | undefined {
  const { taskId } = step.event.scope;
  if (taskId === undefined) return step.derived.calls.get(id);
  const calls = step.derived.callsOfTasks;
  const exact = calls.get(callKey(id, taskId));
  if (exact !== undefined) return exact;
  const call = calls.get(callKey(id, undefined));
  if (call === undefined) return undefined;
  calls.delete(callKey(id, undefined));
  calls.set(callKey(id, taskId), call);
  step.entry("toolCalls", call).taskId = taskId;
  return call;
}

export function newCall(step: Step, toolCallId: string): number {
  const { taskId, turnId } = step.event.scope;
  const state: ToolCallState = { toolCallId, status: "unknown" };
  put(state, "taskId", taskId);
  put(state, "turnId", turnId);
  const call = step.push("toolCalls", state);
  step.derived.calls.set(toolCallId, call);
  step.derived.callsOfTasks.set(callKey(toolCallId, taskId), call);
  return call;
}
