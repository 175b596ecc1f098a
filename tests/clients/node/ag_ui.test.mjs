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

test("a tool of the application ends the run, and its result goes on with it", async () => {
  const tools = [{ name: "get_weather", description: "The weather.", parameters: { type: "object" } }];
  const forwardedProps = { agent: "scripted/tool" };
  const agent = make();
  let pending;
  await agent.runAgent({ tools, forwardedProps }, { onRunFinishedEvent: (it) => void (pending = it.pendingToolCallIds) });
  const call = agent.messages.find((message) => message.toolCalls)?.toolCalls?.[0];
  assert.deepEqual(pending, [call.id]);
  assert.equal(agent.pendingInterrupts.length, 0);
  agent.addMessage({ id: "t1", role: "tool", toolCallId: call.id, content: "18 degrees" });
  const again = await run("unused", { tools, forwardedProps }, agent);
  assert.equal(again.outcome, "success");
  assert.ok(again.result.newMessages.some((message) => message.role === "assistant" && message.content));
  assert.equal(agent.messages.filter((message) => message.toolCallId === call.id).length, 1);
});

test("several calls of the application's tools are answered at once", async () => {
  const tools = [{ name: "get_weather", description: "The weather.", parameters: { type: "object" } }];
  const forwardedProps = { agent: "scripted/parallel" };
  const agent = make();
  let pending;
  await agent.runAgent({ tools, forwardedProps }, { onRunFinishedEvent: (it) => void (pending = it.pendingToolCallIds) });
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  assert.deepEqual(calls.map((call) => JSON.parse(call.function.arguments).city), ["Paris", "Rome", "Oslo"]);
  assert.deepEqual([...pending].sort(), calls.map((call) => call.id).sort());
  for (const call of calls) {
    agent.addMessage({ id: name("t"), role: "tool", toolCallId: call.id, content: "18 degrees" });
  }
  const again = await run("unused", { tools, forwardedProps }, agent);
  assert.equal(again.outcome, "success");
  const said = again.result.newMessages.filter((message) => message.role === "assistant" && message.content).at(-1);
  assert.match(said.content, /Paris is sunny.*Oslo is cold/);
  assert.equal((await turns(agent.threadId)).length, 1);
});

const turns = async (thread) => {
  const answer = await keyed()(`${BASE}/v1/sessions/${thread}/state`);
  return (await answer.json()).turns;
};

test("what the client brings to a new thread is its history, once", async () => {
  const agent = make({
    initialMessages: [
      { id: "s1", role: "system", content: "Be brief." },
      { id: "q1", role: "user", content: "first" },
      { id: "a1", role: "assistant", content: "one" },
      { id: "q2", role: "user", content: "second" },
    ],
    initialState: { unit: "C" },
  });
  const forwardedProps = { agent: "scripted/echo" };
  await run("unused", { forwardedProps, context: [{ description: "place", value: "Paris" }] }, agent);
  const [first] = await turns(agent.threadId);
  assert.deepEqual(first.history.map((item) => item.id), ["q1", "a1"]);
  assert.equal(first.settings.instructions, "Be brief.\n\nplace: Paris");
  assert.equal(agent.state.unit, "C");
  agent.addMessage({ id: "q3", role: "user", content: "third" });
  await run("unused", { forwardedProps }, agent);
  const [, second] = await turns(agent.threadId);
  assert.equal(second.history, undefined);
  assert.equal(second.threadId, first.threadId);
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
