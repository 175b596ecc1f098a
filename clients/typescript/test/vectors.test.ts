/** Runs the golden vectors that the server's fold runs. If they differ, this client is wrong. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { envelope } from "../src/decode/envelope.js";
import { DecodeError } from "../src/decode/event.js";
import { PayloadError } from "../src/decode/payload.js";
import type { State } from "../src/fold/index.js";
import { Folder, apply, emptyState, fromSnapshot } from "../src/fold/index.js";

type Json = Record<string, any>;

const ROOT = fileURLToPath(new URL("../../../../spec/vectors/", import.meta.url));

/** Which areas are run here; the others are the server's alone. */
const AREAS: Record<string, "run" | "server"> = {
  fold: "run",
  decode: "run",
  dialect: "server",
  ingest: "server",
  provider: "server",
  reference: "server",
  runner: "server",
  resume: "server",
};

const FILES = new Set(["events.ndjson", "expected.json", "why.md"]);
const MEMBERS = new Set(["state", "revision", "refused", "sealed", "prefixes"]);

function folders(path: string): string[] {
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

interface Case {
  readonly events: readonly Json[];
  readonly expected: Json;
  readonly empty: State;
}

function load(name: string): Case {
  const folder = `${ROOT}fold/${name}/`;
  for (const file of readdirSync(folder)) assert.ok(FILES.has(file), `${name}: what is ${file}?`);
  const read = (file: string): string => readFileSync(folder + file, "utf8");
  const events = read("events.ndjson").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Json);
  const expected = JSON.parse(read("expected.json")) as Json;
  for (const member of Object.keys(expected)) assert.ok(MEMBERS.has(member), `${name}: what is ${member}?`);
  return { events, expected, empty: emptyState(events[0]?.["sessionId"] as string) };
}

/** The public state as a vector shows it: without what is for people or counts changes. */
function shown(state: State): Json {
  const { revision: _, ...rest } = structuredClone(state);
  for (const problem of rest.problems.recent) delete (problem as Partial<typeof problem>).detail;
  return rest;
}

/** What a case comes to, in the form of `expected.json`. */
function run({ events, expected, empty }: Case, step: (state: State, event: Json) => ReturnType<typeof apply>): Json {
  let state = empty;
  const [refused, sealed, prefixes]: [Json[], string[], Json] = [[], [], {}];
  events.forEach((event, at) => {
    const applied = step(state, event);
    state = applied.state;
    const { type: outcome, ...where } = applied.outcome;
    if (outcome !== "applied") refused.push({ line: at + 1, outcome, ...where });
    sealed.push(...applied.sealed.map((turn) => turn.turn.turnId));
    if (expected["prefixes"]?.[state.sequence] !== undefined) prefixes[state.sequence] = shown(state);
  });
  return {
    state: shown(state),
    revision: state.revision,
    ...(refused.length > 0 && { refused }),
    ...(sealed.length > 0 && { sealed }),
    ...(Object.keys(prefixes).length > 0 && { prefixes }),
  };
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}

for (const name of folders(`${ROOT}fold`)) {
  test(`fold/${name}`, () => {
    const vector = load(name);
    const { expected } = vector;
    assert.deepEqual(run(vector, apply), expected, "pure");
    assert.deepEqual(run(vector, (state, event) => apply(frozen(state), frozen(event))), expected, "changes nothing old");
    const folder = new Folder(structuredClone(vector.empty));
    assert.deepEqual(run(vector, (_, event) => folder.apply(event)), expected, "in place");
    const restored = (state: State): State => fromSnapshot(JSON.parse(JSON.stringify(state)));
    assert.deepEqual(run(vector, (state, event) => apply(restored(state), event)), expected, "from a snapshot at any place");
  });
}

/** What comes of a text: `{event}` or `{error}`. */
function decoded(input: string): Json {
  let value: Json;
  try {
    value = JSON.parse(input) as Json;
  } catch {
    return { error: { code: "json_syntax" } };
  }
  try {
    const { sequence: _, sessionId: __, schemaVersion: ___, ...event } = envelope(value);
    return { event };
  } catch (error) {
    if (error instanceof PayloadError) return { error: { code: "invalid_event", field: error.path } };
    if (!(error instanceof DecodeError)) throw error;
    return { error: { code: error.code, ...(error.field !== undefined && { field: error.field }) } };
  }
}

for (const name of readdirSync(`${ROOT}decode`)) {
  test(`decode/${name}`, () => {
    const { why, input, ...expected } = JSON.parse(readFileSync(`${ROOT}decode/${name}`, "utf8")) as Json;
    assert.ok(why);
    assert.deepEqual(decoded(input as string), expected);
  });
}

test("every area of vectors is known here", () => {
  assert.deepEqual(folders(ROOT).filter((area) => !Object.hasOwn(AREAS, area)), []);
});
