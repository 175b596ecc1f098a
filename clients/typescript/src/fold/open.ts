/** The open items of a task, by their positions in its output. */

import type { OpenItem } from "./state.js";
import type { ItemAt, Step } from "./step.js";

export function isOpen(step: Step, at: ItemAt): boolean {
  return step.output(at.task).scanners.has(at.item);
}

/** Opens the item, from the beginning. */
export function openItem(step: Step, at: ItemAt): void {
  const open = step.ownList(step.task(at.task), "open");
  const place = placeOf(open, at.item);
  const isThere = open[place]?.position === at.item;
  open.splice(place, isThere ? 1 : 0, { position: at.item });
  step.output(at.task).scanners.set(at.item, []);
}

export function closeItem(step: Step, at: ItemAt): void {
  if (!isOpen(step, at)) return;
  const task = step.task(at.task);
  const open = step.ownList(task, "open");
  open.splice(placeOf(open, at.item), 1);
  if (open.length === 0) delete task.open;
  step.output(at.task).scanners.delete(at.item);
}

/** The newest open item that fits. */
export function newestOpen(step: Step, task: number, fits: (at: ItemAt) => boolean): ItemAt | undefined {
  const open = step.peekTask(task).open ?? [];
  for (let place = open.length - 1; place >= 0; place -= 1) {
    const at = { task, item: (open[place] as OpenItem).position };
    if (fits(at)) return at;
  }
  return undefined;
}

export function isDone(step: Step, at: ItemAt, part: number): boolean {
  const open = step.peekTask(at.task).open ?? [];
  const entry = open[placeOf(open, at.item)];
  return entry?.position === at.item && (entry.done?.includes(part) ?? false);
}

export function markDone(step: Step, at: ItemAt, part: number, done: boolean): void {
  if (!isOpen(step, at) || isDone(step, at, part) === done) return;
  const open = step.ownList(step.task(at.task), "open");
  const entry = step.own(open, placeOf(open, at.item));
  const others = (entry.done ?? []).filter((known) => known !== part);
  const parts = done ? [...others, part].sort((one, other) => one - other) : others;
  if (parts.length > 0) entry.done = parts;
  else delete entry.done;
}

/** Where the position stands, or would stand, in the list. */
function placeOf(open: readonly OpenItem[], position: number): number {
  let [low, high] = [0, open.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((open[middle] as OpenItem).position < position) low = middle + 1;
    else high = middle;
  }
  return low;
}
