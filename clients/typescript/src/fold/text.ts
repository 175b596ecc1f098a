/** Deltas: the hot path. Each costs what its own text costs, whatever came before. */

import type { Block, Item, ModelDelta, TextBlock, ToolArgs } from "../generated/events.js";
import { cite, trustAnnotations } from "./cite.js";
import type { DeltaKind } from "./contents.js";
import { PREFIXES } from "./contents.js";
import { itemById, liveTask } from "./find.js";
import { pushItem } from "./items.js";
import { isOpen, newestOpen } from "./open.js";
import type { ItemAt, PartAt, Step } from "./step.js";

/** A delta may leave this many blocks or parts empty before its own. */
const MAX_HOLE = 16;

export function modelDelta(step: Step, delta: ModelDelta): void {
  const at = deltaItem(step, "message", delta.itemId, undefined);
  if (at === undefined) return;
  const message = step.item(at) as Extract<Item, { type: "message" }>;
  const part = partAt(step, at, step.ownList(message, "blockList"), delta.blockIndex ?? 0, "block");
  if (part === undefined) return;
  const block = step.block(part);
  if (isMedia(block)) return mediaDelta(step, block, part.part, delta.delta);
  trustAnnotations(step, part);
  if (!isText(block)) return step.problem("wrong_item_type", `block ${part.part} is not text`);
  block.text += delta.delta;
  if (delta.logprobs !== undefined && block.type === "text") step.ownList(block, "logprobs").push(...delta.logprobs);
  if (delta.annotations !== undefined && block.type === "text") step.ownList(block, "annotations").push(...delta.annotations);
  step.change();
  cite(step, part, delta.delta);
}

type Media = Extract<Block, { type: "file" | "audio" }>;

function isMedia(block: Block | undefined): block is Media {
  return block?.type === "file" || block?.type === "audio";
}

/** A piece of a file or a sound. The pieces are one text of base 64. */
function mediaDelta(step: Step, block: Media, part: number, piece: string): void {
  const data = block.data ?? "";
  if (!continuesBase64(data, piece)) {
    return step.problem("malformed", `block ${part} and this piece are not one text of base 64`);
  }
  block.data = data + piece;
  step.change();
}

/** Only the last piece has padding, and with it the text is whole. */
function continuesBase64(data: string, piece: string): boolean {
  const found = /^([A-Za-z0-9+/]*)(={0,2})$/.exec(piece);
  if (found === null || (piece !== "" && data.endsWith("="))) return false;
  return found[2] === "" || (data.length + piece.length) % 4 === 0;
}

export function toolArgs(step: Step, args: ToolArgs): void {
  const at = deltaItem(step, "tool_call", args.itemId, args.callId);
  if (at === undefined) return;
  const call = step.item(at) as Extract<Item, { type: "tool_call" }>;
  call.arguments += args.delta;
  step.change();
}

/** The item that a delta goes to: by its id, by its call, else the newest open one of the kind; made if none is. */
export function deltaItem(step: Step, kind: DeltaKind, itemId?: string, call?: string): ItemAt | undefined {
  const task = liveTask(step);
  if (task === undefined) return undefined;
  const at = itemId === undefined ? openItemOf(step, task, kind, call) : itemById(step, task, itemId);
  if (at === undefined) return implicitItem(step, task, kind, itemId, call);
  if (step.peekItem(at).type !== kind) {
    step.problem("wrong_item_type", `${step.event.type} for another type of item`);
    return undefined;
  }
  if (!isOpen(step, at)) {
    step.problem("after_terminal", "the item was complete");
    return undefined;
  }
  return at;
}

function openItemOf(step: Step, task: number, kind: DeltaKind, call: string | undefined): ItemAt | undefined {
  return newestOpen(step, task, (at) => {
    const item = step.peekItem(at);
    return call === undefined ? item.type === kind : item.type === "tool_call" && item.callId === call;
  });
}

/** A producer that sends deltas alone gets an item without asking for one. */
function implicitItem(step: Step, task: number, kind: DeltaKind, itemId?: string, call?: string): ItemAt {
  const id = itemId ?? newItemId(step, task, kind);
  switch (kind) {
    case "message":
      return pushItem(step, task, { type: "message", id, role: "assistant" });
    case "reasoning":
      return pushItem(step, task, { type: "reasoning", id });
    case "tool_call":
      return pushItem(step, task, { type: "tool_call", id, callId: call ?? `call_${id}`, name: "", arguments: "" });
  }
}

/** An id that no item of the task has: the kind's prefix and the next place, or a later number if that is taken. */
function newItemId(step: Step, task: number, kind: DeltaKind): string {
  const { positions } = step.output(task);
  let number = step.peekTask(task).output.length;
  while (positions.has(PREFIXES[kind] + number)) number += 1;
  return PREFIXES[kind] + number;
}

/** The part at this index, made if it is the next one. Parts that were left out stand there empty. */
export function partAt(step: Step, at: ItemAt, parts: Block[], index: number, what: string): PartAt | undefined {
  const present = parts.length;
  if (index >= present) {
    if (index - present > MAX_HOLE) {
      step.problem("block_index", `${what} ${index} of ${present}`);
      return undefined;
    }
    while (parts.length <= index) parts.push({ type: "text", text: "" });
    if (index > present) step.problem("block_index", `${what} ${index} of ${present}`);
    for (let part = present; part <= index; part += 1) step.change();
  }
  return { ...at, part: index };
}

/** True if deltas can be added to the block. */
export function isText(block: Block | undefined): block is TextBlock {
  return block?.type === "text" || block?.type === "html";
}
