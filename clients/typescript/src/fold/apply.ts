/**
 * One event into the state.
 *
 * `fold` and `apply` are pure: the old state stays as it was, and shares with the new one what did not change.
 * `Folder` works in place, for those who replay long logs and look at the end only.
 */

import type { DecodedEvent } from "../decode/event.js";
import { decode } from "../decode/event.js";
import { MalformedError } from "../errors.js";
import { Derived } from "./derived.js";
import { run } from "./dispatch.js";
import type { SealedTurn, State } from "./state.js";
import { emptyState } from "./state.js";
import { Step } from "./step.js";

/** What became of an event that was handed to the fold. */
export type Outcome =
  | { readonly type: "applied" }
  /** Its sequence was applied before; nothing changed. */
  | { readonly type: "duplicate" }
  /** Events are missing before it; nothing changed. */
  | { readonly type: "gap"; readonly expected: number; readonly found: number };

/** Whether a missing sequence is a loss, or what a filter left out. */
export type Density = "dense" | "filtered";

export interface Applied {
  readonly state: State;
  readonly outcome: Outcome;
  /** Turns that left the window with this event; their full form is here for the last time. */
  readonly sealed: readonly SealedTurn[];
}

/** What is derived of the newest state of each line of states. Another fold from an older one derives it again. */
const derivedOf = new WeakMap<State, Derived>();

/** The reducer: the state after the event. A duplicate leaves it as it is, and so does an event after a gap. */
export function fold(state: State, event: unknown): State {
  return apply(state, event).state;
}

/** Applies one event of the whole log. Throws `DecodeError` if it is no event at all. */
export function apply(state: State, event: unknown): Applied {
  return applyWith(state, event, "dense");
}

export function applyWith(state: State, event: unknown, density: Density): Applied {
  const decoded = decode(event);
  const outcome = judge(state, decoded, density);
  if (outcome.type !== "applied") return { state, outcome, sealed: [] };
  const derived = derivedOf.get(state) ?? new Derived(state);
  derivedOf.delete(state);
  const step = new Step(state, decoded, derived, "copy");
  advance(step);
  derivedOf.set(step.state, derived);
  return { state: step.state, outcome, sealed: step.sealed };
}

/** Folds in place: `state` is changed by every event. */
export class Folder {
  readonly state: State;
  readonly #derived: Derived;

  /** Takes the state over; it must not be used elsewhere. */
  constructor(state: State = emptyState()) {
    this.state = state;
    this.#derived = new Derived(state);
  }

  apply(event: unknown, density: Density = "dense"): Applied {
    const decoded = decode(event);
    const outcome = judge(this.state, decoded, density);
    if (outcome.type !== "applied") return { state: this.state, outcome, sealed: [] };
    const step = new Step(this.state, decoded, this.#derived, "in_place");
    advance(step);
    return { state: this.state, outcome, sealed: step.sealed };
  }
}

/** Reads a snapshot. Going on from it gives what going on from the original would. */
export function fromSnapshot(snapshot: unknown): State {
  if (typeof snapshot !== "object" || snapshot === null || Array.isArray(snapshot)) {
    throw new MalformedError("a snapshot is an object");
  }
  const state: State = { ...emptyState(), ...(snapshot as Partial<State>) };
  if (!Number.isSafeInteger(state.sequence) || !Array.isArray(state.tasks) || !Array.isArray(state.turns)) {
    throw new MalformedError("a snapshot has a sequence, turns and tasks");
  }
  return state;
}

function judge(state: State, event: DecodedEvent, density: Density): Outcome {
  if (event.sequence <= state.sequence) return { type: "duplicate" };
  // Joined deltas stand for all the events that they were made of.
  const [expected, found] = [state.sequence + 1, event.firstSequence ?? event.sequence];
  return density === "dense" && found !== expected ? { type: "gap", expected, found } : { type: "applied" };
}

function advance(step: Step): void {
  const { state, event } = step;
  const first = Math.max(event.firstSequence ?? event.sequence, state.sequence + 1);
  state.revision += Math.max(event.sequence - first, 0);
  state.sequence = event.sequence;
  state.updatedAt = event.timestamp;
  run(step);
}
