// @ag-ui/client: its verifier of the order of events, states, interrupts, sub-agents, and a resuming agent.
import assert from "node:assert/strict";
import test from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { BASE, keyed, name, post, spoilt } from "./support.mjs";

const make = (more = {}) =>
  new HttpAgent({
    url: `${BASE}/ag-ui`,
    threadId: name("th"),
    initialMessages: [{ id: "u1", role: "user", content: "weather?" }],
    initialState: {},
    fetch: keyed(),
    ...more,
  });

const run = async (scenario, more = {}, agent = make()) => {
  const types = [];
  let outcome;
  const result = await agent.runAgent(
    { forwardedProps: { scenario }, ...more },
    {
      onEvent: ({ event }) => void types.push(event.type),
      onRunFinishedEvent: (finished) => void (outcome = finished.outcome),
    },
  );
  return { agent, result, types, outcome };
};

test("a run is opened, folded and closed", async () => {
  const { agent, result, types, outcome } = await run("text");
  assert.equal(types[0], "RUN_STARTED");
  assert.equal(types.at(-1), "RUN_FINISHED");
  assert.equal(outcome, "success");
  assert.equal(agent.state.city, "Paris");
  const said = result.newMessages.filter((message) => message.role === "assistant").at(-1);
  assert.match(said.content, /^The weather in Paris/);
  assert.ok(result.newMessages.some((message) => message.role === "reasoning"));
});

test("a tool's call and result become messages", async () => {
  const { result } = await run("tool");
  const call = result.newMessages.find((message) => message.toolCalls)?.toolCalls?.[0];
  assert.deepEqual(JSON.parse(call.function.arguments), { city: "Paris" });
  assert.ok(result.newMessages.some((message) => message.role === "tool" && message.toolCallId === call.id));
});

test("a sub-agent's messages carry its name", async () => {
  const { result, types } = await run("subagent");
  assert.ok(types.includes("SUBAGENT_STARTED") && types.includes("SUBAGENT_FINISHED"));
  assert.ok(result.newMessages.some((message) => message.subagentRunId));
});

test("an approval interrupts the run, and its answer resumes it", async () => {
  const { agent, outcome } = await run("approval");
  assert.equal(outcome, "interrupt");
  const [interrupt] = agent.pendingInterrupts;
  const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }];
  const second = await run("approval", { resume }, agent);
  assert.equal(second.outcome, "success");
  assert.equal(agent.pendingInterrupts.length, 0);
});

test("a run that is cancelled elsewhere ends as cancelled", async () => {
  const agent = make();
  const runId = name("run");
  const types = [];
  let outcome;
  await agent.runAgent(
    { runId, forwardedProps: { scenario: "slow" } },
    {
      onEvent: ({ event }) => {
        types.push(event.type);
        if (types.length === 5) return void post(`/v1/sessions/${agent.threadId}/turns/${runId}/cancel`, { mode: "immediate" });
      },
      onRunFinishedEvent: (finished) => void (outcome = finished.outcome),
    },
  );
  assert.equal(outcome, "cancelled");
  assert.equal(types.at(-1), "RUN_FINISHED");
});

test("bad requests are told what is wrong with them", async () => {
  const quiet = console.error;
  console.error = () => {};
  const refused = async (agent, more, words) => {
    let told;
    try {
      await agent.runAgent({ forwardedProps: { scenario: "text" }, ...more }, { onRunFailed: ({ error }) => void (told = error) });
    } catch (error) {
      told ??= error;
    }
    assert.match(String(told?.message), words);
  };
  await refused(make({ fetch: spoilt("{") }), {}, /400.*invalid_json/s);
  await refused(make({ fetch: spoilt('{"threadId":7}') }), {}, /400.*threadId/s);
  await refused(make(), { forwardedProps: { agent: "nobody" } }, /404.*scenario-text/s);
  await refused(make({ fetch: (url, options) => fetch(url, options) }), {}, /401.*key/s);
  console.error = quiet;
});

test("a failure reaches the error callback", async () => {
  let message;
  const quiet = console.error;
  console.error = () => {};
  try {
    await make().runAgent(
      { forwardedProps: { scenario: "error" } },
      { onRunErrorEvent: ({ event }) => void (message = event.message) },
    );
  } catch {
    // Whether the promise rejects is the client's affair.
  }
  console.error = quiet;
  assert.equal(message, "scripted failure");
});
