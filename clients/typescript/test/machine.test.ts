import assert from "node:assert/strict";
import { test } from "node:test";
import { delay } from "../src/stream/backoff.js";
import type { Input, Machine, Order } from "../src/stream/machine.js";
import { newMachine, step } from "../src/stream/machine.js";

const event = (last: number, first = last, terminal = false): Input => ({ type: "event", first, last, terminal });
const opened = (after?: number): Input => ({ type: "opened", after });

/** The verdicts of these inputs, and the status that they lead to. */
function check(order: Order, inputs: Input[], expected: string[], maxAttempts?: number): Machine {
  let machine = newMachine(order, maxAttempts);
  const found = inputs.map((input) => {
    const [next, verdict] = step(machine, input);
    machine = next;
    return `${verdict.type} ${machine.state.status}`;
  });
  assert.deepEqual(found, expected);
  return machine;
}

test("each sequence is delivered once", () => {
  check("dense", [opened(0), event(1), event(1), event(2)], ["deliver live", "deliver live", "ignore live", "deliver live"]);
});

test("a hole closes a dense stream", () => {
  const inputs = [opened(0), event(1), event(3)];
  check("dense", inputs, ["deliver live", "deliver live", "gap closed"]);
  check("rising", inputs, ["deliver live", "deliver live", "deliver live"]);
});

test("joined deltas are no hole, and half known ones are", () => {
  check("dense", [opened(0), event(3, 1), event(6, 4)], ["deliver live", "deliver live", "deliver live"]);
  check("dense", [opened(0), event(2, 1), event(4, 2)], ["deliver live", "deliver live", "gap closed"]);
});

test("what the server says it sent must have come", () => {
  const head = (type: "heartbeat" | "caught_up" | "end", at: number): Input => ({ type, head: at });
  check("dense", [opened(0), event(1), head("caught_up", 1)], ["deliver live", "deliver live", "ignore caught_up"]);
  check("dense", [opened(0), event(1), head("heartbeat", 2)], ["deliver live", "deliver live", "gap closed"]);
  check("dense", [opened(0), event(1), head("end", 1)], ["deliver live", "deliver live", "close closed"]);
  check("rising", [opened(0), event(1), head("heartbeat", 9)], ["deliver live", "deliver live", "ignore live"]);
});

test("a body that ends without its end is a cut", () => {
  check("dense", [opened(0), event(1), { type: "body_ended" }], ["deliver live", "deliver live", "reconnect reconnecting"]);
  const turn = [opened(0), event(1, 1, true), { type: "body_ended" } as const];
  check("rising", turn, ["deliver live", "deliver live", "close closed"]);
});

test("after a reconnect the follower knows where it stands", () => {
  const machine = check(
    "dense",
    [opened(0), event(1), { type: "cut" }, opened(0), event(1), event(2)],
    ["deliver live", "deliver live", "reconnect reconnecting", "deliver live", "ignore live", "deliver live"],
  );
  assert.equal(machine.last, 2);
});

test("an older snapshot is ignored unless the log is another one", () => {
  const at = (sequence: number, newLog: boolean): Input => ({ type: "snapshot", at: sequence, newLog });
  check("dense", [opened(0), at(5, false), at(3, false), event(6)], ["deliver live", "deliver live", "ignore live", "deliver live"]);
  check("dense", [opened(0), at(5, false), at(3, true), event(4)], ["deliver live", "deliver live", "deliver live", "deliver live"]);
});

test("failures in a row are counted, and progress forgives them", () => {
  const cut: Input = { type: "cut" };
  check("dense", [cut, cut, cut], ["reconnect reconnecting", "reconnect reconnecting", "fail closed"], 2);
  check("dense", [cut, opened(0), event(1), cut], ["reconnect reconnecting", "deliver live", "deliver live", "reconnect reconnecting"], 1);
});

test("a server that never answered is not waited for, one that did is", () => {
  check("dense", [{ type: "unreachable" }], ["fail closed"]);
  check("dense", [opened(0), { type: "cut" }, { type: "unreachable" }], ["deliver live", "reconnect reconnecting", "reconnect reconnecting"]);
  check("dense", [{ type: "refused", retryable: false }], ["fail closed"]);
  check("dense", [{ type: "refused", retryable: true }], ["reconnect reconnecting"]);
});

test("pauses double to a limit and are spread, and the server may ask for more", () => {
  assert.deepEqual([delay(1, undefined, 0), delay(2, undefined, 0), delay(3, undefined, 0)], [100, 200, 400]);
  assert.deepEqual([delay(30, undefined, 0), delay(1, 3000, 0.5)], [5000, 3000]);
});
