import assert from "node:assert/strict";
import { test } from "node:test";
import type { Riverrun } from "../src/client.js";
import { ProblemError } from "../src/errors.js";
import { script } from "./scripted.js";

/** The request that a call makes, and what it gives for the answer. */
async function check(call: (client: Riverrun) => Promise<unknown>, answer: unknown, request: string, body?: unknown): Promise<void> {
  const { client, requests, bodies, headers } = script([{ body: JSON.stringify(answer) }]);
  assert.deepEqual(await call(client), answer);
  assert.deepEqual(requests, [request]);
  assert.deepEqual(bodies[0] === undefined ? undefined : JSON.parse(bodies[0]), body);
  assert.equal(headers[0]?.["authorization"], "Bearer k");
}

test("calls ask what they say", async () => {
  await check((c) => c.createSession({ title: "t" }), { sessionId: "s" }, "/v1/sessions", { title: "t" });
  await check((c) => c.getSession({ sessionId: "a:b" }), { sessionId: "a:b" }, "/v1/sessions/a%3Ab");
  await check((c) => c.getTask({ taskId: "t" }), { task_id: "t", status: "completed", output: [] }, "/v1/tasks/t");
  const decision = { decision: "approve", digest: "d" } as const;
  await check((c) => c.decideAction({ sessionId: "s", actionId: "a", ...decision }), {}, "/v1/sessions/s/actions/a", decision);
  await check((c) => c.submit("s", { input: "hi" }), { turnId: "u" }, "/v1/sessions/s/turns", { input: "hi" });
});

test("a list is answered as the server names it", async () => {
  const page = { sessions: [{ sessionId: "s" }], cursor: "c1" };
  await check((c) => c.listSessions({ status: "running", limit: 2 }), page, "/v1/sessions?status=running&limit=2");
  await check((c) => c.listSessions(), { sessions: [] }, "/v1/sessions");
  await check((c) => c.listActions({ status: "pending" }), { actions: [] }, "/v1/actions?status=pending");
  await check((c) => c.listSessionActions({ sessionId: "s" }), { actions: [] }, "/v1/sessions/s/actions");
  await check((c) => c.exportBenchmark({ sessionId: "s", trialId: "t" }), { trials: [] }, "/v1/sessions/s/benchmark?trial=t");
});

test("a deletion answers with nothing", async () => {
  const { client, requests, methods } = script([{ status: 204 }]);
  assert.equal(await client.deleteSession({ sessionId: "s" }), undefined);
  assert.deepEqual([methods, requests], [["DELETE"], ["/v1/sessions/s"]]);
});

test("an operation puts its members into the path, the query or the body", async () => {
  const rule = { ruleId: "rule_1", tool: "delete_file@1", toolName: "delete_file", agent: "clerk", decision: "approve" };
  const { client, requests, methods, headers } = script([
    { body: JSON.stringify({ rules: [rule] }) },
    { body: JSON.stringify({ revoked: rule, cursor: "7" }) },
    { body: '{"queue":[]}' },
    { body: '{"turnId":"t","status":"cancelling","cursor":"8"}' },
  ]);
  assert.deepEqual(await client.listRules({ sessionId: "a:b" }), { rules: [rule] });
  await client.revokeRule({ sessionId: "a:b", ruleId: "rule/1" }, { idempotencyKey: "k" });
  await client.listQueue({ sessionId: "s", threadId: "t 1" });
  await client.cancelTurn({ sessionId: "s", turnId: "t", mode: "after_turn" });
  assert.deepEqual(requests, [
    "/v1/sessions/a%3Ab/rules",
    "/v1/sessions/a%3Ab/rules/rule%2F1",
    "/v1/sessions/s/queue?thread=t%201",
    "/v1/sessions/s/turns/t/cancel",
  ]);
  assert.deepEqual(methods, ["GET", "DELETE", "GET", "POST"]);
  assert.equal(headers[1]?.["idempotency-key"], "k");
});

test("an append carries its stamp", async () => {
  const { client, headers } = script([{ body: '{"first":1,"last":1,"cursor":"1"}' }]);
  await client.append("s", { type: "x.y" }, { id: "p", epoch: 1, sequence: 0 });
  const { "producer-id": id, "producer-epoch": epoch, "producer-seq": sequence } = headers[0] ?? {};
  assert.deepEqual([id, epoch, sequence], ["p", "1", "0"]);
});

test("a repeat of an older append has no place", async () => {
  const { client } = script([{ body: '{"cursor":"9","duplicate":true}' }]);
  const { first, last, cursor, duplicate } = await client.append("s", { type: "x.y" }, { id: "p", epoch: 1, sequence: 0 });
  assert.deepEqual([first, last, cursor, duplicate], [undefined, undefined, "9", true]);
});

test("a state is filled with what the wire leaves out", async () => {
  const { client, requests } = script([{ body: '{"sequence":3,"sessionId":"s"}' }]);
  const state = await client.state("s", 3);
  assert.deepEqual([state.sequence, state.tasks, requests], [3, [], ["/v1/sessions/s/state?at=3"]]);
});

test("a problem keeps every member", async () => {
  const body = {
    type: "https://riverrun.dev/errors#event_too_large",
    title: "t",
    code: "event_too_large",
    detail: "event 3 is over the limit",
    field: "[3]",
    limit: 262144,
    requestId: "req_1",
    retryable: false,
  };
  const { client } = script([{ status: 413, body: JSON.stringify(body) }]);
  await assert.rejects(client.append("s", []), (error: ProblemError) => {
    const { type: _, ...members } = body;
    for (const [name, value] of Object.entries(members)) assert.equal(error[name as keyof ProblemError], value);
    return error.status === 413 && error.message === body.detail;
  });
});

test("an answer of a proxy still says its status", () => {
  const problem = new ProblemError(503, "2", "<html>");
  assert.deepEqual([problem.code, problem.isRetryable, problem.retryAfter], ["http_503", true, 2000]);
});
