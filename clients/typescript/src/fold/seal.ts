/** Old turns leave the state, so that the thousandth costs what the first did. */

import type { SealedTurn, TurnState } from "./state.js";
import { WINDOW } from "./state.js";
import { isTerminal } from "./status.js";
import type { Step } from "./step.js";

/**
 * Called when a turn begins: finished turns beyond the window go, oldest first. A turn with a pending action stays,
 * whatever its age.
 */
export function sealOldTurns(step: Step): void {
  const canSeal = (turn: TurnState): boolean => isTerminal(turn.status) && !step.derived.turnWaits(turn.turnId);
  while (step.state.turns.filter((turn) => isTerminal(turn.status)).length >= WINDOW) {
    const oldest = step.state.turns.find(canSeal);
    if (oldest === undefined) return;
    step.sealed.push(takeTurn(step, oldest));
    step.state.sealedTurns += 1;
    step.change();
  }
}

function takeTurn(step: Step, turn: TurnState): SealedTurn {
  const { state } = step;
  const isOf = (entry: { turnId?: string }): boolean => entry.turnId === turn.turnId;
  const stays = (entry: { turnId?: string }): boolean => !isOf(entry);
  const sealed = {
    turn,
    tasks: state.tasks.filter(isOf),
    toolCalls: state.toolCalls.filter(isOf),
    actions: state.actions.filter(isOf),
  };
  state.turns = state.turns.filter((entry) => entry !== turn);
  state.tasks = state.tasks.filter(stays);
  state.toolCalls = state.toolCalls.filter(stays);
  state.actions = state.actions.filter(stays);
  step.derived.forget(state, sealed.tasks);
  return sealed;
}
