/** One HTTP exchange, with its failures told apart. */

import { ConnectionLostError, MalformedError, ProblemError, UnreachableError } from "./errors.js";

/** Time and chance, which tests replace. */
export interface Clock {
  /** Ends early when the signal aborts. */
  sleep(millis: number, signal: AbortSignal | undefined): Promise<void>;
  /** In [0, 1). */
  random(): number;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export const systemClock: Clock = {
  sleep: (millis, signal) =>
    new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        resolve();
      };
      const timer = setTimeout(finish, millis);
      signal?.addEventListener("abort", finish);
      if (signal?.aborted) finish();
    }),
  random: Math.random,
};

export class Transport {
  readonly #url: string;
  readonly #key: () => string | undefined | Promise<string | undefined>;
  readonly #fetch: typeof fetch;
  readonly clock: Clock;

  constructor(url: string, key: () => string | undefined | Promise<string | undefined>, send: typeof fetch, clock: Clock) {
    this.#url = url.replace(/\/+$/, "");
    this.#key = key;
    this.#fetch = send;
    this.clock = clock;
  }

  /** Sends a call and gives its answer with the body still to come. An error status is an error here. */
  async open(call: Call): Promise<Response> {
    const key = await this.#key();
    const headers: Record<string, string> = { accept: call.accept ?? "application/json", ...call.headers };
    if (key !== undefined) headers["authorization"] = `Bearer ${key}`;
    const request: RequestInit = { method: call.method, headers, cache: "no-store" };
    if (call.body !== undefined) request.body = call.body;
    if (call.signal !== undefined) request.signal = call.signal;
    let response: Response;
    try {
      response = await this.#fetch(this.#url + call.path, request);
    } catch (error) {
      throw new UnreachableError(this.#url, error);
    }
    if (response.ok) return response;
    const body = await response.text().catch(() => "");
    throw new ProblemError(response.status, response.headers.get("retry-after"), body);
  }

  /** Sends a call and reads its whole answer. */
  async text(call: Call): Promise<string> {
    const response = await this.open(call);
    try {
      return await response.text();
    } catch (error) {
      throw new ConnectionLostError(error);
    }
  }

  async json<T>(call: Call): Promise<T> {
    const text = await this.text(call);
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new MalformedError((error as Error).message);
    }
  }
}
