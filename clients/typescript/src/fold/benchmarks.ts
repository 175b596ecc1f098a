/** Benchmarks that a harness outside runs: what it measured, by trial. */

import type { BenchmarkIds, BenchmarkInfo, Json } from "../generated/events.js";
import { isObject } from "../decode/payload.js";
import { ledger } from "./plain.js";
import type { BenchmarkFact, Benchmarks, TrialState } from "./state.js";
import { isTerminal } from "./status.js";
import type { Step } from "./step.js";
import { put, putIfTold } from "./step.js";

/** Trials in the state; the oldest that has ended is dropped first, and is counted. */
const MAX_TRIALS = 256;
/** Data sets, configurations and comparisons in the state, of each. */
const MAX_FACTS = 64;
/** References that are joined for one trial; more replace those before. */
const MAX_REFS = 64;

type FactList = "datasets" | "configurations" | "comparisons";

/** The newest facts on a data set replace those before. */
export function benchmarkDataset(step: Step, info: BenchmarkInfo): void {
  const ids = info.benchmark;
  if (ids?.datasetId === undefined) return missing(step, "the id of what it is about");
  const isSame = (other: BenchmarkIds): boolean =>
    other.datasetId === ids.datasetId && other.datasetVersion === ids.datasetVersion;
  addFact(step, "datasets", info, isSame);
}

export function benchmarkConfiguration(step: Step, info: BenchmarkInfo): void {
  const id = info.benchmark?.configurationId;
  if (id === undefined) return missing(step, "the id of what it is about");
  addFact(step, "configurations", info, (other) => other.configurationId === id);
}

export function benchmarkComparison(step: Step, info: BenchmarkInfo): void {
  addFact(step, "comparisons", info, () => false);
}

function missing(step: Step, what: string): void {
  step.problem("missing_correlation", `${step.event.type} without ${what}`);
}

function addFact(step: Step, list: FactList, info: BenchmarkInfo, isSame: (other: BenchmarkIds) => boolean): void {
  const fact: BenchmarkFact = {
    sequence: step.event.sequence,
    recordedAt: step.event.timestamp,
    benchmark: info.benchmark ?? {},
  };
  for (const name of ["comparison", "metrics", "decisionInputs", "refs"] as const) putIfTold(fact, name, info[name]);
  const benchmarks = ownBenchmarks(step);
  const facts = (benchmarks[list] ?? []).filter((other) => !isSame(other.benchmark));
  facts.push(fact);
  if (facts.length > MAX_FACTS) {
    facts.shift();
    benchmarks.dropped = (benchmarks.dropped ?? 0) + 1;
  }
  benchmarks[list] = facts;
  ledger(step);
}

/** What a harness recorded on a trial; without a status it leaves that as it is. */
export function benchmarkTrial(status?: "running" | "completed" | "failed"): (step: Step, info: BenchmarkInfo) => void {
  return (step, info) => {
    const trial = openTrial(step, status, info);
    if (trial === undefined) return;
    const { timestamp, scope, traceId } = step.event;
    if (status !== undefined) trial.status = status;
    if (status === "running") trial.startedAt ??= timestamp;
    else if (status !== undefined) trial.endedAt = timestamp;
    for (const name of ["threadId", "turnId", "taskId", "runId"] as const) putIfTold(trial, name, scope[name]);
    putIfTold(trial, "traceId", traceId);
    record(trial, info);
    ledger(step);
  };
}

function ownBenchmarks(step: Step): Benchmarks {
  step.state.benchmarks ??= {};
  return step.own(step.state, "benchmarks");
}

/** The trial that the event names; made if this is the first event about it. */
function openTrial(step: Step, status: string | undefined, info: BenchmarkInfo): TrialState | undefined {
  const trialId = info.benchmark?.trialId;
  if (trialId === undefined) {
    missing(step, "a trialId");
    return undefined;
  }
  const at = step.state.benchmarks?.trials?.findIndex((known) => known.trialId === trialId) ?? -1;
  const known = step.state.benchmarks?.trials?.[at];
  if (known !== undefined && status !== undefined && isTerminal(known.status)) {
    step.problem("already_ended", `trial \`${trialId}\` was ${known.status} before`);
    return undefined;
  }
  const benchmarks = ownBenchmarks(step);
  const trials = step.ownList(benchmarks, "trials");
  if (known !== undefined) return step.own(trials, at);
  if (trials.length >= MAX_TRIALS) {
    const ended = trials.findIndex((entry) => isTerminal(entry.status));
    trials.splice(Math.max(ended, 0), 1);
    benchmarks.dropped = (benchmarks.dropped ?? 0) + 1;
  }
  trials.push({ trialId, status: "unknown", sequence: step.event.sequence, benchmark: {} });
  return step.own(trials, trials.length - 1);
}

const RECORDED = [
  "runtimeCorrelation",
  "attempt",
  "timeoutSec",
  "trajectory",
  "metrics",
  "decisionInputs",
  "failureCategory",
  "error",
] as const;

function record(trial: TrialState, info: BenchmarkInfo): void {
  trial.benchmark = { ...trial.benchmark, ...info.benchmark };
  if (info.singleChangedVariable !== undefined) trial.benchmark.singleChangedVariable = info.singleChangedVariable;
  for (const name of RECORDED) putIfTold(trial, name, info[name] as never);
  if (info.reward !== undefined) {
    trial.reward = { ...info.reward };
    put(trial.reward, "criteria", info.reward.criteria ?? info.criteria);
  }
  if (info.refs !== undefined) trial.refs = mergeRefs(trial.refs, info.refs);
}

/** Objects are joined by name, the newer value wins; anything else replaces what was there. */
function mergeRefs(known: Json | undefined, given: Json): Json {
  if (!isObject(known) || !isObject(given)) return given;
  const joined = { ...known, ...given };
  return Object.keys(joined).length > MAX_REFS ? given : (joined as Json);
}
