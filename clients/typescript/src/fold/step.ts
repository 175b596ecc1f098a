/**
 * An event being applied.
 *
 * A step changes only what it owns. When the old state must stay as it was, it owns what it copied; when it may work
 * in place, it owns everything. The rules are the same code for both.
 */

import type { DecodedEvent } from "../decode/event.js";
import type { Block, Item } from "../generated/events.js";
import type { Derived, Output } from "./derived.js";
import type { ProblemCode, SealedTurn, State, TaskState, ThreadState, TurnState } from "./state.js";

/** A place in a task's output. */
export interface ItemAt {
  /** Position in `state.tasks`. */
  readonly task: number;
  /** Position in the task's output. */
  readonly item: number;
}

/** A block, or a part of a reasoning summary, of an item. */
export interface PartAt extends ItemAt {
  readonly part: number;
}

/** How many problems are kept in full; older ones are only counted. */
const KEPT_PROBLEMS = 32;

type ListName = "threads" | "turns" | "tasks" | "toolCalls" | "actions";

export class Step {
  readonly state: State;
  readonly event: DecodedEvent;
  readonly derived: Derived;
  readonly sealed: SealedTurn[] = [];
  readonly #owned: Set<object> | undefined;

  constructor(state: State, event: DecodedEvent, derived: Derived, mode: "copy" | "in_place") {
    this.state = mode === "copy" ? { ...state } : state;
    this.event = event;
    this.derived = derived;
    this.#owned = mode === "copy" ? new Set() : undefined;
  }

  /** The object at this place, which may be changed. */
  own<T extends object, K extends keyof T>(holder: T, key: K): NonNullable<T[K]> {
    const value = holder[key] as NonNullable<T[K]> & object;
    if (this.#owned === undefined || this.#owned.has(value)) return value;
    const copy = (Array.isArray(value) ? value.slice() : { ...value }) as NonNullable<T[K]> & object;
    this.#owned.add(copy);
    holder[key] = copy;
    return copy;
  }

  /** The list at this place, which may be changed; made if it is not there. */
  ownList<T extends object, K extends keyof T>(holder: T, key: K): NonNullable<T[K]> {
    if (holder[key] === undefined) holder[key] = [] as T[K];
    return this.own(holder, key);
  }

  /** An entry of one of the state's lists, which may be changed. */
  entry<K extends ListName>(list: K, at: number): State[K][number] {
    return this.own(this.own(this.state, list) as State[K][number][], at) as State[K][number];
  }

  /** Puts an entry at the end of one of the state's lists. */
  push<K extends ListName>(list: K, entry: State[K][number]): number {
    return (this.own(this.state, list) as State[K][number][]).push(entry) - 1;
  }

  thread(at: number): ThreadState {
    return this.entry("threads", at);
  }

  turn(at: number): TurnState {
    return this.entry("turns", at);
  }

  task(at: number): TaskState {
    return this.entry("tasks", at);
  }

  item(at: ItemAt): Item {
    return this.own(this.own(this.task(at.task), "output"), at.item);
  }

  /** A block of an item that has blocks, which may be changed; absent if there is none. */
  block(at: PartAt): Block | undefined {
    if (this.peekBlock(at) === undefined) return undefined;
    const item = this.item(at) as Extract<Item, { blockList?: Block[] }>;
    return this.own(this.own(item, "blockList"), at.part);
  }

  // What is only looked at.

  peekTask(at: number): Readonly<TaskState> {
    return this.state.tasks[at] as TaskState;
  }

  peekItem(at: ItemAt): Readonly<Item> {
    return this.peekTask(at.task).output[at.item] as Item;
  }

  peekBlock(at: PartAt): Readonly<Block> | undefined {
    const item = this.peekItem(at);
    return item.type === "message" || item.type === "tool_result" ? item.blockList?.[at.part] : undefined;
  }

  output(task: number): Output {
    // Every task's output is entered when the task is made or read.
    return this.derived.outputs.get(this.peekTask(task).taskId) as Output;
  }

  // What happened.

  /** Counts a change of the state. */
  change(): void {
    this.state.revision += 1;
  }

  problem(code: ProblemCode, detail: string): void {
    const problems = this.own(this.state, "problems");
    problems.count += 1;
    const recent = this.own(problems, "recent");
    if (recent.length === KEPT_PROBLEMS) recent.shift();
    recent.push({ sequence: this.event.sequence, code, detail });
    this.change();
  }
}

/** Sets a member, or takes it away. */
export function put<T extends object, K extends keyof T>(holder: T, key: K, value: T[K] | undefined): void {
  if (value === undefined) delete holder[key];
  else holder[key] = value;
}

/** Sets a member unless there is nothing to set. */
export function putIfTold<T extends object, K extends keyof T>(holder: T, key: K, value: T[K] | undefined): void {
  if (value !== undefined) holder[key] = value;
}
