/** Citations in the text blocks of messages. */

import type { TextBlock } from "../generated/events.js";
import { Scanner } from "./scanner.js";
import type { PartAt, Step } from "./step.js";

/** Annotations that came with a block are its producer's: they stay, and only what is added to it is searched. */
export function trustAnnotations(step: Step, at: PartAt): void {
  const block = textOf(step, at);
  if (block?.annotations === undefined) return;
  const scanner = step.output(at.task).scanner(at.item, at.part);
  if (scanner?.seen === 0) scanner.scan(block.text);
}

/** Annotates the citations in the text that is new in this block; `added` is that text, if the caller knows it. */
export function cite(step: Step, at: PartAt, added?: string): void {
  const block = textOf(step, at);
  const scanner = step.output(at.task).scanner(at.item, at.part);
  if (block === undefined || scanner === undefined) return;
  // Only the piece is looked at: to cut it from the whole text would cost what the whole text costs.
  const isNext = added !== undefined && scanner.seen + added.length === block.text.length;
  for (const { number, start, end } of scanner.scan(isNext ? added : block.text.slice(scanner.seen))) {
    if (!step.output(at.task).references.has(number)) {
      step.problem("unknown_reference", `[^${number}] cites nothing in this task`);
      continue;
    }
    const annotations = step.ownList(step.block(at) as TextBlock, "annotations");
    annotations.push({ type: "reference_to_block", referenceId: number, startIndex: start, endIndex: end });
  }
}

/** Annotations that came with the block are kept; otherwise its citations are found. */
export function citeUnlessAnnotated(step: Step, at: PartAt): void {
  if (step.peekItem(at).type !== "message") return;
  const block = step.peekBlock(at);
  if (block === undefined) return;
  if (block.type === "text" && block.annotations === undefined) return cite(step, at);
  const scanners = step.output(at.task).scanners.get(at.item);
  if (scanners === undefined) return;
  step.output(at.task).scanner(at.item, at.part);
  scanners[at.part] = Scanner.after(block.type === "text" ? block.text : "");
}

export function resetScanner(step: Step, at: PartAt): void {
  const scanners = step.output(at.task).scanners.get(at.item);
  if (scanners !== undefined && at.part < scanners.length) scanners[at.part] = new Scanner();
}

function textOf(step: Step, at: PartAt): Readonly<TextBlock> | undefined {
  const block = step.peekItem(at).type === "message" ? step.peekBlock(at) : undefined;
  return block?.type === "text" ? block : undefined;
}
