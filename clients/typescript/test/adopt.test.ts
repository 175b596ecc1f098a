import assert from "node:assert/strict";
import { test } from "node:test";
import type { State } from "../src/fold/index.js";
import { adopt, emptyState, fold, fromSnapshot } from "../src/fold/index.js";

const required = (actionId: string): object => ({ type: "action.required", turnId: "u", actionId, payload: { actionType: "question" } });
const failed = (toolCallId: string): object => ({ type: "tool.failed", turnId: "u", toolCallId, payload: { error: { message: "no" } } });
const idle = { type: "session.updated", payload: {} };

function folded(...events: object[]): State {
  return events.reduce<State>((state, event, at) => fold(state, { ...event, sequence: at + 1 }), emptyState("s"));
}

test("pending actions and failed calls of both sides are kept", () => {
  const state = adopt(folded(required("mine"), failed("mine")), folded(required("theirs"), failed("theirs"), idle));
  assert.deepEqual(state.actions.map(({ actionId, status }) => [actionId, status]), [["theirs", "pending"], ["mine", "pending"]]);
  assert.deepEqual(state.toolCalls.map((call) => call.toolCallId), ["theirs", "mine"]);
  assert.equal(state.sequence, 3);
});

test("a decision that the snapshot knows stands", () => {
  const resolved = { type: "action.resolved", actionId: "a", payload: { decision: "approve" } };
  assert.equal(adopt(folded(required("a")), folded(required("a"), resolved)).actions[0]?.status, "resolved");
});

test("an older snapshot changes nothing", () => {
  const state = folded(required("a"), idle);
  assert.equal(adopt(state, folded(required("b"))), state);
});

test("the adopted state goes on like one that was read", () => {
  const state = adopt(folded(required("mine")), folded(required("theirs"), idle));
  const next = { type: "action.resolved", actionId: "mine", sequence: 3, payload: { decision: "reject" } };
  assert.deepEqual(fold(state, next), fold(fromSnapshot(JSON.parse(JSON.stringify(state))), next));
});
