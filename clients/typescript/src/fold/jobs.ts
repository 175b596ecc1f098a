/** Jobs and their items. An item is tried again alone: the other items keep their results. */

import type { JobInfo, JobItem, JobItemInfo } from "../generated/events.js";
import type { JobItemState, JobState, JobStatus } from "./state.js";
import { ledger } from "./plain.js";
import type { Step } from "./step.js";
import { put, putIfTold } from "./step.js";

/** Jobs in the state; the oldest that has ended is dropped first, and is counted. */
const MAX_JOBS = 32;
/** Items in the state for each job; those beyond are counted. */
const MAX_JOB_ITEMS = 1000;
const LARGEST_ATTEMPT = 2 ** 32 - 1;

const TERMINAL: ReadonlySet<JobStatus> = new Set<JobStatus>(["completed", "failed", "cancelled", "reported"]);

export function jobCreated(step: Step, info: JobInfo): void {
  const job = openJob(step, "pending");
  if (job === undefined) return;
  job.createdAt ??= step.event.timestamp;
  update(job, info);
  for (const item of info.items ?? []) {
    // A job that is full is not searched again for each of them.
    const isKnown = job.items.length < MAX_JOB_ITEMS && job.items.some((known) => known.itemId === item.itemId);
    if (!isKnown) pushItem(step, job, newItem(item));
  }
  ledger(step);
}

/** Begins a job, or goes on with one that had ended, so that its failed items can be tried again. */
export function jobStarted(step: Step, info: JobInfo): void {
  const ended = findJob(step);
  if (ended !== undefined && (ended.status === "completed" || ended.status === "failed")) {
    const job = ownJob(step, ended);
    job.status = "running";
    delete job.endedAt;
    delete job.error;
  }
  const job = openJob(step, "running");
  if (job === undefined) return;
  start(step, job);
  update(job, info);
  ledger(step);
}

export function jobProgress(step: Step, info: JobInfo): void {
  const job = openJob(step, "running");
  if (job === undefined) return;
  start(step, job);
  update(job, info);
  ledger(step);
}

export function jobEnded(status: "completed" | "failed" | "cancelled"): (step: Step, info: JobInfo) => void {
  return (step, info) => {
    const job = openJob(step, "running");
    if (job === undefined) return;
    job.status = status;
    job.endedAt = step.event.timestamp;
    update(job, info);
    put(job, "error", info.error);
    // Nobody works on these any more.
    for (const [at, known] of job.items.entries()) {
      if (status === "cancelled" ? TERMINAL.has(known.status) : known.status !== "running") continue;
      const item = step.own(step.own(job, "items"), at);
      item.status = status === "cancelled" ? "cancelled" : "failed";
      item.endedAt = step.event.timestamp;
      if (status !== "cancelled") putIfTold(item, "lastError", info.error);
    }
    ledger(step);
  };
}

export function jobItemStarted(step: Step, report: JobItem): void {
  const found = openItem(step, report, "failed");
  if (found === undefined) return;
  start(step, found.job);
  const { item } = found;
  if (item !== undefined) {
    const isNewAttempt = item.status !== "running";
    const least = isNewAttempt ? Math.min(item.attempts + 1, LARGEST_ATTEMPT) : item.attempts;
    item.attempts = Math.max(least, report.attempts ?? 0);
    if (isNewAttempt) {
      item.status = "running";
      item.startedAt = step.event.timestamp;
      for (const name of ["endedAt", "retryable", "outputRef"] as const) delete item[name];
    }
    putIfTold(item, "inputRef", report.inputRef);
    putIfTold(item, "threadId", step.event.scope.threadId);
  }
  ledger(step);
}

export function jobItemCompleted(step: Step, report: JobItem): void {
  const isReported = report.status === "reported";
  const found = openItem(step, report, isReported ? "completed" : undefined);
  if (found === undefined) return;
  start(step, found.job);
  const { item } = found;
  if (item !== undefined) {
    item.status = isReported ? "reported" : "completed";
    item.endedAt ??= step.event.timestamp;
    item.attempts = Math.max(item.attempts, report.attempts ?? 1);
    putIfTold(item, "outputRef", report.outputRef);
  }
  ledger(step);
}

export function jobItemFailed(step: Step, report: JobItem): void {
  const found = openItem(step, report, undefined);
  if (found === undefined) return;
  start(step, found.job);
  const { item } = found;
  if (item !== undefined) {
    item.status = "failed";
    item.endedAt = step.event.timestamp;
    item.attempts = Math.max(item.attempts, report.attempts ?? 1);
    putIfTold(item, "lastError", report.lastError);
    put(item, "retryable", report.retryable);
  }
  ledger(step);
}

function findJob(step: Step): JobState | undefined {
  return step.state.jobs?.entries.find((known) => known.jobId === step.event.jobId);
}

function ownJob(step: Step, known: JobState): JobState {
  // A job that was found is in the state.
  const entries = step.own(step.own(step.state, "jobs"), "entries");
  return step.own(entries, entries.indexOf(known));
}

/** The job that the envelope names, which has not ended; made if this is the first event about it. */
function openJob(step: Step, first: JobStatus): JobState | undefined {
  const { jobId, type, scope, sequence } = step.event;
  if (jobId === undefined) {
    step.problem("missing_correlation", `${type} without a jobId`);
    return undefined;
  }
  const known = findJob(step);
  if (known !== undefined && TERMINAL.has(known.status)) {
    step.problem("already_ended", `job \`${jobId}\` was ${known.status} before`);
    return undefined;
  }
  if (known !== undefined) return ownJob(step, known);
  step.state.jobs ??= { entries: [] };
  const jobs = step.own(step.state, "jobs");
  const entries = step.own(jobs, "entries");
  if (entries.length >= MAX_JOBS) {
    const ended = entries.findIndex((entry) => TERMINAL.has(entry.status));
    entries.splice(Math.max(ended, 0), 1);
    jobs.dropped = (jobs.dropped ?? 0) + 1;
  }
  const job: JobState = { jobId, status: first, sequence, items: [] };
  put(job, "threadId", scope.threadId);
  put(job, "taskId", scope.taskId);
  entries.push(job);
  return step.own(entries, entries.length - 1);
}

/**
 * The item that the envelope names and its job, unless it has ended in another status than `follows`. No item if the
 * state has no room for it.
 */
function openItem(
  step: Step,
  report: JobItem,
  follows: JobStatus | undefined,
): { job: JobState; item: JobItemState | undefined } | undefined {
  const { jobItemId, type } = step.event;
  if (jobItemId === undefined) {
    step.problem("missing_correlation", `${type} without a jobItemId`);
    return undefined;
  }
  const job = openJob(step, "running");
  if (job === undefined) return undefined;
  const at = job.items.findIndex((known) => known.itemId === jobItemId);
  const known = job.items[at];
  if (known === undefined) {
    return { job, item: pushItem(step, job, { itemId: jobItemId, status: "pending", attempts: 0 }) };
  }
  const lastEnded = known.status === "failed" ? known.attempts : known.attempts - 1;
  const isLate = report.attempts !== undefined && report.attempts <= lastEnded;
  if (isLate || (TERMINAL.has(known.status) && known.status !== follows)) {
    step.problem("already_ended", `item \`${jobItemId}\` was ${known.status} in attempt ${known.attempts}`);
    return undefined;
  }
  return { job, item: step.own(step.own(job, "items"), at) };
}

/** The item at its place; absent if the state has no room for it. */
function pushItem(step: Step, job: JobState, item: JobItemState): JobItemState | undefined {
  if (job.items.length >= MAX_JOB_ITEMS) {
    job.droppedItems = (job.droppedItems ?? 0) + 1;
    return undefined;
  }
  const items = step.own(job, "items");
  items.push(item);
  return step.own(items, items.length - 1);
}

/** What an event has on the job; what it leaves out stays. */
function update(job: JobState, info: JobInfo): void {
  putIfTold(job, "title", info.title);
  putIfTold(job, "instructionRef", info.instructionRef);
  putIfTold(job, "metadata", info.metadata);
  putIfTold(job, "progress", info.progress);
  put(job, "reason", info.reason);
}

function start(step: Step, job: JobState): void {
  job.status = "running";
  job.startedAt ??= step.event.timestamp;
}

function newItem({ itemId, title, metadata, inputRef }: JobItemInfo): JobItemState {
  const item: JobItemState = { itemId, status: "pending", attempts: 0 };
  putIfTold(item, "title", title);
  putIfTold(item, "metadata", metadata);
  putIfTold(item, "inputRef", inputRef);
  return item;
}
