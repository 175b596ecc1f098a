// EventSource in a real Chromium: it comes back by itself after a cut and misses nothing.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";
import { chromium } from "playwright-core";
import { BASE, KEY, keyed, name } from "./support.mjs";

const browser = process.env.CHROMIUM ?? "/usr/bin/chromium";
const skip = existsSync(browser) ? false : `no Chromium at ${browser}`;

const post = async (path, body) => {
  const answer = await keyed()(BASE + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
};

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

test("EventSource sees every event once over several cuts", { skip }, async () => {
  const session = name("ses");
  await post("/v1/sessions", { sessionId: session });
  const turn = await post(`/v1/sessions/${session}/turns`, { agent: "scripted/slow", input: "x" });
  const proxy = await cutting(4);
  const page = await (await (await chromium.launch({
    executablePath: browser,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  })).newContext()).newPage();
  const url = `http://127.0.0.1:${proxy.address().port}/v1/sessions/${session}/events`;
  await page.goto(`http://127.0.0.1:${proxy.address().port}/livez`);
  const seen = await page.evaluate(
    ([address, wanted]) =>
      new Promise((resolve, reject) => {
        const sequences = [];
        const source = new EventSource(address);
        source.onmessage = (message) => {
          const event = JSON.parse(message.data);
          sequences.push(event.sequence);
          if (event.type.startsWith("turn.") && event.turnId === wanted && /completed|failed|cancelled/.test(event.type)) {
            source.close();
            resolve(sequences);
          }
        };
        setTimeout(() => reject(new Error(`saw ${sequences.length} events`)), 30000);
      }),
    [url, turn.turnId],
  );
  await page.context().browser().close();
  proxy.closeAllConnections();
  proxy.close();
  assert.deepEqual(seen, seen.map((_, place) => place + 1));
});
