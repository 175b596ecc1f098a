/** A reader that holds a state gets a snapshot. The snapshot wins, but nothing that still needs somebody is lost. */

import { callKey } from "./derived.js";
import type { ActionState, State, ToolCallState } from "./state.js";

/**
 * Goes on from the snapshot. Pending actions and failed calls that only `before` knows are kept. A snapshot that has
 * seen less than the state leaves it as it is.
 */
export function adopt(before: State, snapshot: State): State {
  if (snapshot.sequence < before.sequence) return before;
  const { turns, sealedTurns, updatedAt } = snapshot;
  const wasSealed = (turnId: string | undefined): boolean =>
    turnId !== undefined && sealedTurns > before.sealedTurns && !turns.some((turn) => turn.turnId === turnId);
  const actions = [...snapshot.actions, ...keptActions(before, snapshot, wasSealed, updatedAt)];
  return { ...snapshot, actions, toolCalls: withFailures(before, snapshot, wasSealed) };
}

type WasSealed = (turnId: string | undefined) => boolean;

/** A turn is sealed only when nothing of it is pending: then the action can no longer be decided. */
function keptActions(before: State, snapshot: State, wasSealed: WasSealed, time: string | undefined): ActionState[] {
  const known = new Set(snapshot.actions.map((action) => action.actionId));
  const unknown = before.actions.filter((action) => action.status === "pending" && !known.has(action.actionId));
  return unknown.map((action) => {
    if (!wasSealed(action.turnId)) return action;
    return { ...action, status: "abandoned", ...(time !== undefined && { resolvedAt: time }) };
  });
}

function withFailures(before: State, snapshot: State, wasSealed: WasSealed): ToolCallState[] {
  const calls = snapshot.toolCalls.slice();
  const places = new Map(calls.map((call, at) => [callKey(call.toolCallId, call.taskId), at]));
  for (const call of before.toolCalls.filter((known) => known.status === "failed")) {
    const at = places.get(callKey(call.toolCallId, call.taskId));
    const now = at === undefined ? undefined : calls[at];
    // A sealed turn took its calls with it; they are stored there.
    if (at === undefined && !wasSealed(call.turnId)) calls.push(call);
    // One that was tried again since is as the snapshot says.
    else if (at !== undefined && now !== undefined && !wasRestarted(now, call)) calls[at] = call;
  }
  return calls;
}

/** Times of one spelling compare as text; an absent one is before all others. */
function wasRestarted(now: ToolCallState, before: ToolCallState): boolean {
  return (now.startedAt ?? "") > (before.endedAt ?? "");
}
