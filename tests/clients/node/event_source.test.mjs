// EventSource in a real Chromium: it comes back by itself after a cut and misses nothing.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";
import { chromium } from "playwright-core";
import { BASE, KEY, keyed, name, post, until } from "./support.mjs";

const browser = process.env.CHROMIUM ?? "/usr/bin/chromium";
const skip = existsSync(browser) ? false : `no Chromium at ${browser}`;

/** A proxy that cuts every connection of its first readers after some bytes, and passes the rest. */
const cutting = (cuts) =>
  new Promise((resolve) => {
    let left = cuts;
    const proxy = createServer(async (request, response) => {
      const headers = { authorization: `Bearer ${KEY}`, accept: request.headers.accept ?? "*/*" };
      const last = request.headers["last-event-id"];
      if (last) headers["last-event-id"] = last;
      const gone = new AbortController();
      response.on("close", () => gone.abort());
      const answer = await fetch(BASE + request.url, { headers, signal: gone.signal });
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type"), "access-control-allow-origin": "*" });
      let seen = 0;
      const cut = left-- > 0 ? 700 : Infinity;
      try {
        for await (const piece of answer.body) {
          response.write(piece);
          seen += piece.length;
          if (seen > cut) return response.destroy();
        }
        response.end();
      } catch {
        // The reader went away.
      }
    });
    proxy.listen(0, "127.0.0.1", () => resolve(proxy));
  });

/** Follows a session in a page until `turn` has ended; `cuts` connections are cut before. */
const follow = async (session, cuts, during = async () => {}) => {
  const proxy = await cutting(cuts);
  const launched = await chromium.launch({
    executablePath: browser,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  try {
    const page = await (await launched.newContext()).newPage();
    const origin = `http://127.0.0.1:${proxy.address().port}`;
    await page.goto(`${origin}/livez`);
    const seen = page.evaluate(
      (address) =>
        new Promise((resolve, reject) => {
          const events = [];
          const source = new EventSource(address);
          const end = (how) => {
            source.close();
            resolve({ events, how });
          };
          source.onmessage = (message) => {
            const { sequence, type, payload } = JSON.parse(message.data);
            events.push({ sequence, type, payload });
            if (/^turn\.(completed|failed|cancelled)$/.test(type)) end("ended");
          };
          // It stops for ever where the answer is no stream; a cut it mends by itself.
          source.onerror = () => source.readyState === EventSource.CLOSED && end("closed");
          setTimeout(() => reject(new Error(`saw ${events.length} events`)), 30000);
        }),
      `${origin}/v1/sessions/${session}/events`,
    );
    await during();
    return await seen;
  } finally {
    await launched.close();
    proxy.closeAllConnections();
    proxy.close();
  }
};

const begin = async (agent) => {
  const session = name("ses");
  await post("/v1/sessions", { sessionId: session });
  return { session, ...(await post(`/v1/sessions/${session}/turns`, { agent, input: "x" })) };
};

test("EventSource sees every event once over several cuts", { skip }, async () => {
  const { session } = await begin("scripted/slow");
  const { events } = await follow(session, 4);
  assert.deepEqual(events.map(({ sequence }) => sequence), events.map((_, place) => place + 1));
  assert.equal(events.at(-1).type, "turn.completed");
});

test("EventSource sees a tool, and an action that waits until somebody decides", { skip }, async () => {
  const { session } = await begin("scenario-approval");
  const decide = async () => {
    const action = await until("something waits", async () => {
      const answer = await keyed()(`${BASE}/v1/sessions/${session}/actions`);
      return (await answer.json()).actions.find(({ status }) => status === "pending");
    });
    await post(`/v1/sessions/${session}/actions/${action.actionId}`, { decision: "approve", digest: action.digest });
  };
  const { events } = await follow(session, 1, decide);
  const types = events.map(({ type }) => type);
  assert.ok(["action.required", "action.resolved", "tool.started", "tool.result"].every((type) => types.includes(type)));
});

test("EventSource sees a cancelled run end", { skip }, async () => {
  const { session, turnId } = await begin("scripted/long?deltas=2000&pace_ms=50");
  const { events } = await follow(session, 0, () => post(`/v1/sessions/${session}/turns/${turnId}/cancel`, { mode: "immediate" }));
  assert.equal(events.at(-1).type, "turn.cancelled");
});

test("EventSource sees why a run failed, and stops where there is no session", { skip }, async () => {
  const { session } = await begin("scripted/error");
  const { events } = await follow(session, 0);
  assert.deepEqual([events.at(-1).type, events.at(-1).payload.error.message], ["turn.failed", "scripted failure"]);
  assert.equal((await follow(name("none"), 0)).how, "closed");
});
