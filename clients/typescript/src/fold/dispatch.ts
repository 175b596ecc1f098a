/** Which rule an event type has. A known type without one is kept in the ledger, as it was told. */

import { PayloadError } from "../decode/payload.js";
import { actionRequired, actionResolved } from "./actions.js";
import { benchmarkComparison, benchmarkConfiguration, benchmarkDataset, benchmarkTrial } from "./benchmarks.js";
import { itemUpdated } from "./blocks.js";
import { file } from "./files.js";
import { touchTurn } from "./find.js";
import { followStatus } from "./halt.js";
import { hook } from "./hooks.js";
import { itemCompleted, itemRetracted, itemStarted } from "./items.js";
import { jobCreated, jobEnded, jobItemCompleted, jobItemFailed, jobItemStarted, jobProgress, jobStarted } from "./jobs.js";
import { agentChanged, costRecorded, handoffCompleted, ledger, modelCompleted, queueChanged } from "./plain.js";
import { processEnded, processInput, processOutput, processStarted } from "./processes.js";
import { reasoningDelta, reasoningSummary } from "./reasoning.js";
import { snapshot } from "./repair.js";
import type { Step } from "./step.js";
import { attempt, taskCompleted, taskCreated, taskFailed, taskStatus, taskUpdated } from "./tasks.js";
import { modelDelta, toolArgs } from "./text.js";
import { toolEnded, toolFailed, toolProgress, toolResult, toolStarted } from "./tools.js";
import {
  historyRolledBack,
  session,
  thread,
  turnCancelled,
  turnCompleted,
  turnFailed,
  turnStarted,
  turnSubmitted,
} from "./turns.js";

/** The payload has been read by the form of its type, which is the form that the rule takes. */
type Rule = (step: Step, payload: never) => void;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["model.delta", modelDelta],
  ["reasoning.delta", reasoningDelta],
  ["reasoning.summary", reasoningSummary],
  ["tool.args", toolArgs],
  // It repeats what the other events say.
  ["model.raw", () => {}],
  ["item.started", itemStarted],
  ["item.updated", itemUpdated],
  ["item.completed", itemCompleted],
  ["item.retracted", itemRetracted],

  ["session.created", session],
  ["session.updated", session],
  ["thread.started", thread],
  ["thread.updated", thread],
  ["turn.submitted", turnSubmitted],
  ["turn.started", turnStarted],
  ["turn.completed", turnCompleted],
  ["turn.failed", turnFailed],
  ["turn.cancelled", turnCancelled],

  ["task.created", taskCreated],
  ["task.updated", taskUpdated],
  ["task.accepted", taskStatus("accepted")],
  ["task.queued", taskStatus("queued")],
  ["task.started", taskStatus("running")],
  ["task.waiting", taskStatus("waiting_input")],
  ["task.blocked", taskStatus("blocked")],
  ["task.paused", taskStatus("paused")],
  ["task.resumed", taskStatus("running")],
  ["task.retrying", taskStatus("retrying")],
  ["task.cancel_requested", taskStatus("cancelling")],
  ["task.cancelled", taskStatus("cancelled")],
  ["task.timed_out", taskStatus("timed_out")],
  ["task.lost", taskStatus("lost")],
  ["task.archived", taskStatus("archived")],
  ["task.failed", taskFailed],
  ["task.completed", taskCompleted],
  ["task.attempt.started", attempt("running")],
  ["task.attempt.completed", attempt("completed")],
  ["task.attempt.failed", attempt("failed")],

  ["model.completed", modelCompleted],
  ["tool.started", toolStarted],
  ["tool.progress", toolProgress],
  ["tool.result", toolResult],
  ["tool.failed", toolFailed],
  ["tool.cancelled", toolEnded("cancelled")],
  ["tool.outcome_unknown", toolEnded("unknown")],
  ["action.required", actionRequired],
  ["action.resolved", actionResolved],
  ["queue.changed", queueChanged],
  ["agent.changed", agentChanged],
  ["handoff.completed", handoffCompleted],
  ["hook.started", hook("running")],
  ["hook.completed", hook("completed")],
  ["hook.failed", hook("failed")],
  ["file.processing.started", file("running")],
  ["file.processing.completed", file("completed")],
  ["file.processing.failed", file("failed")],
  ["cost.recorded", costRecorded],
  ["process.started", processStarted],
  ["process.output", processOutput],
  ["process.input", processInput],
  ["process.completed", processEnded("completed")],
  ["process.failed", processEnded("failed")],
  ["process.terminated", processEnded("cancelled")],
  ["job.created", jobCreated],
  ["job.started", jobStarted],
  ["job.progress", jobProgress],
  ["job.item.started", jobItemStarted],
  ["job.item.completed", jobItemCompleted],
  ["job.item.failed", jobItemFailed],
  ["job.completed", jobEnded("completed")],
  ["job.failed", jobEnded("failed")],
  ["job.cancelled", jobEnded("cancelled")],
  ["benchmark.dataset.resolved", benchmarkDataset],
  ["benchmark.configuration.resolved", benchmarkConfiguration],
  ["benchmark.trial.started", benchmarkTrial("running")],
  ["benchmark.trial.completed", benchmarkTrial("completed")],
  ["benchmark.trial.failed", benchmarkTrial("failed")],
  ["benchmark.reward.recorded", benchmarkTrial()],
  ["benchmark.comparison.completed", benchmarkComparison],
  ["history.rollback.completed", historyRolledBack],
  ["snapshot.updated", snapshot],
  ["snapshot.repaired", snapshot],
]);

export function run(step: Step): void {
  const { type, payload } = step.event;
  if (payload instanceof PayloadError) return step.problem("malformed", payload.message);
  const problems = step.state.problems.count;
  touchTurn(step);
  const rule = RULES.get(type) ?? ledger;
  rule(step, payload as never);
  // An event that was refused says nothing about its session.
  if (step.state.problems.count === problems) followStatus(step);
}
