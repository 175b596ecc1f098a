/** Reasoning: summary parts, and the raw text where a provider shows it. */

import type { Item, ReasoningDelta, ReasoningSummary } from "../generated/events.js";
import { markDone } from "./open.js";
import type { ItemAt, Step } from "./step.js";
import { deltaItem, isText, partAt } from "./text.js";

type Reasoning = Extract<Item, { type: "reasoning" }>;

export function reasoningDelta(step: Step, delta: ReasoningDelta): void {
  const at = deltaItem(step, "reasoning", delta.itemId);
  if (at === undefined) return;
  const index = delta.summaryIndex;
  if (index === undefined) return rawReasoning(step, at, delta.delta);
  const summary = step.ownList(step.item(at) as Reasoning, "summary");
  if (partAt(step, at, summary, index, "summary") === undefined) return;
  if (!isText(summary[index])) return step.problem("wrong_item_type", `summary ${index} is not text`);
  const part = step.own(summary, index);
  if (isText(part)) part.text += delta.delta;
  step.change();
}

function rawReasoning(step: Step, at: ItemAt, delta: string): void {
  const content = step.ownList(step.item(at) as Reasoning, "content");
  if (content.length === 0) content.push({ type: "text", text: "" });
  const last = content.length - 1;
  if (!isText(content[last])) return step.problem("wrong_item_type", `reasoning part ${last} is not text`);
  const part = step.own(content, last);
  if (isText(part)) part.text += delta;
  step.change();
}

export function reasoningSummary(step: Step, told: ReasoningSummary): void {
  const at = deltaItem(step, "reasoning", told.itemId);
  if (at === undefined) return;
  const summary = step.ownList(step.item(at) as Reasoning, "summary");
  const index = told.summaryIndex;
  if (partAt(step, at, summary, index, "summary") === undefined) return;
  const part = step.own(summary, index);
  if (isText(part)) part.text = told.text;
  markDone(step, at, index, true);
  step.change();
}
