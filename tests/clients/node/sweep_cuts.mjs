// Every runtime and SDK, in every dialect, cut in every way: each says that it was cut, none that it is done.
//
//   runtime   fetch of Node 20 and of this Node; openai, @anthropic-ai/sdk, ai and @ag-ui/client on their own routes;
//             fetch and EventSource of Chromium
//   cut       the server is killed, the server drains, a proxy resets the connection, a proxy closes it
//   dialect   all of them, as SSE and, with fetch, as NDJSON
//
// Every reader is open, and has read something, before the cut. A reader that neither fails nor ends is wrong too.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { HttpAgent } from "@ag-ui/client";
import { AbstractChat, DefaultChatTransport } from "ai";
import OpenAI from "openai";
import { chromium } from "playwright-core";

const DIALECTS = [
  "native", "native-strict", "native-lime", "task", "blocks", "responses", "chat", "anthropic", "gemini", "ag-ui",
  "ai-sdk", "agents-sdk", "simple-run", "langgraph", "a2a",
];
const SSE = "text/event-stream";
const NDJSON = "application/x-ndjson";
// A turn of many seconds: no reader sees its end.
const CONFIG = '[server]\ndrain = "1s"\n[agents.patient]\nmodel = "scripted/long?deltas=2000&pace_ms=50"\n';
const [AGENT, MODEL] = ["patient", "agent/patient"];
const SESSION = "open";
const OPEN_TURN = [
  { type: "turn.submitted", payload: { input: "go" } },
  { type: "turn.started", payload: {} },
  { type: "task.created", taskId: "k", payload: { title: "x", kind: "turn" } },
  {
    type: "item.started",
    taskId: "k",
    payload: { outputIndex: 0, item: { type: "message", id: "m", role: "assistant", blockList: [{ type: "text", text: "" }], status: "in_progress" } },
  },
  { type: "model.delta", taskId: "k", payload: { delta: "half", itemId: "m", outputIndex: 0, blockIndex: 0 } },
];
const WAIT = 20_000;
// A browser opens so many connections to one origin, and one of them is the page's.
const PER_PAGE = 5;
const here = dirname(fileURLToPath(import.meta.url));
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const address = (server) => `http://127.0.0.1:${server.address().port}`;

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

/** A server of its own, with a turn that is open. */
const start = async () => {
  const home = mkdtempSync(join(tmpdir(), "riverrun-cuts-"));
  const port = await freePort();
  const words = ["serve", "--dev", "--listen", `127.0.0.1:${port}`, "--data-dir", join(home, "data"), "--config", join(home, "riverrun.toml")];
  writeFileSync(join(home, "riverrun.toml"), CONFIG);
  const child = spawn(process.env.RIVERRUN_BINARY, words, { stdio: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  const answers = () => fetch(`${url}/readyz`).then((answer) => answer.ok, () => false);
  for (let tries = 0; !(existsSync(join(home, "data/admin.key")) && (await answers())); tries++) {
    if (tries > 600 || child.exitCode !== null) throw new Error("the server did not start");
    await sleep(50);
  }
  const key = readFileSync(join(home, "data/admin.key"), "utf8").trim();
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  await post("/v1/sessions", { sessionId: SESSION });
  await post(`/v1/sessions/${SESSION}/events`, OPEN_TURN.map((event) => ({ threadId: "main", turnId: "t", ...event })));
  const stop = async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await gone;
    }
    rmSync(home, { recursive: true, force: true });
  };
  return { child, url, key, port, post, stop };
};

/** Passes bytes until it is told to cut every connection; then it listens no more. */
const proxy = (port) =>
  new Promise((resolve) => {
    const sockets = new Set();
    const server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      sockets.add(near);
      near.on("error", () => far.destroy()).on("close", () => far.destroy());
      far.on("error", () => near.destroy()).on("close", () => near.end());
      near.pipe(far, { end: false });
      far.pipe(near, { end: false });
    });
    const cut = (reset) => {
      server.close();
      for (const near of sockets) {
        near.unpipe();
        if (reset) near.resetAndDestroy();
        else near.destroy();
      }
    };
    server.listen(0, "127.0.0.1", () => resolve({ url: address(server), cut }));
  });

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (at, message) => void (this.messages = this.messages.map((one, place) => (place === at ? structuredClone(message) : one)));
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(options) {
    super({ ...options, state: new State(), onError: () => {} });
  }
}

/** The official clients on the routes that are theirs, without retries of their own. */
const sdks = (base, key) => {
  const keyed = (seen) => async (url, options = {}) => {
    const headers = new Headers(options.headers);
    headers.set("authorization", `Bearer ${key}`);
    const answer = await fetch(url, { ...options, headers });
    seen?.();
    return answer;
  };
  const openai = () => new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 0, timeout: WAIT });
  const anthropic = () => new Anthropic({ baseURL: base, apiKey: key, maxRetries: 0, timeout: WAIT });
  const words = [{ role: "user", content: "go" }];
  const ask = { model: MODEL, messages: words };
  const each = async (stream, seen) => {
    let count = 0;
    for await (const _ of stream) if (++count > 3) seen();
  };
  return {
    "openai responses.create": async (seen) => each(await openai().responses.create({ model: MODEL, input: "go", stream: true }), seen),
    "openai responses.stream": async (seen) => {
      const stream = openai().responses.stream({ model: MODEL, input: "go" });
      stream.on("event", seen);
      await stream.finalResponse();
    },
    "openai chat.completions.create": async (seen) => each(await openai().chat.completions.create({ ...ask, stream: true }), seen),
    "openai chat.completions.stream": async (seen) => {
      const stream = openai().chat.completions.stream(ask);
      stream.on("content", seen);
      await stream.finalChatCompletion();
    },
    "@anthropic-ai/sdk messages.create": async (seen) => each(await anthropic().messages.create({ ...ask, max_tokens: 9999, stream: true }), seen),
    "@anthropic-ai/sdk messages.stream": async (seen) => {
      const stream = anthropic().messages.stream({ ...ask, max_tokens: 9999 });
      stream.on("text", seen);
      await stream.finalMessage();
    },
    "ai AbstractChat": async (seen) => {
      const transport = new DefaultChatTransport({ api: `${base}/api/chat`, fetch: keyed(seen), body: { agent: AGENT } });
      const chat = new Chat({ id: `chat-${Math.random()}`, transport });
      await chat.sendMessage({ text: "go" });
      // It has no exception: its status says how it went.
      if (chat.status === "error") throw chat.error;
    },
    "@ag-ui/client runAgent": async (seen) => {
      const messages = [{ id: "u1", role: "user", content: "go" }];
      const agent = new HttpAgent({ url: `${base}/ag-ui`, threadId: `th-${Math.random()}`, initialMessages: messages, fetch: keyed() });
      await agent.runAgent({ forwardedProps: { agent: AGENT } }, { onEvent: ({ event }) => event.type.startsWith("TEXT") && seen() });
    },
  };
};

/** A reader: when it has begun, and what became of it. */
const opened = (name, read) => {
  let seen;
  const begun = new Promise((resolve) => (seen = () => resolve()));
  const ended = read(seen).then(
    () => ["ended"],
    (error) => ["failed", `${error?.name}: ${error?.message}`.slice(0, 160)],
  );
  ended.finally(seen);
  return [{ name, begun, ended }];
};

/** The fetch of a Node of its own, for every dialect. */
const fetchers = (node, label, base, key) => {
  const readers = DIALECTS.flatMap((dialect) =>
    [SSE, NDJSON].map((accept) => ({ url: `${base}/v1/sessions/${SESSION}/events?dialect=${dialect}`, accept, dialect })),
  );
  const child = spawn(node, [join(here, "cut_fetch.mjs"), JSON.stringify({ key, readers })], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  let seen;
  const begun = new Promise((resolve) => (seen = resolve));
  child.stdout.on("data", (piece) => (text += piece) && text.includes("begun") && seen());
  const all = new Promise((resolve) =>
    child.once("exit", () => {
      seen();
      try {
        resolve(JSON.parse(text.trim().split("\n").at(-1)));
      } catch {
        resolve([]);
      }
    }),
  );
  setTimeout(() => child.kill("SIGKILL"), 3 * WAIT).unref();
  return readers.map(({ dialect, accept }, at) => ({
    name: `${label} ${dialect} ${accept.split("/")[1]}`,
    begun,
    ended: all.then((results) => results[at] ?? ["never said anything"]),
  }));
};

/** Runs in the page: reads with fetch, or with EventSource, whose readers are told of a cut by `onerror`. */
const inPage = async ({ kind, url, key, shown }) => {
  const report = (window.reports ??= {});
  report[kind + url] = ["waits"];
  if (kind === "EventSource") {
    const source = new EventSource(url);
    const seen = () => report[kind + url][0] === "waits" && (report[kind + url] = ["begun"]);
    source.onmessage = seen;
    for (const name of ["riverrun", "metadata", "messages", "values", "message_start", "content_block_delta", "response.created"]) source.addEventListener(name, seen);
    source.onopen = seen;
    source.onerror = () => {
      source.close();
      const before = report[kind + url][0];
      report[kind + url] = before === "begun" ? ["failed", "onerror"] : ["refused before the cut"];
    };
    return;
  }
  try {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${key}`, accept: "text/event-stream" } });
    const reader = answer.body.getReader();
    const text = new TextDecoder();
    for (let all = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      all += text.decode(value, { stream: true });
      if (all.includes(shown) && report[kind + url][0] === "waits") report[kind + url] = ["begun"];
    }
    report[kind + url] = ["ended"];
  } catch (error) {
    report[kind + url] = ["failed", `${error.name}: ${error.message}`];
  }
};

/** Chromium's fetch and EventSource for every dialect; each context has connections of its own. */
const browserReaders = async (browser, base, server) => {
  const all = [];
  const wanted = ["fetch", "EventSource"].flatMap((kind) => DIALECTS.map((dialect) => ({ kind, dialect })));
  for (let first = 0; first < wanted.length; first += PER_PAGE) {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${base}/livez`);
    for (const { kind, dialect } of wanted.slice(first, first + PER_PAGE)) {
      let url = `${base}/v1/sessions/${SESSION}/events?dialect=${dialect}`;
      if (kind === "EventSource") url += `&ticket=${(await server.post("/v1/tickets", {})).ticket}`;
      const name = `Chromium ${kind} ${dialect} event-stream`;
      void page.evaluate(inPage, { kind, url, key: server.key, shown: dialect === "a2a" ? "artifact" : "half" }).catch(() => {});
      const state = () => page.evaluate((key) => window.reports?.[key] ?? ["waits"], kind + url);
      const until = async (...words) => {
        for (const end = Date.now() + WAIT; Date.now() < end; await sleep(100)) {
          const found = await state();
          if (words.some((word) => found[0].startsWith(word))) return found;
        }
        return [`still ${(await state())[0]}`];
      };
      all.push({ name, begun: until("begun", "failed", "ended", "refused"), after: () => until("failed", "ended", "refused") });
    }
  }
  return all;
};

const CUTS = {
  kill: (server) => server.child.kill("SIGKILL"),
  drain: (server) => server.child.kill("SIGTERM"),
  reset: (_, through) => through.cut(true),
  close: (_, through) => through.cut(false),
};

/** Opens every reader on a server of its own, cuts, and looks at what each of them says. */
const run = async (how, browser) => {
  const server = await start();
  try {
    const through = how === "reset" || how === "close" ? await proxy(server.port) : undefined;
    const base = through?.url ?? server.url;
    const home = join(here, "../node_modules");
    const readers = [
      ...fetchers(process.execPath, `fetch of Node ${process.versions.node.split(".")[0]}`, base, server.key),
      ...fetchers(join(home, "node20/bin/node"), "fetch of Node 20", base, server.key),
      ...Object.entries(sdks(base, server.key)).flatMap(([name, read]) => opened(name, read)),
      ...(browser ? await browserReaders(browser, base, server) : []),
    ];
    const limit = (promise, ms) => Promise.race([promise, sleep(ms).then(() => ["still waits"])]);
    const started = await Promise.all(readers.map(({ begun }) => limit(begun, 60_000)));
    await sleep(100);
    CUTS[how](server, through);
    let right = 0;
    for (const [at, { name, ended, after }] of readers.entries()) {
      const began = started[at]?.[0];
      const [verdict, why = ""] = began === "still waits" ? ["never began"] : await limit(ended ?? after(), WAIT + 10_000);
      if (verdict === "failed" && (began === undefined || began === "begun")) right += 1;
      else console.log(`  wrong: ${how}, ${name}: ${verdict} ${why} ${began ?? ""}`);
      if (process.env.VERBOSE) console.log(`  ${how}, ${name}: ${verdict} ${why}`);
    }
    return [right, readers.length];
  } finally {
    await server.stop();
  }
};

// @ag-ui/client reports the same error twice more: on the console, and by a promise that nobody holds.
console.error = () => {};
process.on("unhandledRejection", () => {});

const began = Date.now();
const options = { executablePath: browserPath, args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"] };
const browser = existsSync(browserPath) ? await chromium.launch(options) : undefined;
let [right, all] = [0, 0];
// Words choose among the cuts.
const chosen = process.argv.filter((word) => word in CUTS);
for (const how of chosen.length ? chosen : Object.keys(CUTS)) {
  const [passed, of] = await run(how, browser);
  [right, all] = [right + passed, all + of];
}
await browser?.close();
const skipped = browser ? "" : `, # SKIP Chromium: it is not at ${browserPath}`;
console.log(`cuts: ${right}/${all} (${Math.round((Date.now() - began) / 1000)} s)${skipped}`);
process.exit(right === all && all > 0 ? 0 : 1);
