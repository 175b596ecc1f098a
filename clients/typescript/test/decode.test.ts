import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError, decode } from "../src/decode/event.js";
import { PayloadError, readPayload } from "../src/decode/payload.js";
import { normalTime } from "../src/decode/timestamp.js";

test("snake_case is read like camelCase", () => {
  const event = { type: "model.delta", event_id: "e", turn_id: "u", first_sequence: 1, sequence: 2, payload: { delta: "x", item_id: "m" } };
  const { scope, firstSequence, payload } = decode(event);
  assert.deepEqual([scope, firstSequence, payload], [{ turnId: "u" }, 1, { delta: "x", itemId: "m" }]);
});

test("a payload that does not fit says where", () => {
  const check = (type: string, payload: unknown, path: string): void => {
    assert.throws(() => readPayload(type, payload), (error: PayloadError) => error.path === path, `${type} ${path}`);
  };
  check("model.delta", {}, "payload");
  check("model.delta", { delta: "x", blockIndex: -1 }, "payload.blockIndex");
  check("model.delta", { delta: "x", blockIndex: 2 ** 32 }, "payload.blockIndex");
  check("model.delta", { delta: "x", itemId: "a", item_id: "a" }, "payload.itemId");
  check("turn.completed", "what?", "payload");
  check("item.started", { item: { id: "a" }, outputIndex: 0 }, "payload.item");
  check("item.started", { item: { type: "message", id: "a", content: [{ type: "text", text: 5 }] }, outputIndex: 0 }, "payload.item.content[0].text");
  check("item.updated", { itemId: "a", outputIndex: 0, blockIndex: 0, block: { type: "x" }, change: "gone" }, "payload.change");
});

test("values nest to a limit", () => {
  const nested = (levels: number): object => {
    let item: object = { type: "message", id: "a" };
    for (let level = 0; level < levels; level += 1) item = { type: "message", id: "a", blockList: [{ type: "item", item }] };
    return { item, outputIndex: 0 };
  };
  readPayload("item.started", nested(49));
  assert.throws(() => readPayload("item.started", nested(50)), PayloadError);
});

test("names of JavaScript's own are only names", () => {
  for (const type of ["constructor", "__proto__", "toString"]) assert.equal(decode({ type, sequence: 1 }).known, false);
  const block = JSON.parse('{"type":"constructor","__proto__":{"x":1}}');
  const read = readPayload("item.started", { item: { type: "message", id: "a", blockList: [block] }, outputIndex: 0 });
  assert.deepEqual((read["item"] as { blockList: unknown[] }).blockList, [block]);
});

test("what is no event is an error that names the member", () => {
  const check = (event: unknown, field: string | undefined): void => {
    assert.throws(() => decode(event), (error: DecodeError) => error.field === field);
  };
  check([], undefined);
  check({}, "type");
  check({ type: "a b" }, "type");
  check({ type: "x", turnId: "a/b" }, "turnId");
  check({ type: "x", sequence: -1 }, "sequence");
  check({ type: "x", timestamp: "yesterday" }, "timestamp");
});

test("times are told in UTC with milliseconds", () => {
  assert.equal(normalTime("2026-11-16T05:40:00Z"), "2026-11-16T05:40:00.000Z");
  assert.equal(normalTime("2026-11-16t07:10:00.1239+01:30"), "2026-11-16T05:40:00.123Z");
  assert.equal(normalTime("0001-01-01 00:00:00z"), "0001-01-01T00:00:00.000Z");
  assert.equal(normalTime("9999-12-31T23:59:59-01:00"), "9999-01-01T00:59:59.000Z");
  assert.equal(normalTime("0000-01-01T00:00:00+01:00"), "0000-12-31T23:00:00.000Z");
  for (const bad of ["2026-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z"]) {
    assert.equal(normalTime(bad), undefined, bad);
  }
});
