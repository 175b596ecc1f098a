// Turns that were played once, and copies of them that readers enter behind every event.
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { BASE, keyed, name, until } from "./support.mjs";

export const AGENTS = {
  text: "scenario-text",
  tool: "scenario-tool",
  approval: "scenario-approval",
  subagent: "scenario-subagent",
  error: "scenario-error",
  parallel: "scenario-parallel",
  citations: "demo",
  citation: "recorded/citation",
  images: "recorded/images",
  beside: "recorded/approval_beside",
  rejected: "recorded/approval_rejected",
  cancelled: "recorded/cancel",
  handoff: "recorded/blocks",
  tools_side_by_side: "recorded/parallel_tools",
  agents_side_by_side: "recorded/sub_agents_parallel",
  state: "recorded/state",
  steered: "recorded/steered",
};
// What a turn can hold that clients easily get wrong.
export const EVERYTHING = ["approval", "beside", "subagent", "error", "citation", "images", "agents_side_by_side"];
// Every reader holds a connection, and a key may hold only so many.
const AT_ONCE = 100;
const fetched = keyed();

const call = async (method, path, body) => {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const answer = await fetched(BASE + path, { method, headers, body: body && JSON.stringify(body) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(said).slice(0, 300)}`);
  return said;
};

/** The open answer of a stream of the turn in a dialect. */
export const open = async (turn, dialect, query = {}) => {
  const asked = new URLSearchParams({ dialect, turn: turn.turn, ...query });
  const path = `${BASE}/v1/sessions/${turn.session}/events?${asked}`;
  const answer = await fetched(path, { headers: { accept: "text/event-stream" } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
};

const approveAll = async (session) => {
  for (const action of (await call("GET", `/v1/sessions/${session}/actions`)).actions) {
    if (action.status !== "pending") continue;
    const answer = { decision: "approve", digest: action.digest };
    await call("POST", `/v1/sessions/${session}/actions/${action.actionId}`, answer);
  }
};

/** Puts a recorded turn into a session of its own, under names of its own. */
const put = async (recording) => {
  const session = name("rec");
  const names = { r1: `r1_${session}`, k1: `k1_${session}` };
  await call("POST", "/v1/sessions", { sessionId: session });
  for (const line of (await readFile(`${process.env.RIVERRUN_SCENARIOS}/${recording}.ndjson`, "utf8")).trim().split("\n")) {
    const event = JSON.parse(line);
    if (event.type === "session.created") continue;
    for (const member of ["turnId", "taskId", "parentTaskId"]) {
      if (event[member] in names) event[member] = names[event[member]];
    }
    await call("POST", `/v1/sessions/${session}/events`, event);
  }
  return { session, turnId: names.r1, taskId: names.k1 };
};

const run = async (agent) => {
  const session = name("ses");
  await call("POST", "/v1/sessions", { sessionId: session });
  const { turnId, taskId } = await call("POST", `/v1/sessions/${session}/turns`, { agent, input: "wind" });
  await until(`the turn of ${agent} ends`, async () => {
    await approveAll(session);
    const said = await call("GET", `/v1/sessions/${session}/state`);
    return ["completed", "failed", "cancelled"].includes((said.state ?? said).turns.at(-1).status);
  });
  return { session, turnId, taskId };
};

/**
 * Plays a turn to its end, with every action approved, or takes a recorded one: where it is, its events, the text that
 * the fold made of it, and where its pictures are.
 */
export const play = async (agent) => {
  const { session, turnId, taskId } = agent.startsWith("recorded/") ? await put(agent.slice(9)) : await run(agent);
  const { events } = await call("GET", `/v1/sessions/${session}/events?limit=5000`);
  const said = await call("GET", `/v1/tasks/${taskId}`);
  const of = (...types) => (said.task ?? said).output
    .filter((item) => types.includes(item.type) && item.role !== "user")
    .flatMap((item) => item.block_list ?? item.content ?? []);
  const text = of("message").map((block) => block.text ?? "").join("");
  const pictures = of("message", "tool_result").flatMap((block) => block.image_url?.url ?? []);
  const waits = events.filter((event) => event.type === "action.resolved").map((event) => event.sequence - 1);
  return { session, turn: turnId, events, text, pictures, waits };
};

/** Puts the turn's events into new sessions one by one, and opens a reader without a state behind each. */
export async function* copied(turn, dialect) {
  for (let first = 0; first < turn.events.length; first += AT_ONCE) {
    const copy = { ...turn, session: name("cpy") };
    await call("POST", "/v1/sessions", { sessionId: copy.session });
    const readers = [];
    for (const { sequence, sessionId, ...event } of turn.events) {
      await call("POST", `/v1/sessions/${copy.session}/events`, event);
      if (sequence > first && sequence <= first + AT_ONCE) {
        readers.push({ sequence, answer: await open(copy, dialect, { catchup: "snapshot" }) });
      }
    }
    yield { copy, readers };
  }
}

export class Report {
  right = 0;
  all = 0;
  shown = 0;
  began = Date.now();
  constructor(dialect) {
    this.dialect = dialect;
  }
  equal(found, wanted, what) {
    this.all += 1;
    if (isDeepStrictEqual(found, wanted)) return void (this.right += 1);
    if (this.shown++ < 5) console.log(`  wrong: ${what}\n    ${difference(found, wanted)}`);
  }
  end() {
    console.log(`${this.dialect}: ${this.right}/${this.all} (${Math.round((Date.now() - this.began) / 1000)} s)`);
    process.exit(this.right === this.all && this.all > 0 ? 0 : 1);
  }
}

/** Where two values first differ. */
const difference = (found, wanted, path = "") => {
  const are = [found, wanted].every((value) => value !== null && typeof value === "object");
  if (are) {
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(found)])) {
      if (!isDeepStrictEqual(found[key], wanted[key])) return difference(found[key], wanted[key], `${path}/${key}`);
    }
  }
  const short = (value) => JSON.stringify(value)?.slice(0, 300);
  return `${path}: found ${short(found)}, wanted ${short(wanted)}`;
};

/** The scenarios: all with `--all`, else the small ones. */
export const chosen = (small) =>
  Object.entries(AGENTS).filter(([label]) => process.argv.includes("--all") || small.includes(label));
