/** Blocks that come as a whole: files, pictures and their drafts, tables, short texts. */

import type { ItemUpdated } from "../generated/events.js";
import { citeUnlessAnnotated, resetScanner } from "./cite.js";
import { hasBlocks, refIdOf } from "./contents.js";
import { decrease, increase } from "./derived.js";
import { itemById, liveTask } from "./find.js";
import { isOpen, markDone } from "./open.js";
import type { Step } from "./step.js";

export function itemUpdated(step: Step, updated: ItemUpdated): void {
  const task = liveTask(step);
  if (task === undefined) return;
  const at = itemById(step, task, updated.itemId);
  if (at === undefined) return step.problem("unknown_item", `item \`${updated.itemId}\``);
  if (!isOpen(step, at)) return step.problem("after_terminal", `item \`${updated.itemId}\` was complete`);
  const { type } = step.peekItem(at);
  if (!hasBlocks(step.peekItem(at))) {
    return step.problem("wrong_item_type", `item \`${updated.itemId}\` has no blocks`);
  }
  const item = step.item(at);
  if (!hasBlocks(item)) return;
  const blocks = step.ownList(item, "blockList");
  const [index, present] = [updated.blockIndex, blocks.length];
  const part = { ...at, part: Math.min(index, present) };
  const before = blocks[part.part];
  blocks[part.part] = updated.block;
  if (type === "tool_result") recountReference(step, task, before && refIdOf(before), refIdOf(updated.block));
  if (index > present) step.problem("block_index", `block ${index} of ${present}`);
  resetScanner(step, part);
  citeUnlessAnnotated(step, part);
  // A block that comes again is not final any more.
  markDone(step, at, part.part, updated.change === "done");
  step.change();
}

/** Only results can be cited. */
function recountReference(step: Step, task: number, before: number | undefined, after: number | undefined): void {
  const { references } = step.output(task);
  if (before !== undefined) decrease(references, before);
  if (after !== undefined) increase(references, after);
}
