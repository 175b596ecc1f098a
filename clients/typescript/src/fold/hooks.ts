/** What hooks did: to a turn's input, and to calls of tools. */

import type { HookRun } from "../generated/events.js";
import { findTurn } from "./find.js";
import { ledger } from "./plain.js";
import type { HookOutcome } from "./state.js";
import type { Step } from "./step.js";
import { put } from "./step.js";
import { namedCall } from "./tools.js";

type HookStatus = "running" | "completed" | "failed";

export function hook(status: HookStatus): (step: Step, run: HookRun) => void {
  return (step, run) => {
    if (status === "completed") updatedPrompt(step, run);
    if (step.event.scope.toolCallId !== undefined) hookOfCall(step, status, run);
    ledger(step);
  };
}

/** From now on the turn is asked this; `turn.submitted` keeps what it was asked first. */
function updatedPrompt(step: Step, run: HookRun): void {
  const turn = findTurn(step, step.event.scope.turnId);
  if (turn === undefined || run.updatedPrompt === undefined) return;
  step.turn(turn).input = run.updatedPrompt;
  step.change();
}

/** The last word of each hook at each point. */
function hookOfCall(step: Step, status: HookStatus, run: HookRun): void {
  const call = namedCall(step);
  if (call === undefined) return;
  const outcome: HookOutcome = { status };
  put(outcome, "hookName", run.hookName);
  put(outcome, "point", run.point);
  put(outcome, "outcome", run.outcome);
  put(outcome, "reason", run.reason);
  put(outcome, "updatedInputRef", run.updatedInputRef);
  put(outcome, "updatedToolOutputRef", run.updatedToolOutputRef);
  const hooks = step.ownList(call, "hooks");
  const at = hooks.findIndex((known) => known.hookName === run.hookName && known.point === run.point);
  hooks[at < 0 ? hooks.length : at] = outcome;
}
