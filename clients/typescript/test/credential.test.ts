import assert from "node:assert/strict";
import { test } from "node:test";
import { Riverrun } from "../src/client.js";
import type { BrowserCredential } from "../src/credential.js";
import type { Clock } from "../src/transport.js";

interface Asked {
  readonly line: string;
  readonly bearer: string | undefined;
}

/** A server that knows which credentials are good, and a clock that the test moves. */
function world(respond: (asked: Asked, now: number) => { status?: number; body: unknown }) {
  let now = 1_000_000;
  const asked: Asked[] = [];
  const clock: Clock = { now: () => now, random: () => 0, sleep: () => Promise.resolve() };
  const send = (async (url: string, init: RequestInit) => {
    const one = {
      line: `${init.method} ${url.replace("http://test", "")}`,
      bearer: (init.headers as Record<string, string>)["authorization"]?.replace("Bearer ", ""),
    };
    asked.push(one);
    const { status, body } = respond(one, now);
    return new Response(JSON.stringify(body), { status: status ?? 200 });
  }) as unknown as typeof fetch;
  const client = (credential: BrowserCredential | (() => BrowserCredential)): Riverrun =>
    new Riverrun({ url: "http://test/", credential, fetch: send, clock });
  return { client, asked, pass: (millis: number) => (now += millis), now: () => now };
}

const made = (name: string, expiresAt: number): BrowserCredential => ({ credential: `rb_${name}`, credentialId: `cred_${name}`, expiresAt });

test("a credential is sent with every call and renewed before it expires", async () => {
  const { client, asked, pass, now } = world(({ line }, at) => ({ body: line.includes("renew") ? { expiresAt: at + 60_000 } : {} }));
  const page = client(made("a", now() + 60_000));
  await page.getSession({ sessionId: "s" });
  pass(30_000);
  await page.getSession({ sessionId: "s" });
  pass(15_000);
  await page.getSession({ sessionId: "s" });
  assert.deepEqual(asked.map(({ line }) => line), [
    "GET /v1/sessions/s",
    "GET /v1/sessions/s",
    "POST /v1/browser-credentials/cred_a/renew",
    "GET /v1/sessions/s",
  ]);
  assert.ok(asked.every(({ bearer }) => bearer === "rb_a"));
});

test("several calls at once wait for one renewal", async () => {
  const { client, asked, pass, now } = world(({ line }, at) => ({ body: line.includes("renew") ? { expiresAt: at + 60_000 } : {} }));
  const page = client(made("a", now() + 60_000));
  await page.getSession({ sessionId: "s" });
  pass(50_000);
  await Promise.all([page.getSession({ sessionId: "s" }), page.getSession({ sessionId: "s" }), page.getSession({ sessionId: "s" })]);
  assert.equal(asked.filter(({ line }) => line.includes("renew")).length, 1);
});

test("another credential is asked for when no renewal goes further, and when the server takes it no more", async () => {
  let count = 0;
  const { client, asked, pass, now } = world(({ line, bearer }, at) => {
    if (bearer === "rb_1" && count >= 3) return { status: 401, body: { code: "unauthenticated" } };
    return { body: line.includes("renew") ? { expiresAt: at + 1 } : {} };
  });
  const page = client(() => made(String(count++), now() + 60_000));
  await page.getSession({ sessionId: "s" });
  pass(59_999);
  await page.getSession({ sessionId: "s" });
  assert.deepEqual(asked.map(({ bearer }) => bearer), ["rb_0", "rb_0", "rb_1"]);
  count = 3;
  await page.getSession({ sessionId: "s" });
  assert.deepEqual(asked.slice(3).map(({ bearer }) => bearer), ["rb_1", "rb_3"]);
});

test("a renewal that cannot be reached leaves what is held in use", async () => {
  const { client, asked, pass, now } = world(({ line }) => (line.includes("renew") ? { status: 503, body: { code: "draining" } } : { body: {} }));
  const page = client(made("a", now() + 60_000));
  await page.getSession({ sessionId: "s" });
  pass(50_000);
  await page.getSession({ sessionId: "s" });
  assert.deepEqual(asked.map(({ bearer }) => bearer), ["rb_a", "rb_a", "rb_a"]);
});

test("a URL carries a credential and never a key", async () => {
  const { client, now } = world(() => ({ body: {} }));
  const page = client(made("a", now() + 60_000));
  assert.equal(await page.eventSourceUrl("s/1", { turn: "t" }), "http://test/v1/sessions/s%2F1/events?after=0&turn=t&credential=rb_a");
  assert.equal(await page.socketUrl(), "ws://test/v1/ws?credential=rb_a");
  const backend = new Riverrun({ url: "http://test/", key: "rr_secret" });
  await assert.rejects(backend.eventSourceUrl("s"), TypeError);
});
