// openai-node through the gateway, to a service that speaks its dialect and plays recorded bytes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import OpenAI from "openai";
import { collect, until } from "./support.mjs";

const RECORDED = join(process.env.RIVERRUN_SCENARIOS, "../../provider");
const APIS = { responses: "openai", completions: "chat" };
const KINDS = { openai: "openai", chat: "openai-chat" };
const calls = [];
let upstream, home, server, client;

const listen = (made) => new Promise((resolve) => made.listen(0, "127.0.0.1", () => resolve(made.address().port)));

before(async () => {
  upstream = createServer(async (request, answer) => {
    const body = JSON.parse((await collect(request)).join(""));
    calls.push(body);
    const api = APIS[request.url.split("/").at(-1)];
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.end(readFileSync(join(RECORDED, api, `${body.model}.sse`)));
  });
  const url = `http://127.0.0.1:${await listen(upstream)}/v1`;
  home = mkdtempSync(join(tmpdir(), "riverrun-clients-"));
  const section = ([api, kind]) => `[providers.${api}]\nkind = "${kind}"\nbase_url = "${url}"\n`;
  const providers = Object.entries(KINDS).map(section);
  writeFileSync(join(home, "riverrun.toml"), providers.join("\n"));
  const free = createServer();
  const port = await listen(free);
  await new Promise((resolve) => free.close(resolve));
  const command = ["serve", "--dev", "--listen", `127.0.0.1:${port}`, "--data-dir", join(home, "data")];
  server = spawn(process.env.RIVERRUN_BINARY, [...command, "--config", join(home, "riverrun.toml")], { stdio: "ignore" });
  const key = join(home, "data/admin.key");
  const isUp = () => fetch(`http://127.0.0.1:${port}/livez`).then((answer) => answer.ok, () => false);
  await until("the server is up", async () => existsSync(key) && (await isUp()));
  const apiKey = readFileSync(key, "utf8").trim();
  client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey, maxRetries: 0, timeout: 30000, logLevel: "off" });
});

after(async () => {
  upstream.close();
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill();
  await ended;
  rmSync(home, { recursive: true });
});

test("a tool of the service comes through and goes back", async () => {
  const stream = client.responses.stream({ model: "openai/hosted_tool", input: "weather?" });
  const events = await collect(stream);
  const final = await stream.finalResponse();
  assert.ok(events.some((event) => event.type === "response.web_search_call.searching"));
  assert.deepEqual(final.output[0].action, { type: "search", query: "weather" });
  assert.equal(final.output_text, "Sunny.");
  const again = await client.responses.retrieve(final.id);
  assert.deepEqual([again.output[0], again.output_text], [final.output[0], final.output_text]);
  await client.responses.create({ model: "openai/text", input: "and?", previous_response_id: final.id });
  assert.deepEqual(calls.at(-1).input[1], final.output[0]);
});

test("a call that is no function's comes through", async () => {
  const messages = [{ role: "user", content: "x" }];
  const tools = [{ type: "custom", custom: { name: "code_exec" } }];
  const whole = await client.chat.completions.create({ model: "chat/custom_call", messages, tools });
  const [call] = whole.choices[0].message.tool_calls;
  assert.deepEqual([call.type, call.custom], ["custom", { name: "code_exec", input: 'print("hi")' }]);
  const chunks = await collect(await client.chat.completions.create({ model: "chat/custom_call", messages, tools, stream: true }));
  const calls = chunks.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []).filter((one) => one.index === 0);
  assert.equal(calls.map((one) => one.custom.input).join(""), 'print("hi")');
});

test("a refusal and the odds of tokens are those of the service", async () => {
  const refused = await client.responses.stream({ model: "openai/refusal", input: "x" }).finalResponse();
  const [part] = refused.output[0].content;
  assert.deepEqual([part.type, part.refusal], ["refusal", "I cannot do that."]);
  const messages = [{ role: "user", content: "x" }];
  const chat = client.chat.completions.stream({ model: "chat/logprobs", messages, logprobs: true });
  const completion = await chat.finalChatCompletion();
  assert.deepEqual(completion.choices[0].logprobs.content.map((odds) => odds.token), ["Sun", "ny", "."]);
  const no = await client.chat.completions.stream({ model: "chat/refusal", messages }).finalChatCompletion();
  assert.equal(no.choices[0].message.refusal, "No.");
});
