/** Facts that need little: usage, cost, the queue, the acting agent, and the families that are kept as told. */

import type { AgentChanged, Cost, HandoffCompleted, ModelCompleted, QueueChanged, Usage } from "../generated/events.js";
import { findTask, namedTurn } from "./find.js";
import type { LedgerEntry, QueueEntry } from "./state.js";
import type { Step } from "./step.js";
import { put } from "./step.js";

/** Entries kept per family; the longest unchanged one goes first, and is counted. */
const KEPT = 64;
const LARGEST_COUNT = 2 ** 64;

export function modelCompleted(step: Step, completed: ModelCompleted): void {
  const { usage } = completed;
  if (usage === undefined) return ledger(step);
  const [task, turn] = [findTask(step), namedTurn(step)];
  if (task !== undefined) step.task(task).usage = addUsage(step.peekTask(task).usage, usage);
  if (turn !== undefined) step.turn(turn).usage = addUsage(step.turn(turn).usage, usage);
  step.state.usage = addUsage(step.state.usage, usage);
  step.change();
  ledger(step);
}

export function costRecorded(step: Step, cost: Cost): void {
  const currency = cost.currency ?? "USD";
  const before = Object.hasOwn(step.state.cost, currency) ? (step.state.cost[currency] as number) : 0;
  // JSON has no infinity.
  const sum = Math.min(Math.max(before + cost.amount, -Number.MAX_VALUE), Number.MAX_VALUE);
  step.state.cost = { ...step.state.cost, [currency]: sum };
  step.change();
}

export function queueChanged(step: Step, changed: QueueChanged): void {
  step.state.queue = changed.queued.map(({ turnId, position, preview }) => {
    const entry: QueueEntry = { turnId, position };
    put(entry, "preview", preview);
    return entry;
  });
  step.change();
}

export function agentChanged(step: Step, changed: AgentChanged): void {
  setAgent(step, changed.agent);
}

export function handoffCompleted(step: Step, completed: HandoffCompleted): void {
  setAgent(step, completed.to);
}

function setAgent(step: Step, agent: string): void {
  const task = findTask(step);
  if (task !== undefined) step.task(task).agent = agent;
  // A child's agent is its own.
  if (task === undefined || step.peekTask(task).parentTaskId === undefined) step.state.agent = agent;
  step.change();
}

/** Keeps the last word about what the event names. */
export function ledger(step: Step): void {
  const { type, known, sequence, scope, rawPayload } = step.event;
  // What we do not know we do not keep: the log has it, and it is delivered as it came.
  if (!known) return;
  const entry: LedgerEntry = { key: ledgerKey(step), type, sequence };
  put(entry, "turnId", scope.turnId);
  put(entry, "payload", rawPayload);
  const families = step.own(step.state, "ledger");
  const name = type.slice(0, type.indexOf("."));
  const family = (families[name] = { ...(families[name] ?? { entries: [] }) });
  family.entries = family.entries.filter((other) => other.key !== entry.key);
  if (family.entries.length === KEPT) {
    family.entries.shift();
    family.dropped = (family.dropped ?? 0) + 1;
  }
  family.entries.push(entry);
  step.change();
}

/** What the event is about: the thing that it names, a hook at its point, an edge of the task graph, its task, or its type alone. */
function ledgerKey(step: Step): string {
  const { type, subject, subagentId, scope, payload } = step.event;
  if (subject !== undefined || subagentId !== undefined) return subject ?? (subagentId as string);
  const run = type.startsWith("hook.") ? (payload as { hookName?: string; point?: string }) : {};
  if (run.hookName !== undefined) {
    return [run.hookName, run.point, scope.toolCallId].filter((part) => part !== undefined).join(" ");
  }
  const told = payload as { toTaskId?: string; targetId?: string; kind?: string };
  let [target, kind]: [string | undefined, string | undefined] = [undefined, undefined];
  if (type === "task.delegated") target = told.toTaskId;
  if (type === "task.dependency.updated") [target, kind] = [told.targetId, told.kind];
  const task = type.startsWith("task.") ? scope.taskId : undefined;
  return [type, task, target, kind].filter((part) => part !== undefined).join(" ");
}

const COUNTS = ["inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningTokens", "totalTokens"] as const;

export function addUsage(sum: Usage, more: Usage): Usage {
  const out = { ...sum };
  for (const name of COUNTS) {
    const count = more[name];
    if (count !== undefined) out[name] = Math.min((out[name] ?? 0) + count, LARGEST_COUNT);
  }
  return out;
}
