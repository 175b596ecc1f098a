// The React hook of the document on content blocks, run verbatim over the real server's WebSocket.
// The hook and the document's sample frames are read from the document when the test runs.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { openBlocks } from "./blocks_socket.mjs";
import { document, javaScriptFunction, jsonObjects } from "./documents.mjs";
import { hosted } from "./hosted.mjs";
import { close, screen, useCallback, useRef, useState } from "./react_screen.mjs";

const text = document("001");
const skip = text === undefined ? "the document is absent" : false;
const frames = skip ? [] : jsonObjects(text);
const useStreamProcessor = skip || javaScriptFunction(text, "useStreamProcessor", { useCallback, useRef, useState });

/** The whole turn that the document ends its frames with. */
const sample = frames.slice(frames.findLastIndex(({ type }) => type === "message_start"));
const blockOf = (kind) => sample.find((frame) => frame.content_block?.type === kind)?.content_block;
const deltaWith = (member, from) => from.find((frame) => frame.delta?.[member] !== undefined)?.delta;
const ending = (subtype) => frames.find((frame) => frame.delta?.extras?.block_subtype === subtype)?.delta;
const approval = deltaWith("action_requests", frames);

/** Models that say what those of the document say. */
const scenario = () => {
  const call = (name, args) => ({ call: { name, arguments: [JSON.stringify(args)] } });
  const answer = (...pieces) => ({ text: { pieces } });
  const { name, input } = blockOf("tool_use");
  const [trade] = approval.action_requests;
  const thought = { reasoning: { pieces: [deltaWith("thinking", sample).thinking] } };
  const fail = { category: "overloaded", message: ending("error").extras.details.error, retry_after_ms: 1 };
  return {
    step: [
      { when: { result_of: name }, play: [answer(deltaWith("text", sample).text)] },
      { when: { offers: name }, play: [thought, call(name, input)] },
      { when: { result_of: trade.name }, play: [answer("Done.")] },
      { when: { offers: trade.name }, play: [call(trade.name, trade.args)] },
      { when: { input_contains: "fail" }, play: [{ fail }] },
      { when: { input_contains: "file" }, play: [answer("I have read it.")] },
      { play: [answer("On and on."), { hang: true }] },
    ],
  };
};

const config = () => {
  const agent = (name, result, more) => `
[tools.${name}]
command = ["printf", "%s", ${JSON.stringify(result)}]
parameters = { type = "object" }
${more}

[agents.${name}]
model = "scripted/main"
tools = ["${name}"]
`;
  const { name, content } = blockOf("tool_result");
  const trader = agent(approval.action_requests[0].name, "traded", 'approval = "always"');
  return `[agents.main]\nmodel = "scripted/main"\n${agent(name, content, "read_only = true")}${trader}`;
};

let server;
before(async () => {
  if (!skip) server = await hosted(scenario(), config());
});
after(async () => {
  await server?.stop();
  await close();
});

/** The document's hook, fed with a turn; `during` sees each frame and what the hook showed behind it. */
const show = async (send, during = () => {}, options = {}) => {
  const { shown, change } = screen(useStreamProcessor);
  const socket = await openBlocks(server, options);
  try {
    socket.send(send);
    const seen = await socket.turn((frame) => {
      change(() => shown.handleEvent(frame));
      return during(frame, shown, socket);
    });
    return { blocks: shown.blocks, isStreaming: shown.isStreaming, frames: seen };
  } finally {
    socket.close();
  }
};

const chat = (agent, message, more) => ({ type: "chat", agent, message, ...more });
const askForStock = () => chat(blockOf("tool_use").name, "VNM?");
const stopAtOnce = ({ type, session_id }, _, socket) => {
  if (type === "message_start") socket.send({ type: "stop", session_id });
};

/** Everything that the document's value has is there, and of its kind; where the document has null, it is there. */
const assertCovers = (found, wanted, path) => {
  assert.notEqual(found, undefined, `${path} is absent`);
  if (wanted === null) return;
  assert.equal(typeof found, typeof wanted, `${path} is of another kind`);
  if (typeof wanted !== "object") return;
  for (const [name, inner] of Object.entries(wanted)) assertCovers(found[name], inner, `${path}.${name}`);
};

test("the hook shows a hosted turn as it shows the document's", { skip }, async () => {
  const { shown, change } = screen(useStreamProcessor);
  for (const frame of sample) change(() => shown.handleEvent(frame));
  const streamed = new Set();
  const { blocks, isStreaming } = await show(askForStock(), (_, { isStreaming }) => streamed.add(isStreaming));
  assert.deepEqual([...streamed, isStreaming], [true, false, false]);
  // A call's id is the server's own, its label the application's, and the document's result has no artifact.
  const compared = ({ id, tool_use_id, tool_content_message, artifact, ...block }) => block;
  const wanted = shown.blocks.map(compared);
  const pick = (block, members) => Object.fromEntries(Object.keys(members).map((name) => [name, block[name]]));
  assert.deepEqual(blocks.map((block, at) => pick(block, wanted[at] ?? block)), wanted);
  assert.deepEqual(wanted.map(({ type }) => type), ["thinking", "tool_use", "text"]);
});

test("a hosted turn has the document's frames in their order, with all of their members", { skip }, async () => {
  const { frames: found } = await show(askForStock());
  const names = (from) => from.map(({ type, content_block }) => content_block?.type ?? type);
  assert.deepEqual(names(found), names(sample));
  sample.forEach((frame, at) => assertCovers(found[at], frame, `frame ${at}`));
  for (const { content_block: block } of frames) {
    const same = found.find(({ content_block }) => content_block?.type === block?.type);
    if (block && same) assertCovers(same.content_block, block, block.type);
  }
  assert.equal(new Set(found.map(({ message_id }) => message_id)).size, 1);
});

test("a reader that comes later sees the same blocks", { skip }, async () => {
  const live = await show(askForStock());
  const { session_id } = live.frames[0];
  const later = await show({ type: "subscribe", session_id, last_event_id: "0.0" });
  assert.deepEqual(later, live);
});

test("the hook shows who stopped the turn", { skip }, async () => {
  const { blocks, isStreaming } = await show(chat("main", "go"), stopAtOnce);
  assert.equal(blocks.at(-1).type, "terminal_user_stopped");
  assert.ok(blocks.at(-1).text);
  assert.equal(isStreaming, false);
});

test("the hook shows what the document tells of an error", { skip }, async () => {
  const { blocks } = await show(chat("main", "fail"));
  const { type, extras } = blocks.at(-1);
  assert.equal(type, "terminal_error");
  const { code, ...wanted } = ending("error").extras;
  const { code: found, ...rest } = extras;
  assert.deepEqual(rest, wanted);
  assert.equal(typeof found, typeof code);
});

test("the hook shows what is to be approved, and the turn goes on behind it", { skip }, async () => {
  const approve = ({ type, index }, { blocks, isStreaming }, socket) => {
    const { approval_key, index: own } = blocks.at(-1) ?? {};
    if (type !== "content_block_stop" || own !== index || !blocks.at(-1).actionRequests) return;
    assert.equal(isStreaming, true);
    const session_id = approval_key.slice(0, approval_key.lastIndexOf("_"));
    socket.send({ type: "approval", session_id, approval_key, decisions: [{ type: "approve" }] });
  };
  const { blocks } = await show(chat(approval.action_requests[0].name, "go"), approve);
  const { actionRequests, reviewConfigs, timeoutSeconds } = blocks.find(({ type }) => type === "approval_request");
  assertCovers(actionRequests, approval.action_requests, "actionRequests");
  assertCovers(reviewConfigs, approval.review_configs, "reviewConfigs");
  assert.deepEqual(actionRequests[0].args, approval.action_requests[0].args);
  assert.equal(timeoutSeconds, approval.timeout_seconds);
  assert.equal(blocks.find(({ type }) => type === "tool_use").toolResult, "traded");
});

const FILE = { content_urls: ["data:text/plain;base64,aGVsbG8="] };

test("the hook shows that a file was processed, in the first block", { skip }, async () => {
  const { blocks } = await show(chat("main", "file", FILE));
  assert.deepEqual([blocks[0].index, blocks[0].type], [0, "file_processing"]);
  assert.equal(blocks[0].processingStatus, deltaWith("status", frames).status);
  assert.deepEqual(blocks[0].files.map(({ url }) => url), ["data:text/plain"]);
});

test("a file's message is the document's", { skip }, async () => {
  const { blocks } = await show(chat("main", "file", FILE));
  assert.equal(blocks[0].processingMessage, deltaWith("status", frames).message);
});

test("an error of the model has the document's code", { skip }, async () => {
  const { blocks } = await show(chat("main", "fail"));
  assert.equal(blocks.at(-1).extras.code, ending("error").extras.code);
});

const VIETNAMESE = { headers: { "accept-language": "vi" } };

test("a stopped turn says so in the reader's language", { skip }, async () => {
  const { blocks } = await show(chat("main", "go"), stopAtOnce, VIETNAMESE);
  assert.equal(blocks.at(-1).text, ending("user_stopped").text);
});

test("an error is told in the reader's language", { skip }, async () => {
  const { blocks } = await show(chat("main", "fail"), undefined, VIETNAMESE);
  assert.equal(blocks.at(-1).text, ending("error").text);
});
