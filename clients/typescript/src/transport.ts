/** One HTTP exchange, with its failures told apart. */

import type { BrowserCredential, CredentialSource } from "./credential.js";
import { CredentialKeeper } from "./credential.js";
import { ConnectionLostError, MalformedError, ProblemError, UnreachableError } from "./errors.js";

/** Time and chance, which tests replace. */
export interface Clock {
  /** Ends early when the signal aborts. */
  sleep(millis: number, signal: AbortSignal | undefined): Promise<void>;
  /** In [0, 1). */
  random(): number;
  /** Milliseconds since 1970; `Date.now` without it. */
  now?(): number;
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

/** What is sent to be let in: a key, or a credential that is kept fresh. */
export type Access =
  | { readonly type: "key"; readonly key: () => string | undefined | Promise<string | undefined> }
  | { readonly type: "credential"; readonly source: CredentialSource };

export class Transport {
  readonly url: string;
  readonly #key: () => string | undefined | Promise<string | undefined>;
  readonly #keeper: CredentialKeeper | undefined;
  readonly #fetch: typeof fetch;
  readonly clock: Clock;

  constructor(url: string, access: Access, send: typeof fetch, clock: Clock) {
    this.url = url.replace(/\/+$/, "");
    this.#fetch = send;
    this.clock = clock;
    if (access.type === "key") {
      this.#key = access.key;
      return;
    }
    const renew = async (held: BrowserCredential): Promise<BrowserCredential> => {
      const path = `/v1/browser-credentials/${encodeURIComponent(held.credentialId)}/renew`;
      const response = await this.#send({ method: "POST", path }, held.credential);
      return (await response.json()) as BrowserCredential;
    };
    const keeper = new CredentialKeeper(access.source, renew, clock);
    this.#keeper = keeper;
    this.#key = () => keeper.text();
  }

  /** The credential that a URL carries where no header can be sent; undefined if this client has a key. */
  async credential(): Promise<string | undefined> {
    return this.#keeper?.text();
  }

  /** Keeps the credential fresh while something is open. */
  keepFresh(signal: AbortSignal): void {
    void this.#keeper?.keep(signal);
  }

  /**
   * Sends a call and gives its answer with the body still to come. An error status is an error here. A credential that
   * the server no longer takes is replaced once, if there is another to be had.
   */
  async open(call: Call): Promise<Response> {
    try {
      return await this.#send(call, await this.#key());
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status !== 401 || this.#keeper?.forget() !== true) throw error;
      return this.#send(call, await this.#key());
    }
  }

  async #send(call: Call, key: string | undefined): Promise<Response> {
    const headers: Record<string, string> = { accept: call.accept ?? "application/json", ...call.headers };
    if (key !== undefined) headers["authorization"] = `Bearer ${key}`;
    const request: RequestInit = { method: call.method, headers, cache: "no-store" };
    if (call.body !== undefined) request.body = call.body;
    if (call.signal !== undefined) request.signal = call.signal;
    let response: Response;
    try {
      response = await this.#fetch(this.url + call.path, request);
    } catch (error) {
      throw new UnreachableError(this.url, error);
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

  /** Sends a call and parses its answer; the empty answer of a deletion is undefined. */
  async json<T>(call: Call): Promise<T> {
    const text = await this.text(call);
    if (text === "") return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new MalformedError((error as Error).message);
    }
  }
}
