// Makes a session, tells it four events, and follows them. Needs `riverrun serve` in this folder or RIVERRUN_KEY.

import { readFile } from "node:fs/promises";
import { Riverrun } from "@riverrun/client";

const key = process.env.RIVERRUN_KEY ?? (await readFile(".riverrun/admin.key", "utf8")).trim();
const riverrun = new Riverrun({ url: process.env.RIVERRUN_URL ?? "http://127.0.0.1:7777", key });

const { sessionId } = await riverrun.createSession({ title: "hello" });
await riverrun.append(sessionId, [
  { type: "turn.started", turnId: "turn_1" },
  { type: "model.delta", turnId: "turn_1", payload: { delta: "Hello, " } },
  { type: "model.delta", turnId: "turn_1", payload: { delta: "world." } },
  { type: "turn.completed", turnId: "turn_1" },
]);
for await (const event of riverrun.events(sessionId, { turn: "turn_1" })) {
  if (event.type === "model.delta") process.stdout.write(event.payload.delta);
}
console.log(`\n${(await riverrun.state(sessionId)).turns[0]?.status}`);
