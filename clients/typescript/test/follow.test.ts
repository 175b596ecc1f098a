import assert from "node:assert/strict";
import { test } from "node:test";
import { GapError, MalformedError, ProblemError, UnreachableError } from "../src/errors.js";
import { emptyState, fold } from "../src/fold/index.js";
import type { FollowOptions } from "../src/stream/options.js";
import type { Scripted } from "./scripted.js";
import { control, delta, script } from "./scripted.js";

const opened = control("opened", { outcome: "replayed", after: 0, head: 9 });
const end = (sequence: number): string => control("end", { reason: "caught_up", sequence, cursor: `${sequence}.a.b` });

/** What a follower of these connections hears, one word each. */
async function hears(answers: readonly Scripted[], options: FollowOptions = {}) {
  const { client, requests, pauses } = script(answers);
  const follow = client.follow("s", options);
  const words: string[] = [];
  let error: unknown;
  try {
    for await (const update of follow) {
      if (update.type === "event") words.push(String(update.event.sequence));
      else if (update.type === "connection") words.push(update.connection.status);
      else if (update.type === "snapshot") words.push(`snapshot ${update.snapshot.sequence}`);
      else if (update.type === "frame") words.push(`frame ${update.frame.data}`);
    }
  } catch (caught) {
    error = caught;
  }
  return { words: words.join(" "), error, requests, pauses, cursor: follow.cursor };
}

test("a cut stream goes on behind the last event, and each event comes once", async () => {
  const heard = await hears([
    { body: opened + delta(1) + delta(2), end: "cut" },
    { body: opened + delta(2) + delta(3) + end(3) },
  ]);
  assert.equal(heard.words, "connecting live 1 2 reconnecting live 3 closed");
  assert.deepEqual(heard.requests, ["/v1/sessions/s/events?after=0", "/v1/sessions/s/events?after=2.a.b"]);
  assert.deepEqual([heard.pauses, heard.cursor, heard.error], [[100], "3.a.b", undefined]);
});

test("a body that ends cleanly without its end is resumed", async () => {
  const heard = await hears([{ body: opened + delta(1) }, { body: opened + delta(2) + end(2) }]);
  assert.equal(heard.words, "connecting live 1 reconnecting live 2 closed");
});

test("half a frame is not given out", async () => {
  const heard = await hears([{ body: opened + delta(1).slice(0, -1), end: "cut" }, { body: opened + delta(1) + end(1) }]);
  assert.equal(heard.words, "connecting live reconnecting live 1 closed");
});

test("silence is a cut", async () => {
  const heard = await hears([{ body: opened + delta(1), end: "silent" }, { body: opened + end(1) }]);
  assert.equal(heard.words, "connecting live 1 reconnecting live closed");
});

test("a gap is an error, never a hole", async () => {
  const heard = await hears([{ body: opened + delta(1) + delta(3) }]);
  assert.equal(heard.words, "connecting live 1 closed");
  assert.deepEqual({ ...(heard.error as GapError) }, { ...new GapError(1, 3) });
});

test("joined deltas stand for all of their sequences", async () => {
  const heard = await hears([{ body: opened + delta(3, { firstSequence: 1 }) + delta(4) + end(4) }]);
  assert.equal(heard.words, "connecting live 3 4 closed");
});

test("events that a server says it sent and that did not come are a gap", async () => {
  const heard = await hears([{ body: opened + delta(1) + control("caught_up", { sequence: 2 }) }]);
  assert.ok(heard.error instanceof GapError);
});

test("a snapshot is adopted and gone on from", async () => {
  const snapshot = control("snapshot", { reason: "expired", sequence: 5, cursor: "5.a.b", state: { sequence: 5 } });
  const heard = await hears([{ body: opened + snapshot, end: "cut" }, { body: opened + delta(6) + end(6) }], { catchup: "snapshot" });
  assert.equal(heard.words, "connecting live snapshot 5 reconnecting live 6 closed");
  assert.deepEqual(heard.requests.map((path) => path.split("?")[1]), ["after=0&catchup=snapshot", "after=5.a.b"]);
});

test("a filtered stream may skip, and a turn ends with its terminal event", async () => {
  const completed = delta(7, { type: "turn.completed", turnId: "u", payload: {} });
  const heard = await hears([{ body: opened + delta(2) + delta(5) + completed }], { turn: "u" });
  assert.equal(heard.words, "connecting live 2 5 7 closed");
  assert.equal(heard.error, undefined);
});

test("a server that drains says when to come back", async () => {
  const heard = await hears([{ body: opened + control("draining", { retryMillis: 1500 }), end: "cut" }, { body: opened + end(0) }]);
  assert.deepEqual(heard.pauses, [1500]);
});

test("a refusal that may pass is tried again, with the pause that was asked for", async () => {
  const busy = { status: 503, headers: { "retry-after": "2" }, body: '{"code":"overloaded","detail":"full","retryable":true}' };
  const heard = await hears([busy, { body: opened + end(0) }]);
  assert.deepEqual([heard.words, heard.pauses], ["connecting reconnecting live closed", [2000]]);
});

test("a refusal that stays is an error with its code", async () => {
  const heard = await hears([{ status: 409, body: '{"code":"cursor_ahead","detail":"ahead","retryable":false}' }]);
  assert.equal((heard.error as ProblemError).code, "cursor_ahead");
});

test("no server is an error", async () => {
  const heard = await hears([{ unreachable: true }]);
  assert.ok(heard.error instanceof UnreachableError);
  assert.match(heard.error.message, /http:\/\/test: refused/);
});

test("what is not understood is an error", async () => {
  const heard = await hears([{ body: `${opened}data: {"type":"x"}\n\n` }]);
  assert.ok(heard.error instanceof MalformedError);
});

test("control frames of a newer server are passed over", async () => {
  const heard = await hears([{ body: opened + control("novelty") + delta(1) + end(1) }]);
  assert.equal(heard.words, "connecting live 1 closed");
});

test("a foreign dialect's frames come untouched", async () => {
  const heard = await hears([{ body: "data: a\n\ndata: [DONE]\n\n" }], { dialect: "openai-chat" });
  assert.equal(heard.words, "connecting live frame a frame [DONE] closed");
});

test("leaving by a signal is no error", async () => {
  const leave = new AbortController();
  const { client } = script([{ body: opened + delta(1), end: "silent" }]);
  const seen: number[] = [];
  for await (const event of client.events("s", { signal: leave.signal })) {
    seen.push(event.sequence);
    leave.abort();
  }
  assert.deepEqual(seen, [1]);
});

test("states are folded from what is followed", async () => {
  const text = (sequence: number): object => ({ sequence, payload: { delta: `${sequence} `, itemId: "m" } });
  const { client } = script([
    { body: opened + delta(1, text(1)), end: "cut" },
    { body: opened + delta(3, { ...text(3), firstSequence: 2 }) + end(3) },
  ]);
  const states = [];
  for await (const state of client.states("s")) states.push(state);
  assert.deepEqual(states.map((state) => state.sequence), [1, 3]);
  assert.deepEqual(states[1]?.tasks[0]?.output[0], {
    type: "message",
    id: "m",
    role: "assistant",
    status: "in_progress",
    blockList: [{ type: "text", text: "1 3 " }],
  });
});

test("a state that was folded twice from the same place is the same", () => {
  const event = (sequence: number, delta: string) => ({ type: "model.delta", sequence, taskId: "t", payload: { delta, itemId: "m" } });
  const one = fold(emptyState("s"), event(1, "[^"));
  const forks = ["1]", "x]"].map((text) => fold(one, event(2, text)));
  assert.deepEqual(forks.map((state) => state.problems.count), [1, 0]);
  assert.deepEqual(fold(one, event(2, "1]")), forks[0]);
});
