// A page of another origin follows a session with a browser credential while the server is killed and started again.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import { createServer as createSocket } from "node:net";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import test from "node:test";
import { chromium } from "playwright-core";
import { name, until as soon } from "./support.mjs";

const browser = process.env.CHROMIUM ?? "/usr/bin/chromium";
const skip = existsSync(browser) ? false : `no Chromium at ${browser}`;
const binary = process.env.RIVERRUN_BINARY;
const client = process.env.RIVERRUN_TYPESCRIPT;

/** A turn that is begun anew after a kill takes a while. */
const until = async (what, look) => {
  for (let tries = 0; tries < 5; tries++) {
    try {
      return await soon(what, look);
    } catch (error) {
      if (tries === 4) throw error;
    }
  }
};

const freePort = () =>
  new Promise((resolve) => {
    const socket = createSocket().listen(0, "127.0.0.1", () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
  });

/** A server that can be killed and started again on the same data and port. */
class Server {
  constructor(port, data) {
    Object.assign(this, { port, data, url: `http://127.0.0.1:${port}`, log: "" });
  }

  static async start() {
    const server = new Server(await freePort(), mkdtempSync(join(tmpdir(), "riverrun-page-")));
    await server.begin();
    return server;
  }

  async begin() {
    const args = ["serve", "--dev", "--listen", `127.0.0.1:${this.port}`, "--data-dir", this.data];
    this.process = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, RIVERRUN_LOG: "trace" } });
    this.process.stderr.on("data", (text) => (this.log += text));
    await until("the server answers", () => fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false));
    this.key = readFileSync(join(this.data, "admin.key"), "utf8").trim();
  }

  kill() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    return ended;
  }

  async call(method, path, body) {
    const headers = { authorization: `Bearer ${this.key}`, "content-type": "application/json" };
    const answer = await fetch(this.url + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  async end() {
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
  }
}

/** The app's own web server: an empty page, and the TypeScript client as it is in the repository, without its types. */
const site = () =>
  new Promise((resolve) => {
    const server = createServer((request, response) => {
      if (!request.url.startsWith("/client/")) {
        response.writeHead(200, { "content-type": "text/html" });
        return response.end("<!doctype html><title>an app</title>");
      }
      const file = join(client, normalize(request.url.slice("/client".length)).replace(/\.js$/, ".ts"));
      response.writeHead(200, { "content-type": "text/javascript" });
      response.end(stripTypeScriptTypes(readFileSync(file, "utf8")));
    });
    server.listen(0, "127.0.0.1", () => resolve(server));
  });

/** Opens a page of the app and runs `work(page, server, mint, session)`. */
const inPage = async (work) => {
  const [server, web] = [await Server.start(), await site()];
  const launched = await chromium.launch({
    executablePath: browser,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  try {
    const origin = `http://localhost:${web.address().port}`;
    const page = await (await launched.newContext()).newPage();
    await page.goto(origin);
    const session = name("page");
    const mint = (more = {}) => server.call("POST", "/v1/browser-credentials", { session, origins: [origin], ...more });
    await work({ page, server, mint, session, origin });
  } finally {
    await launched.close();
    web.closeAllConnections();
    web.close();
    await server.end();
  }
};

/** Kills the server in the middle of a turn, and starts it again. */
const killInTheMiddle = async (server, page) => {
  await until("events came", () => page.evaluate(() => globalThis.seen.length > 10));
  await server.kill();
  const before = await page.evaluate(() => globalThis.seen.length);
  await server.begin();
  return before;
};

const isWhole = (seen) => {
  assert.deepEqual(seen, seen.map((_, place) => place + 1), "every event once, in order");
};

test("a plain EventSource on another origin sees every event once over a kill -9", { skip }, async () => {
  await inPage(async ({ page, server, mint, session }) => {
    const { credential } = await mint();
    await server.call("POST", "/v1/sessions", { sessionId: session });
    await page.evaluate((address) => {
      globalThis.seen = [];
      globalThis.over = undefined;
      const source = new EventSource(address);
      source.onmessage = (message) => {
        const { sequence, type } = JSON.parse(message.data);
        globalThis.seen.push(sequence);
        if (/^turn\.(completed|failed|cancelled)$/.test(type)) {
          source.close();
          globalThis.over = type;
        }
      };
      source.onerror = () => {
        if (source.readyState === EventSource.CLOSED) globalThis.over = "gave up";
      };
    }, `${server.url}/v1/sessions/${session}/events?after=0&credential=${credential}`);
    await server.call("POST", `/v1/sessions/${session}/turns`, { agent: "scripted/long?deltas=60&pace_ms=50", input: "x" });
    const before = await killInTheMiddle(server, page);
    const over = await until("the turn ended", () => page.evaluate(() => globalThis.over));
    const seen = await page.evaluate(() => globalThis.seen);
    assert.equal(over, "turn.completed");
    assert.ok(before < seen.length, "the kill came in the middle");
    isWhole(seen);
    assert.ok(!server.log.includes(credential), "the credential is in no log, at the finest level");
  });
});

test("the TypeScript client submits, follows over a kill -9, renews, and is cut when revoked", { skip }, async () => {
  await inPage(async ({ page, server, mint, session }) => {
    const agent = "scripted/long?deltas=240&pace_ms=50";
    const minted = await mint({ scopes: ["read", "write"], agents: [agent], expiresInSeconds: 10 });
    await page.evaluate(
      async ([url, credential, session, agent]) => {
        const { Riverrun } = await import("/client/index.js");
        const client = new Riverrun({ url, credential });
        globalThis.client = client;
        globalThis.seen = [];
        globalThis.over = undefined;
        await client.createSession({ sessionId: session });
        const turn = await client.submit(session, { input: "x", agent });
        (async () => {
          try {
            for await (const event of client.events(session)) {
              globalThis.seen.push(event.sequence);
              if (event.type === "turn.completed") globalThis.over = event.turnId === turn.turnId ? "ended" : "another turn";
            }
          } catch (error) {
            globalThis.failed = `${error.status ?? error.message}`;
          }
        })();
      },
      [server.url, minted, session, agent],
    );
    await killInTheMiddle(server, page);
    assert.equal(await until("the turn ended", () => page.evaluate(() => globalThis.over)), "ended");
    isWhole(await page.evaluate(() => globalThis.seen));
    // The turn took longer than the credential's first life, so it was renewed, over the kill too.
    const [{ expiresAt }] = (await server.call("GET", `/v1/browser-credentials?session=${session}`)).credentials;
    assert.ok(expiresAt > minted.expiresAt, "it was renewed");
    await server.call("DELETE", `/v1/browser-credentials/${minted.credentialId}`);
    assert.equal(await until("the page is cut", () => page.evaluate(() => globalThis.failed)), "401");
    assert.ok(!server.log.includes(minted.credential), "the credential is in no log, at the finest level");
  });
});

test("a WebSocket of the page speaks JSON-RPC with the credential, within its session", { skip }, async () => {
  await inPage(async ({ page, server, mint, session }) => {
    const { credential } = await mint();
    await server.call("POST", "/v1/sessions", { sessionId: session });
    await server.call("POST", "/v1/sessions", { sessionId: "another" });
    const answers = await page.evaluate(
      ([address, session]) =>
        new Promise((resolve, reject) => {
          const socket = new WebSocket(address);
          const ask = (id, method, params) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
          const answers = [];
          socket.onopen = () => {
            ask(1, "session.get", { sessionId: session });
            ask(2, "session.get", { sessionId: "another" });
            ask(3, "session.delete", { sessionId: session });
            ask(4, "session.list", {});
          };
          socket.onmessage = ({ data }) => {
            const { result, error } = JSON.parse(data);
            answers.push(error ? error.data.code : result.sessionId);
            if (answers.length === 4) resolve(answers);
          };
          socket.onerror = () => reject(new Error("no socket"));
          setTimeout(() => reject(new Error(`heard ${answers}`)), 10_000);
        }),
      [`${server.url.replace("http", "ws")}/v1/ws?credential=${credential}`, session],
    );
    assert.deepEqual(answers, [session, "not_found", "forbidden", "forbidden"]);
  });
});

test("a page of another origin gets nothing with a stolen credential", { skip }, async () => {
  await inPage(async ({ page, server, mint, session, origin }) => {
    const { credential } = await mint({ scopes: ["read", "write", "approve"], origins: ["https://app.example"] });
    await server.call("POST", "/v1/sessions", { sessionId: session });
    const tried = await page.evaluate(
      async ([url, session, credential]) => {
        const headers = { authorization: `Bearer ${credential}` };
        const fetched = await fetch(`${url}/v1/sessions/${session}/state`, { headers }).then((answer) => answer.status, () => "no answer");
        const streamed = await new Promise((resolve) => {
          const source = new EventSource(`${url}/v1/sessions/${session}/events?credential=${credential}`);
          source.onopen = () => resolve("opened");
          source.onerror = () => source.readyState === EventSource.CLOSED && resolve("refused");
        });
        const socket = await new Promise((resolve) => {
          const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws?credential=${credential}`);
          socket.onopen = () => resolve("opened");
          socket.onerror = () => resolve("refused");
        });
        return [fetched, streamed, socket];
      },
      [server.url, session, credential],
    );
    assert.deepEqual(tried, ["no answer", "refused", "refused"]);
    const direct = await fetch(`${server.url}/v1/sessions/${session}/state`, { headers: { authorization: `Bearer ${credential}`, origin } });
    assert.equal(direct.status, 403);
  });
});
