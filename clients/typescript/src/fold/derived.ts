/** Places by id and counts, derived from a state: every event finds what it is about without a search. */

import type { Item } from "../generated/events.js";
import { blocksOf, callIdOf, idOf, referencesOf } from "./contents.js";
import { Scanner } from "./scanner.js";
import type { ActionState, State, TaskState } from "./state.js";

export class Derived {
  tasks!: Map<string, number>;
  turns!: Map<string, number>;
  threads!: Map<string, number>;
  actions!: Map<string, number>;
  /** The newest call with the id. */
  calls!: Map<string, number>;
  callsOfTasks!: Map<string, number>;
  /** The tasks whose output has a call or a result with this call id, and how many. */
  #callers = new Map<string, Map<number, number>>();
  /** Pending actions: of the session, of each turn, and of each task that waits for them. */
  pending = 0;
  #pendingByTurn = new Map<string, number>();
  #pendingByTask = new Map<string, number>();
  /** Threads with an active turn. */
  activeThreads = 0;
  readonly outputs = new Map<string, Output>();

  constructor(state: State) {
    for (const task of state.tasks) this.outputs.set(task.taskId, new Output(task));
    this.#rebuild(state);
  }

  /** After turns left the state: positions moved, what is derived of a task's output did not. */
  forget(state: State, sealed: readonly TaskState[]): void {
    for (const task of sealed) this.outputs.delete(task.taskId);
    this.#rebuild(state);
  }

  #rebuild(state: State): void {
    this.tasks = places(state.tasks, (task) => task.taskId);
    this.turns = places(state.turns, (turn) => turn.turnId);
    this.threads = places(state.threads, (thread) => thread.threadId);
    this.actions = places(state.actions, (action) => action.actionId);
    this.calls = places(state.toolCalls, (call) => call.toolCallId);
    this.callsOfTasks = places(state.toolCalls, (call) => callKey(call.toolCallId, call.taskId));
    this.activeThreads = state.threads.filter((thread) => thread.activeTurnId !== undefined).length;
    this.#callers.clear();
    state.tasks.forEach((task, at) => task.output.forEach((item) => this.addCaller(at, item)));
    this.pending = 0;
    this.#pendingByTurn.clear();
    this.#pendingByTask.clear();
    state.actions.filter((action) => action.status === "pending").forEach((action) => this.addPending(action));
  }

  addCaller(task: number, item: Item): void {
    const call = callIdOf(item);
    if (call === undefined) return;
    const tasks = this.#callers.get(call) ?? new Map<number, number>();
    this.#callers.set(call, tasks);
    increase(tasks, task);
  }

  removeCaller(task: number, item: Item): void {
    const call = callIdOf(item);
    const tasks = call === undefined ? undefined : this.#callers.get(call);
    if (tasks !== undefined) decrease(tasks, task);
  }

  /** The newest task whose output has this call. */
  caller(call: string): number | undefined {
    const tasks = this.#callers.get(call);
    return tasks === undefined || tasks.size === 0 ? undefined : Math.max(...tasks.keys());
  }

  addPending(action: ActionState): void {
    this.pending += 1;
    if (action.turnId !== undefined) increase(this.#pendingByTurn, action.turnId);
    for (const task of waitingTasks(action)) increase(this.#pendingByTask, task);
  }

  removePending(action: ActionState): void {
    this.pending -= 1;
    if (action.turnId !== undefined) decrease(this.#pendingByTurn, action.turnId);
    for (const task of waitingTasks(action)) decrease(this.#pendingByTask, task);
  }

  turnWaits(turnId: string): boolean {
    return this.#pendingByTurn.has(turnId);
  }

  /** How many decisions a turn waits for. */
  waitsIn(turnId: string): number {
    return this.#pendingByTurn.get(turnId) ?? 0;
  }

  taskWaits(taskId: string): boolean {
    return this.#pendingByTask.has(taskId);
  }
}

/** What is derived of one task's output. */
export class Output {
  /** Positions by item id. */
  readonly positions = new Map<string, number>();
  /** How often each number that can be cited stands in the results. */
  readonly references = new Map<number, number>();
  /** The open items by position, with the citation scan of each of their blocks. */
  readonly scanners = new Map<number, Scanner[]>();

  constructor(task: TaskState) {
    task.output.forEach((item, at) => {
      const id = idOf(item);
      if (id !== undefined) this.positions.set(id, at);
      for (const number of referencesOf(item)) increase(this.references, number);
    });
    for (const { position } of task.open ?? []) {
      const item = task.output[position];
      const blocks = item?.type === "message" ? blocksOf(item) : [];
      const texts = blocks.map((block) => (block.type === "text" ? block.text : ""));
      this.scanners.set(position, texts.map(Scanner.after));
    }
  }

  /** The scan of a block of an open item. */
  scanner(position: number, part: number): Scanner | undefined {
    const scanners = this.scanners.get(position);
    if (scanners === undefined) return undefined;
    while (scanners.length <= part) scanners.push(new Scanner());
    return scanners[part];
  }
}

export function callKey(toolCallId: string, taskId: string | undefined): string {
  return `${toolCallId}\n${taskId ?? ""}`;
}

export function increase<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function decrease<K>(counts: Map<K, number>, key: K): void {
  const count = counts.get(key);
  if (count === undefined) return;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
}

/** An action makes its own task wait and the outermost one, which may be the same. */
function waitingTasks(action: ActionState): Set<string> {
  return new Set([action.taskId, action.rootTaskId].filter((task) => task !== undefined));
}

function places<T>(of: readonly T[], key: (entry: T) => string): Map<string, number> {
  return new Map(of.map((entry, at) => [key(entry), at]));
}
