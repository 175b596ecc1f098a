/** What is in an item, whatever its type. */

import type { Block, Item, ItemPatch } from "../generated/events.js";

/** The kinds of items that deltas go to, with the prefix of the ids of those that nobody named. */
export const PREFIXES = { message: "msg_", reasoning: "rs_", tool_call: "fc_" } as const;

export type DeltaKind = keyof typeof PREFIXES;

type WithStatus = Extract<Item, { status?: string }>;
type WithBlocks = Extract<Item, { blockList?: Block[] }>;

const HAVE_STATUS: ReadonlySet<string> = new Set(["message", "reasoning", "tool_call", "tool_result", "hosted"]);

export function hasStatus(item: Item): item is WithStatus {
  return HAVE_STATUS.has(item.type);
}

export function idOf(item: Item | ItemPatch): string | undefined {
  return typeof item.id === "string" ? item.id : undefined;
}

export function callIdOf(item: Item): string | undefined {
  return item.type === "tool_call" || item.type === "tool_result" ? item.callId : undefined;
}

const HAVE_BLOCKS: ReadonlySet<string> = new Set(["message", "tool_result", "hosted"]);

export function hasBlocks(item: Item): item is WithBlocks {
  return HAVE_BLOCKS.has(item.type);
}

export function blocksOf(item: Item): readonly Block[] {
  return hasBlocks(item) ? (item.blockList ?? []) : [];
}

/** The number by which a block is cited. */
export function refIdOf(block: Block): number | undefined {
  switch (block.type) {
    case "text":
    case "html":
    case "image":
    case "file":
    case "audio":
    case "table":
    case "json":
      return block.refId;
    case "item":
      return undefined;
    default: {
      const number = block["refId"];
      return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined;
    }
  }
}

/** The numbers by which the blocks and parts of a result are cited. */
export function referencesOf(item: Item): number[] {
  if (item.type !== "tool_result") return [];
  const parts = [...(item.content ?? []), ...(item.blockList ?? [])];
  return parts.map(refIdOf).filter((number) => number !== undefined);
}

/** What of an item is told part by part. */
export function contentsOf(item: Item): { kind: "block" | "summary" | "arguments"; parts: number } {
  switch (item.type) {
    case "reasoning":
      return { kind: "summary", parts: item.summary?.length ?? 0 };
    case "tool_call":
      return { kind: "arguments", parts: item.arguments === "" ? 0 : 1 };
    default:
      return { kind: "block", parts: blocksOf(item).length };
  }
}

export function statusOf(patch: ItemPatch): string | undefined {
  return HAVE_STATUS.has(patch.type) && typeof patch["status" as never] === "string" ? patch["status" as never] : undefined;
}

/** True if the patch leaves the blocks, the parts and the call as they are. */
export function keepsContents(patch: ItemPatch): boolean {
  switch (patch.type) {
    case "message":
    case "hosted":
      return patch.blockList === undefined;
    case "tool_call":
      return patch.callId === undefined;
    case "tool_result":
      return patch.blockList === undefined && patch.content === undefined && patch.callId === undefined;
    default:
      return true;
  }
}

/** Members that an item cannot be without: cleared, they are empty. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  tool_call: ["callId", "name", "arguments"],
  tool_result: ["callId"],
  handoff: ["to"],
  error: ["message"],
  hosted: ["dialect", "kind"],
};

/** The patched item: an absent member keeps, null clears, a present one replaces. An unknown type is replaced. */
export function patched(item: Item, patch: ItemPatch): Item {
  if (!isKnown(patch.type)) return patch as Item;
  const out: Record<string, unknown> = { ...item };
  for (const [name, value] of Object.entries(patch)) {
    if (value !== null) out[name] = value;
    else if (NEEDED[item.type]?.includes(name)) out[name] = "";
    else delete out[name];
  }
  return out as unknown as Item;
}

/** The item that the patch alone describes, for a reader that never saw it start. */
export function itemOf(patch: ItemPatch): Item {
  if (!isKnown(patch.type)) return patch as Item;
  const empty = Object.fromEntries((NEEDED[patch.type] ?? []).map((name) => [name, ""]));
  return patched({ type: patch.type, id: patch.id, ...empty } as unknown as Item, patch);
}

function isKnown(type: string): boolean {
  return HAVE_STATUS.has(type) || type === "handoff" || type === "error";
}
