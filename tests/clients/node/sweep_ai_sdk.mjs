// ai enters a turn behind every event, without a state: it ends with the same message.
import { DefaultChatTransport, readUIMessageStream } from "ai";
import { EVERYTHING, Report, chosen, copied, open, play } from "./recorded.mjs";
import { BASE, FAULT, keyed, name } from "./support.mjs";

const DIALECT = "ai-sdk";
const SAID = "The weather in Paris is sunny and 15°C.";
const report = new Report(DIALECT);
const user = { id: "u1", role: "user", parts: [{ type: "text", text: "x" }] };
const plain = (value) => JSON.parse(JSON.stringify(value));

/** The message that the official client ends with when it gets this answer. */
const read = async (answer, message) => {
  const transport = new DefaultChatTransport({ api: `${BASE}/api/chat`, fetch: async () => answer });
  const asked = { chatId: "c", messages: [user], trigger: "submit-message", messageId: undefined, body: {} };
  const stream = await transport.sendMessages(asked);
  let found = message;
  let error;
  const onError = (failure) => void (error = String(failure?.message ?? failure));
  for await (const one of readUIMessageStream({ stream, message, onError })) found = plain(one);
  return { message: found, error };
};

/**
 * The session's state stands where it first came, and the data of agents that ran side by side too; to readers who came
 * later they are told in the order of the state.
 */
const ordered = ({ message, error }) => {
  const isLoose = (part) => part.type.startsWith("data-");
  const loose = message.parts.filter(isLoose).toSorted((one, other) => (`${one.type}${one.id}` < `${other.type}${other.id}` ? -1 : 1));
  const parts = [...loose, ...message.parts.filter((part) => !isLoose(part))];
  return { message: { ...message, parts }, error };
};

const waiting = (message) => message.parts.filter((part) => part.state === "approval-requested");
/** What a sub-agent asks is data: the message has no call for it. */
const asked = (message) => message.parts.filter((part) => part.type === "data-riverrun-action" && !part.data.resolution);

/** Answers as a chat does, and goes on, until the message waits for nothing. */
const readAll = async (copy, answer) => {
  let read_ = await read(answer);
  for (const wait of copy.waits) {
    if (!read_.message || waiting(read_.message).length + asked(read_.message).length === 0) continue;
    for (const part of waiting(read_.message)) {
      part.state = "approval-responded";
      part.approval = { ...part.approval, approved: true };
    }
    read_ = await read(await open(copy, DIALECT, { after: wait }), read_.message);
  }
  return ordered(read_);
};

const textOf = ({ message }) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");

const picturesOf = ({ message }) => message.parts.filter((part) => part.type === "file").map((part) => part.url);

for (const [label, agent] of chosen(EVERYTHING)) {
  const turn = await play(agent);
  for await (const { copy, readers } of copied(turn, DIALECT)) {
    const whole = await readAll(copy, await open(copy, DIALECT));
    report.equal(textOf(whole), turn.text, `${label}: the uncut text and the fold's`);
    report.equal(picturesOf(whole), turn.pictures, `${label}: the uncut pictures and the fold's`);
    for (const { sequence, answer } of readers) {
      report.equal(await readAll(copy, answer), whole, `${label}: entered behind ${sequence}`);
    }
  }
}

// A run that is cut behind every frame, and found again by its chat while it goes.
for (let frames = 1; frames < 200; frames++) {
  const chatId = name("chat");
  const api = `${BASE}/api/chat`;
  const body = { agent: "scripted/slow?pace_ms=20&times=1" };
  const cut = new DefaultChatTransport({ api, fetch: keyed({ [FAULT]: `drop-after=${frames}` }), body });
  const stream = await cut.sendMessages({ chatId, messages: [user], trigger: "submit-message", messageId: undefined });
  const seen = [];
  try {
    for await (const chunk of stream) seen.push(chunk);
  } catch {
    // The cut.
  }
  const again = await new DefaultChatTransport({ api, fetch: keyed() }).reconnectToStream({ chatId });
  if (!again) {
    // The run ended before the chat asked again: then it must hold everything.
    const text = seen.filter((chunk) => chunk.type === "text-delta").map((chunk) => chunk.delta).join("");
    report.equal(text, SAID, `cut after ${frames} frames, and not open any more`);
    break;
  }
  let message;
  for await (const one of readUIMessageStream({ stream: again })) message = plain(one);
  report.equal(textOf({ message }), SAID, `found again after ${frames} frames`);
}
report.end();
