/** Items: begun, completed, withdrawn. */

import type { Block, Item, ItemCompleted, ItemPatch, ItemRetracted, ItemStarted } from "../generated/events.js";
import { citeUnlessAnnotated, resetScanner } from "./cite.js";
import { blocksOf, contentsOf, hasStatus, idOf, itemOf, keepsContents, patched, referencesOf, statusOf } from "./contents.js";
import { decrease, increase } from "./derived.js";
import { findTask, itemById, liveTask } from "./find.js";
import { closeItem, isDone, isOpen, openItem } from "./open.js";
import type { ItemAt, PartAt, Step } from "./step.js";

export function itemStarted(step: Step, started: ItemStarted): void {
  const task = liveTask(step);
  if (task === undefined) return;
  const id = idOf(started.item);
  if (id === undefined) return step.problem("malformed", "the item has no id");
  const known = itemById(step, task, id);
  if (known === undefined) checkPlace(step, task, id, started.outputIndex);
  const at = known === undefined ? pushItem(step, task, started.item) : restartItem(step, known, started.item);
  announceContents(step, at);
}

export function itemCompleted(step: Step, completed: ItemCompleted): void {
  const task = liveTask(step);
  if (task === undefined) return;
  const id = idOf(completed.item);
  if (id === undefined) return step.problem("malformed", "the item has no id");
  let at = itemById(step, task, id);
  if (at === undefined) {
    checkPlace(step, task, id, completed.outputIndex);
    at = pushItem(step, task, itemOf(completed.item));
    announceContents(step, at);
  } else {
    if (!isOpen(step, at)) return step.problem("already_ended", `item \`${id}\` was complete`);
    if (!patchItem(step, at, completed.item)) return;
  }
  finishItem(step, at, statusOf(completed.item) ?? "completed");
}

export function itemRetracted(step: Step, retracted: ItemRetracted): void {
  const task = findTask(step);
  const at = task === undefined ? undefined : itemById(step, task, retracted.itemId);
  if (at === undefined) return step.problem("unknown_item", `item \`${retracted.itemId}\``);
  const state = step.task(at.task);
  if (state.retracted?.includes(at.item)) return;
  state.retracted = [...(state.retracted ?? []), at.item].sort((one, other) => one - other);
  closeItem(step, at);
  setStatus(step, at, "incomplete");
  step.change();
}

/** Puts a new item at the end of the output, open. */
export function pushItem(step: Step, task: number, item: Item): ItemAt {
  const output = step.own(step.task(task), "output");
  const at = { task, item: output.length };
  const id = idOf(item);
  if (id !== undefined) step.output(task).positions.set(id, at.item);
  output.push(inProgress(item));
  openItem(step, at);
  count(step, at);
  step.change();
  return at;
}

/** An item that begins again is what it says now. */
function restartItem(step: Step, at: ItemAt, item: Item): ItemAt {
  discount(step, at);
  const task = step.task(at.task);
  step.own(task, "output")[at.item] = inProgress(item);
  openItem(step, at);
  const retracted = task.retracted?.filter((position) => position !== at.item) ?? [];
  if (retracted.length > 0) task.retracted = retracted;
  else delete task.retracted;
  count(step, at);
  step.change();
  return at;
}

function inProgress(item: Item): Item {
  return hasStatus(item) && item.status === undefined ? { ...item, status: "in_progress" } : item;
}

function checkPlace(step: Step, task: number, id: string, outputIndex: number): void {
  const next = step.peekTask(task).output.length;
  if (outputIndex !== next) step.problem("output_index", `item \`${id}\` at ${outputIndex}, the next place is ${next}`);
}

/** Enters what others look up in the item: the call that it belongs to, the numbers that it can be cited by. */
function count(step: Step, at: ItemAt): void {
  const item = step.peekItem(at);
  step.derived.addCaller(at.task, item);
  for (const number of referencesOf(item)) increase(step.output(at.task).references, number);
}

/** Takes out what `count` entered, before the item changes. */
function discount(step: Step, at: ItemAt): void {
  const item = step.peekItem(at);
  step.derived.removeCaller(at.task, item);
  for (const number of referencesOf(item)) decrease(step.output(at.task).references, number);
}

/** An item may begin with contents: they are told like contents that came later. */
function announceContents(step: Step, at: ItemAt): void {
  const { kind, parts } = contentsOf(step.peekItem(at));
  for (let part = 0; part < parts; part += 1) {
    step.change();
    if (kind === "summary") step.change();
    else if (kind === "block") announceText(step, { ...at, part });
  }
}

function announceText(step: Step, at: PartAt): void {
  const block = step.peekBlock(at);
  if (block === undefined || !(block.type === "text" || block.type === "html") || block.text === "") return;
  step.change();
  citeUnlessAnnotated(step, at);
}

/** Merges: an absent member keeps, a present one replaces, null clears. False if the types differ. */
function patchItem(step: Step, at: ItemAt, patch: ItemPatch): boolean {
  const item = step.peekItem(at);
  if (item.type !== patch.type) {
    step.problem("wrong_item_type", `a patch of type \`${patch.type}\` does not fit an item of type \`${item.type}\``);
    return false;
  }
  const keeps = keepsContents(patch);
  const before = blocksOf(item);
  if (!keeps) discount(step, at);
  step.own(step.task(at.task), "output")[at.item] = patched(item, patch);
  if (!keeps) {
    count(step, at);
    keepAnnotations(step, at, before);
  }
  return true;
}

/** A text that was only confirmed keeps the annotations that were found in it. */
function keepAnnotations(step: Step, at: ItemAt, before: readonly Block[]): void {
  const parts = blocksOf(step.peekItem(at)).length;
  for (let part = 0; part < parts; part += 1) {
    const place = { ...at, part };
    const block = step.block(place);
    if (block?.type !== "text") continue;
    const old = before[part];
    if (old?.type !== "text" || old.text !== block.text) {
      resetScanner(step, place);
      citeUnlessAnnotated(step, place);
    } else if (block.annotations === undefined && old.annotations !== undefined) {
      block.annotations = old.annotations;
    }
  }
}

/** Closes what is open in the item, then the item. */
export function finishItem(step: Step, at: ItemAt, status: string): void {
  const { parts } = contentsOf(step.peekItem(at));
  for (let part = 0; part < parts; part += 1) {
    if (!isDone(step, at, part)) step.change();
  }
  setStatus(step, at, status);
  closeItem(step, at);
  step.change();
}

function setStatus(step: Step, at: ItemAt, status: string): void {
  if (!hasStatus(step.peekItem(at))) return;
  const item = step.item(at);
  if (hasStatus(item)) item.status = status;
}
