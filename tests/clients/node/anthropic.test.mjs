// @anthropic-ai/sdk's tool runner, which holds the conversation on the server: it must end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { collect, until } from "./support.mjs";

// More than any of these conversations takes: a tool that is asked for again and again ends here.
const MOST = 4;
const TEXT = "It is 15C in Paris.";
const calls = [];
const held = new Map();
let upstream, home, server, client;

const listen = (made) => new Promise((resolve) => made.listen(0, "127.0.0.1", () => resolve(made.address().port)));

const frames = (id, block) => {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const isText = block.type === "text";
  const delta = isText
    ? { type: "text_delta", text: block.text }
    : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
  const events = [
    {
      type: "message_start",
      message: {
        id, type: "message", role: "assistant", model: "stub", content: [], stop_reason: null, stop_sequence: null, usage,
      },
    },
    { type: "content_block_start", index: 0, content_block: isText ? { ...block, text: "" } : { ...block, input: {} } },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: isText ? "end_turn" : "tool_use", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
};

/** One tool, and threads. */
const serve = (body) => {
  calls.push(body);
  let messages = body.messages;
  if (body.thread?.type === "continue") messages = [...held.get(body.thread.previous_message_id), ...messages];
  const id = `msg_service_${calls.length}`;
  const content = messages.at(-1).content;
  const hasResult = Array.isArray(content) && content.some((block) => block.type === "tool_result");
  const use = { type: "tool_use", id: `toolu_${calls.length}`, name: "get_weather", input: { city: "Paris" } };
  const block = hasResult ? { type: "text", text: TEXT } : use;
  if (body.thread) held.set(id, [...messages, { role: "assistant", content: [block] }]);
  return frames(id, block);
};

before(async () => {
  upstream = createServer(async (request, answer) => {
    const body = JSON.parse((await collect(request)).join(""));
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.end(serve(body));
  });
  const url = `http://127.0.0.1:${await listen(upstream)}/v1`;
  home = mkdtempSync(join(tmpdir(), "riverrun-clients-"));
  const config = `
[providers.claude]
kind = "anthropic"
base_url = "${url}"
threads = true

[providers.compatible]
kind = "anthropic"
base_url = "${url}"

[agents.helper]
model = "scripted/tool"
`;
  writeFileSync(join(home, "riverrun.toml"), config);
  const free = createServer();
  const port = await listen(free);
  await new Promise((resolve) => free.close(resolve));
  const command = ["serve", "--dev", "--listen", `127.0.0.1:${port}`, "--data-dir", join(home, "data")];
  server = spawn(process.env.RIVERRUN_BINARY, [...command, "--config", join(home, "riverrun.toml")], { stdio: "ignore" });
  const key = join(home, "data/admin.key");
  const isUp = () => fetch(`http://127.0.0.1:${port}/livez`).then((answer) => answer.ok, () => false);
  await until("the server is up", async () => existsSync(key) && (await isUp()));
  const apiKey = readFileSync(key, "utf8").trim();
  client = new Anthropic({ baseURL: `http://127.0.0.1:${port}`, apiKey, maxRetries: 0, timeout: 30000, logLevel: "off" });
});

after(async () => {
  upstream.close();
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill();
  await ended;
  rmSync(home, { recursive: true });
});

const run = async (model, stream) => {
  const asked = [];
  const tool = {
    type: "custom",
    name: "get_weather",
    description: "The weather in a city.",
    input_schema: { type: "object", properties: { city: { type: "string" } } },
    parse: (input) => input,
    run: async ({ city }) => {
      asked.push(city);
      return "15C";
    },
  };
  const messages = [{ role: "user", content: "weather?" }];
  const runner = client.beta.messages.toolRunner({
    model, max_tokens: 256, tools: [tool], messages, max_iterations: MOST, stream,
  });
  let last;
  for await (const step of runner) last = stream ? await step.finalMessage() : step;
  return { asked, last };
};

for (const model of ["scripted/tool", "agent/helper", "claude/stub", "compatible/stub"]) {
  for (const stream of [false, true]) {
    test(`the tool runner ends: ${model}${stream ? ", streamed" : ""}`, async () => {
      calls.length = 0;
      const { asked, last } = await run(model, stream);
      assert.deepEqual(asked, ["Paris"]);
      assert.equal(last.stop_reason, "end_turn");
      if (model === "claude/stub") {
        assert.deepEqual(calls.map((call) => call.thread?.type), ["create", "continue"]);
        assert.equal(calls[1].thread.previous_message_id, "msg_service_1");
        assert.equal(calls[1].tools, undefined);
      }
      if (model === "compatible/stub") {
        assert.deepEqual(calls.map((call) => call.messages.length), [1, 3]);
        assert.ok(calls.every((call) => call.thread === undefined));
      }
    });
  }
}

test("an unknown message is not found", async () => {
  const thread = { type: "continue", previous_message_id: "msg_nobody" };
  const asked = client.beta.messages.create({
    model: "scripted/tool", max_tokens: 9, messages: [{ role: "user", content: "x" }], thread,
    betas: ["message-threads-2026-08-12"],
  });
  await assert.rejects(asked, (error) => error.status === 404 && error.error.error.details.error_code === "thread_not_found");
});
