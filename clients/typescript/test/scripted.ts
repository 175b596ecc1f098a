/** A server that answers from a script, and a clock that only tests move. */

import { Riverrun } from "../src/client.js";
import type { Clock } from "../src/transport.js";

/** What one connection does: pieces of its body, then how it ends. */
export interface Scripted {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly end?: "clean" | "cut" | "silent";
  /** No connection can be made. */
  readonly unreachable?: boolean;
}

export interface Script {
  readonly client: Riverrun;
  /** Paths with queries, in the order of the requests. */
  readonly requests: string[];
  readonly methods: string[];
  readonly bodies: (string | undefined)[];
  readonly headers: Record<string, string>[];
  readonly pauses: number[];
}

const SILENCE = 45_000;

export function script(answers: readonly Scripted[]): Script {
  const [requests, bodies, headers, pauses]: [string[], (string | undefined)[], Record<string, string>[], number[]] = [[], [], [], []];
  const methods: string[] = [];
  const clock: Clock = {
    sleep: (millis, signal) => {
      if (millis !== SILENCE) {
        pauses.push(millis);
        return Promise.resolve();
      }
      // Silence ends when everything that can happen has happened.
      return new Promise((resolve) => {
        signal?.addEventListener("abort", () => resolve());
        setImmediate(resolve);
      });
    },
    random: () => 0,
  };
  const send = (async (url: string, init: RequestInit) => {
    requests.push(url.replace("http://test", ""));
    methods.push(init.method ?? "GET");
    bodies.push(init.body as string | undefined);
    headers.push(init.headers as Record<string, string>);
    const answer = answers[requests.length - 1];
    if (answer === undefined) throw new Error(`no answer for ${url}`);
    if (answer.unreachable) throw new TypeError("fetch failed", { cause: new Error("refused") });
    // An answer without a body may not have an empty one.
    const body = answer.status === 204 ? null : bodyOf(answer);
    return new Response(body, { status: answer.status ?? 200, headers: answer.headers ?? {} });
  }) as unknown as typeof fetch;
  return { client: new Riverrun({ url: "http://test/", key: "k", fetch: send, clock }), requests, methods, bodies, headers, pauses };
}

function bodyOf(answer: Scripted): ReadableStream<Uint8Array> {
  const pieces = [...new TextEncoder().encode(answer.body ?? "")];
  return new ReadableStream({
    pull(controller) {
      // Seven bytes at a time cut lines, characters and frames.
      const piece = pieces.splice(0, 7);
      if (piece.length > 0) controller.enqueue(Uint8Array.from(piece));
      else if (answer.end === "cut") controller.error(new Error("reset"));
      else if (answer.end !== "silent") controller.close();
      else return new Promise(() => undefined);
      return undefined;
    },
  });
}

export function control(type: string, members: object = {}): string {
  return `event: riverrun\ndata: ${JSON.stringify({ type: `stream.${type}`, ...members })}\n\n`;
}

export function delta(sequence: number, members: object = {}): string {
  const event = { type: "model.delta", timestamp: "2026-11-16T05:40:00.000Z", sequence, sessionId: "s", taskId: "t", payload: { delta: `${sequence} ` } };
  return `id: ${sequence}.a.b\ndata: ${JSON.stringify({ ...event, ...members })}\n\n`;
}
