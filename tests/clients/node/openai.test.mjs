// openai-node: Responses and Chat Completions.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";
import { BASE, FAULT, KEY, collect, spoilt } from "./support.mjs";

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

test("an approval goes on with the same response", async () => {
  const model = "agent/scenario-approval";
  let asked;
  let id;
  for await (const event of await client.responses.create({ model, input: "x", stream: true, background: true })) {
    id ??= event.response?.id;
    if (event.type === "response.output_item.done" && event.item.type === "mcp_approval_request") {
      asked = event.item.id;
      break;
    }
  }
  const input = [{ type: "mcp_approval_response", approval_request_id: asked, approve: true }];
  const final = await client.responses.stream({ model, input, previous_response_id: id }).finalResponse();
  assert.deepEqual([final.id, final.output_text], [id, "The file x was deleted."]);
});

test("bad requests are told what is wrong with them", async () => {
  const messages = [{ role: "user", content: "x" }];
  const told = async (status, asked, check) => {
    for (const ask of asked) {
      await assert.rejects(ask(), (error) => {
        assert.equal(error.status, status, error.message);
        check(error);
        return true;
      });
    }
  };
  const broken = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: KEY, maxRetries: 0, fetch: spoilt("{"), logLevel: "off" });
  const stranger = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: "rr_wrong", maxRetries: 0, logLevel: "off" });
  const both = (one, model, input, chat) => [
    () => one.responses.create({ model, input }),
    () => one.chat.completions.create({ model, messages: chat }),
  ];
  await told(400, both(broken, "scripted/text", "x", messages), (error) => {
    assert.equal(error.code, "invalid_json");
    assert.match(error.message, /not JSON/);
  });
  await told(404, both(client, "nobody/knows", "x", messages), (error) => assert.match(error.message, /scripted\//));
  await told(400, both(client, "scripted/text", [{ role: "wizard", content: "x" }], [{ role: "wizard", content: "x" }]), (error) =>
    assert.match(error.param, /\[0\]\.role$/),
  );
  await told(401, both(stranger, "scripted/text", "x", messages), (error) => assert.match(error.message, /key/));
});

test("chat: tool calls are gathered by their index", async () => {
  const stream = client.chat.completions.stream({ model: "scripted/tool", messages: [{ role: "user", content: "x" }] });
  const final = await stream.finalChatCompletion();
  assert.deepEqual(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments), { city: "Paris" });
});
