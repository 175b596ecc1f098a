// ai: the chat transport, AbstractChat, approvals, reconnecting and stopping.
import assert from "node:assert/strict";
import test from "node:test";
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls, readUIMessageStream } from "ai";
import { BASE, FAULT, keyed, name, spoilt, until } from "./support.mjs";

const api = `${BASE}/api/chat`;
const user = { id: "u1", role: "user", parts: [{ type: "text", text: "weather?" }] };
const transport = () => new DefaultChatTransport({ api, fetch: keyed() });

const send = (chatId, body = {}, messages = [user], abortSignal = undefined) =>
  transport().sendMessages({ chatId, messages, trigger: "submit-message", messageId: undefined, body, abortSignal });

const last = async (stream, message) => {
  let found;
  for await (const one of readUIMessageStream({ stream, message })) found = structuredClone(one);
  return found;
};

const textOf = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (at, message) =>
    void (this.messages = this.messages.map((one, place) => (place === at ? structuredClone(message) : one)));
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(options) {
    super({ ...options, state: new State(), onError: () => {} });
  }
}

test("a message is put together from its parts", async () => {
  const message = await last(await send(name("chat")));
  assert.match(textOf(message), /^The weather in Paris/);
  assert.ok(message.parts.some((part) => part.type === "reasoning"));
  assert.ok(message.metadata?.runId);
});

test("a tool reaches its output", async () => {
  const message = await last(await send(name("chat"), { scenario: "tool" }));
  const part = message.parts.find((one) => one.type === "tool-get_weather");
  assert.equal(part.state, "output-available");
});

test("an approval is answered inside the messages and the same message goes on", async () => {
  const chat = name("chat");
  const asked = await last(await send(chat, { scenario: "approval" }));
  const part = asked.parts.find((one) => one.type === "tool-delete_file");
  assert.equal(part.state, "approval-requested");
  const answered = structuredClone(asked);
  const mine = answered.parts.find((one) => one.type === "tool-delete_file");
  mine.state = "approval-responded";
  mine.approval = { ...mine.approval, approved: true };
  const done = await last(await send(chat, { scenario: "approval" }, [user, answered]), answered);
  assert.equal(done.id, asked.id);
  assert.equal(done.parts.find((one) => one.type === "tool-delete_file").state, "output-available");
});

test("an aborted request does not stop the run, and a reconnect has the whole message", async () => {
  const chat = name("chat");
  assert.equal(await transport().reconnectToStream({ chatId: chat }), null);
  const abort = new AbortController();
  const reader = (await send(chat, { scenario: "slow" }, [user], abort.signal)).getReader();
  for (let chunks = 0; chunks < 8; chunks++) await reader.read();
  abort.abort();
  const again = await until("the run is active", () => transport().reconnectToStream({ chatId: chat }));
  assert.match(textOf(await last(again)), /^The weather in Paris/);
  assert.equal(await transport().reconnectToStream({ chatId: chat }), null);
});

test("a stop ends the run", async () => {
  const chat = name("chat");
  const reader = (await send(chat, { scenario: "slow" })).getReader();
  for (let chunks = 0; chunks < 6; chunks++) await reader.read();
  const stopped = await keyed()(`${api}/${chat}/stop`, { method: "POST" });
  assert.ok(stopped.ok, `status ${stopped.status}`);
  let abort;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) abort = chunk.value;
  assert.equal(abort.type, "abort");
});

test("a chat that was cut resumes without doubled text", async () => {
  let cut = true;
  const fetch = (url, options) => keyed(cut ? { [FAULT]: "drop-after=9" } : {})(url, options);
  const chat = new Chat({ id: name("chat"), transport: new DefaultChatTransport({ api, fetch, body: { scenario: "slow" } }) });
  await chat.sendMessage({ text: "x" });
  cut = false;
  await chat.resumeStream();
  assert.equal(chat.status, "ready");
  assert.equal(chat.messages.length, 2);
  const texts = chat.messages.at(-1).parts.filter((part) => part.type === "text");
  assert.equal(texts.length, 1);
  assert.match(texts[0].text, /^The weather in Paris/);
});

const tools = { get_weather: { description: "The weather.", parameters: { type: "object" } } };
const chatting = (body, more = {}) =>
  new Chat({ id: name("chat"), transport: new DefaultChatTransport({ api, fetch: keyed(), body }), ...more });
const stateOf = async (chat) => (await keyed()(`${BASE}/v1/sessions/${chat.id}/state`)).json();
const asked = (turn) => [...(turn.history ?? []).map((item) => item.role), turn.input];

test("a tool of the client goes on with its output", async () => {
  for (const answer of [{ output: { degrees: 18 } }, { state: "output-error", errorText: "no network" }]) {
    const chat = chatting({ agent: "scripted/tool", tools }, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
    await chat.sendMessage({ text: "weather?" });
    const part = chat.lastMessage.parts.find((one) => one.type === "tool-get_weather");
    assert.equal(part.state, "input-available");
    await chat.addToolOutput({ tool: "get_weather", toolCallId: part.toolCallId, ...answer });
    await until("the chat goes on", () => chat.status === "ready" && textOf(chat.lastMessage));
    assert.equal(chat.messages.length, 2);
    const state = await stateOf(chat);
    assert.equal(state.turns.length, 1);
    assert.equal(state.turns[0].status, "completed");
  }
});

test("several calls of the client's tools are answered at once", async () => {
  const chat = chatting({ agent: "scripted/parallel", tools }, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
  await chat.sendMessage({ text: "weather?" });
  const calls = chat.lastMessage.parts.filter((one) => one.type === "tool-get_weather");
  assert.deepEqual(calls.map((part) => part.input.city), ["Paris", "Rome", "Oslo"]);
  assert.ok(calls.every((part) => part.state === "input-available"));
  // Behind the last of them the chat goes on by itself, once.
  for (const { toolCallId, input } of calls) {
    await chat.addToolOutput({ tool: "get_weather", toolCallId, output: `${input.city}: 18` });
  }
  await until("the chat goes on", () => chat.status === "ready" && textOf(chat.lastMessage));
  assert.match(textOf(chat.lastMessage), /Paris is sunny.*Oslo is cold/);
  const { turns, actions } = await stateOf(chat);
  assert.deepEqual(turns.map((turn) => turn.status), ["completed"]);
  assert.deepEqual(actions.map((action) => action.status), ["resolved", "resolved", "resolved"]);
});

test("an edited message takes the place of what stood behind it", async () => {
  const chat = chatting({ agent: "scripted/echo" });
  await chat.sendMessage({ text: "first" });
  await chat.sendMessage({ text: "second" });
  await chat.sendMessage({ text: "first edited", messageId: chat.messages[0].id });
  await chat.sendMessage({ text: "third" });
  assert.equal(chat.messages.length, 4);
  const { turns } = await stateOf(chat);
  assert.deepEqual(turns.map((turn) => turn.input), ["first", "second", "first edited", "third"]);
  assert.equal(turns[0].threadId, turns[1].threadId);
  assert.notEqual(turns[2].threadId, turns[0].threadId);
  assert.equal(turns[2].history, undefined);
  assert.equal(turns[3].threadId, turns[2].threadId);
});

test("an earlier answer is made anew from what stood before it", async () => {
  const chat = chatting({ agent: "scripted/echo" });
  await chat.sendMessage({ text: "first" });
  await chat.sendMessage({ text: "second" });
  await chat.regenerate({ messageId: chat.messages[1].id });
  assert.equal(chat.messages.length, 2);
  assert.match(textOf(chat.lastMessage), /first/);
  await chat.regenerate();
  const { turns } = await stateOf(chat);
  assert.deepEqual(turns.map(asked), [["first"], ["second"], ["first"]]);
  assert.notEqual(turns[2].threadId, turns[0].threadId);
});

test("what the client brings to a new chat is its history", async () => {
  const chat = chatting({ agent: "scripted/echo" });
  const message = (id, role, text) => ({ id, role, parts: [{ type: "text", text }] });
  chat.messages = [message("s1", "system", "Be brief."), message("q1", "user", "one"), message("a1", "assistant", "1")];
  await chat.sendMessage({ text: "two" });
  const { turns } = await stateOf(chat);
  assert.deepEqual(turns.map(asked), [["user", "assistant", "two"]]);
  assert.equal(turns[0].settings.instructions, "Be brief.");
});

test("bad requests are told what is wrong with them", async () => {
  const refused = async (fetch, body, words) => {
    const chat = new Chat({ id: name("chat"), transport: new DefaultChatTransport({ api, fetch, body }) });
    await chat.sendMessage({ text: "x" });
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, words);
  };
  await refused(spoilt("{"), {}, /invalid_json/);
  await refused(spoilt('{"id":"c","messages":7}'), {}, /messages/);
  await refused(keyed(), { agent: "nobody" }, /scenario-text/);
  await refused((url, options) => fetch(url, options), {}, /key/);
});

test("a failure is the chat's error", async () => {
  const chat = new Chat({ id: name("chat"), transport: new DefaultChatTransport({ api, fetch: keyed(), body: { scenario: "error" } }) });
  await chat.sendMessage({ text: "x" });
  assert.equal(chat.status, "error");
  assert.equal(chat.error.message, "scripted failure");
});
