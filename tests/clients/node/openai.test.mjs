// openai-node: Responses and Chat Completions.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";
import { BASE, FAULT, KEY, collect } from "./support.mjs";

const client = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: KEY, maxRetries: 0, timeout: 30000, logLevel: "off" });

test("a stream is numbered from 0 and ends with its terminal event", async () => {
  const events = await collect(await client.responses.create({ model: "scripted/text", input: "x", stream: true }));
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, place) => place));
  assert.equal(events.at(-1).type, "response.completed");
});

test("the helper folds the stream to the final response", async () => {
  const final = await client.responses.stream({ model: "scripted/text", input: "x" }).finalResponse();
  assert.equal(final.status, "completed");
  assert.match(final.output_text, /^The weather in Paris/);
});

test("a function call's arguments are whole", async () => {
  const final = await client.responses.stream({ model: "scripted/tool", input: "x" }).finalResponse();
  const call = final.output.find((item) => item.type === "function_call");
  assert.deepEqual(JSON.parse(call.arguments), { city: "Paris" });
});

test("a run that was cut is resumed behind the last number", async () => {
  const seen = [];
  let id;
  await assert.rejects(async () => {
    const stream = await client.responses.create(
      { model: "scripted/slow", input: "x", stream: true, background: true },
      { headers: { [FAULT]: "drop-after=9" } },
    );
    for await (const event of stream) {
      seen.push(event.sequence_number);
      id ??= event.response?.id;
    }
  });
  const rest = await collect(await client.responses.retrieve(id, { stream: true, starting_after: seen.at(-1) }));
  assert.equal(rest[0].sequence_number, seen.at(-1) + 1);
  assert.equal(rest.at(-1).type, "response.completed");
  const again = client.responses.stream({ response_id: id, starting_after: 10 });
  assert.equal((await again.finalResponse()).status, "completed");
});

test("cancel ends the run", async () => {
  const started = await client.responses.create({ model: "scripted/slow", input: "x", background: true });
  assert.equal((await client.responses.cancel(started.id)).status, "cancelled");
});

test("a failure is the last event", async () => {
  const events = await collect(await client.responses.create({ model: "scripted/error", input: "x", stream: true }));
  assert.equal(events.at(-1).type, "response.failed");
});

test("an unknown model is told what there is", async () => {
  await assert.rejects(client.responses.create({ model: "nobody/knows", input: "x" }), (error) => {
    assert.equal(error.status, 404);
    assert.match(error.message, /scripted\//);
    return true;
  });
});

test("chat: tool calls are gathered by their index", async () => {
  const stream = client.chat.completions.stream({ model: "scripted/tool", messages: [{ role: "user", content: "x" }] });
  const final = await stream.finalChatCompletion();
  assert.deepEqual(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments), { city: "Paris" });
});
