/** Processes that tools run: how they stand, what they were given, where their output is. */

import type { ProcessEnded, ProcessInput, ProcessOutput, ProcessStarted } from "../generated/events.js";
import type { ProcessState, Status } from "./state.js";
import { isTerminal } from "./status.js";
import type { Step } from "./step.js";
import { put, putIfTold } from "./step.js";

/** Processes kept; the oldest that has ended goes first, and is counted. */
const KEPT = 64;
/** Places of output that are kept of a process that has not ended; the log has them all. */
const KEPT_REFS = 64;

export function processStarted(step: Step, started: ProcessStarted): void {
  const process = openProcess(step);
  if (process === undefined) return;
  process.startedAt = step.event.timestamp;
  for (const name of ["toolName", "commandSummary", "cwd", "destructive", "interactive"] as const) {
    put(process, name, started[name]);
  }
  step.change();
}

export function processOutput(step: Step, output: ProcessOutput): void {
  const process = openProcess(step);
  if (process === undefined) return;
  process.outputs += 1;
  process.outputBytes += size(output.size, output.text);
  if (output.outputRef !== undefined && (process.outputRefs?.length ?? 0) < KEPT_REFS) {
    process.outputRefs = [...(process.outputRefs ?? []), output.outputRef];
  }
  step.change();
}

export function processInput(step: Step, input: ProcessInput): void {
  const process = openProcess(step);
  if (process === undefined) return;
  process.inputs += 1;
  process.inputBytes += size(input.size, input.text);
  step.change();
}

export function processEnded(status: Status): (step: Step, ended: ProcessEnded) => void {
  return (step, ended) => {
    const process = openProcess(step);
    if (process === undefined) return;
    process.status = status === "failed" && ended.error?.code === "lost" ? "lost" : status;
    process.endedAt = step.event.timestamp;
    for (const name of ["exitCode", "signal", "terminatedBy", "reason", "durationMs", "error"] as const) {
      put(process, name, ended[name]);
    }
    putIfTold(process, "outputBytes", ended.outputBytes);
    if (ended.outputRefs !== undefined) put(process, "outputRefs", nonEmpty(ended.outputRefs));
    step.change();
  };
}

/** The process that the envelope names, which has not ended; made if this is the first word about it. */
function openProcess(step: Step): ProcessState | undefined {
  const { subject, type, scope } = step.event;
  if (subject === undefined) {
    step.problem("missing_correlation", `${type} without a processId`);
    return undefined;
  }
  step.state.processes ??= { entries: [] };
  const at = step.state.processes.entries.findIndex((known) => known.processId === subject);
  const known = step.state.processes.entries[at];
  if (known !== undefined && isTerminal(known.status)) {
    step.problem("already_ended", `process \`${subject}\` was ${known.status} before`);
    return undefined;
  }
  const processes = step.own(step.state, "processes");
  const entries = step.own(processes, "entries");
  if (known !== undefined) return step.own(entries, at);
  if (entries.length >= KEPT) {
    const ended = entries.findIndex((entry) => isTerminal(entry.status));
    entries.splice(Math.max(ended, 0), 1);
    processes.dropped = (processes.dropped ?? 0) + 1;
  }
  const process: ProcessState = {
    processId: subject,
    status: "running",
    inputs: 0,
    inputBytes: 0,
    outputs: 0,
    outputBytes: 0,
  };
  put(process, "turnId", scope.turnId);
  put(process, "taskId", scope.taskId);
  put(process, "toolCallId", scope.toolCallId);
  entries.push(process);
  return process;
}

function nonEmpty<T>(list: T[]): T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function size(told: number | undefined, text: string | undefined): number {
  return told ?? (text === undefined ? 0 : new TextEncoder().encode(text).length);
}
