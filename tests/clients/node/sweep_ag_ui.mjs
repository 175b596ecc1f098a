// @ag-ui/client enters a turn behind every event, without a state: the same messages and the same state.
import { HttpAgent } from "@ag-ui/client";
import { EVERYTHING, Report, chosen, copied, open, play } from "./recorded.mjs";
import { BASE } from "./support.mjs";

const DIALECT = "ag-ui";
const report = new Report(DIALECT);
const plain = (value) => JSON.parse(JSON.stringify(value));
console.error = () => {};

/** What the official client holds when it gets this answer, and has answered what it was asked. */
const readAll = async (copy, answer) => {
  const answers = [answer];
  const agent = new HttpAgent({ url: `${BASE}/ag-ui`, threadId: "t", fetch: async () => answers.shift() });
  let error = null;
  const run = async (more) => {
    try {
      await agent.runAgent(more, { onRunErrorEvent: ({ event }) => void (error = event.message) });
    } catch (failure) {
      error ??= String(failure?.message ?? failure);
    }
  };
  await run({});
  for (const wait of copy.waits) {
    if (!agent.pendingInterrupts?.length) continue;
    answers.push(await open(copy, DIALECT, { after: wait }));
    const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: { approved: true } }));
    await run({ resume });
  }
  // Who asked has the question; who comes without a state is told it, unless the turn had not begun.
  const asked = agent.messages.filter(({ id }) => id !== `${copy.turn}.input`);
  // How a run stood when it was interrupted is told to those who were there: only the last run's activity is compared.
  const last = asked.findLast(({ activityType }) => activityType === "RUN");
  const messages = asked.filter((one) => one.activityType !== "RUN" || one === last);
  return plain({ messages, state: agent.state, error });
};

/** Who was there heard agents that ran side by side in the order of their words, who came later one after the other. */
const ordered = (found, label) =>
  label === "agents_side_by_side" ? { ...found, messages: found.messages.toSorted((one, other) => (one.id < other.id ? -1 : 1)) } : found;

const textOf = ({ messages }) =>
  messages.filter((one) => one.role === "assistant" && !one.subagentRunId).map((one) => one.content ?? "").join("");

/** Pictures of a tool are parts of its message, those of the agent activities. */
const picturesOf = ({ messages }) =>
  messages.flatMap(({ role, content }) => {
    const parts = role === "tool" && Array.isArray(content) ? content : [];
    const shown = role === "activity" ? (content.block?.imageUrl?.url ?? []) : [];
    const sources = parts.filter(({ type }) => type === "image").map(({ source }) => source);
    return sources.map(({ type, value, mimeType }) => (type === "data" ? `data:${mimeType};base64,${value}` : value)).concat(shown);
  });

for (const [label, agent] of chosen(EVERYTHING)) {
  const turn = await play(agent);
  for await (const { copy, readers } of copied(turn, DIALECT)) {
    const whole = await readAll(copy, await open(copy, DIALECT));
    report.equal(textOf(whole), turn.text, `${label}: the uncut text and the fold's`);
    report.equal(picturesOf(whole), turn.pictures, `${label}: the uncut pictures and the fold's`);
    for (const { sequence, answer } of readers) {
      report.equal(ordered(await readAll(copy, answer), label), ordered(whole, label), `${label}: entered behind ${sequence}`);
    }
  }
}
report.end();
