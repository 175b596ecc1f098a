/** Calls one server with one key: the generated operations, and with them turns, events, states and browser credentials. */

import type { BrowserCredential, CredentialSource } from "./credential.js";
import { Follow } from "./follow.js";
import { adopt, applyWith, emptyState, fromSnapshot } from "./fold/index.js";
import type { State } from "./fold/index.js";
import type { CallOptions, Route } from "./generated/operations.js";
import { Operations } from "./generated/operations.js";
import { callOf } from "./route.js";
import type { WireEvent } from "./stream/frame.js";
import type { FollowOptions } from "./stream/options.js";
import { followPath, withQuery } from "./stream/options.js";
import type { Access, Clock } from "./transport.js";
import { Transport, systemClock } from "./transport.js";
import type { Appended, EventDraft, NewBrowserCredential, NewTurn, ProducerStamp, SubmittedTurn } from "./wire.js";

export interface RiverrunOptions {
  /** Such as `http://127.0.0.1:7777`, which is also the default. */
  readonly url?: string;
  /** A key, or where to get one. A key is asked for before every request, so it may change. */
  readonly key?: string | (() => string | undefined | Promise<string | undefined>);
  /**
   * For a web page, instead of a key: a browser credential that the app's own backend made, or a function that gets
   * one. It is renewed before it expires, and asked for anew when no renewal goes further.
   */
  readonly credential?: CredentialSource;
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
}

export class Riverrun extends Operations {
  readonly #transport: Transport;

  /** In Node, `RIVERRUN_URL` and `RIVERRUN_KEY` stand in for what is not given. */
  constructor(options: RiverrunOptions = {}) {
    super();
    const key = options.key ?? environment("RIVERRUN_KEY");
    const access: Access =
      options.credential === undefined
        ? { type: "key", key: typeof key === "function" ? key : () => key }
        : { type: "credential", source: options.credential };
    this.#transport = new Transport(
      options.url ?? environment("RIVERRUN_URL") ?? "http://127.0.0.1:7777",
      access,
      options.fetch ?? ((input, init) => fetch(input, init)),
      options.clock ?? systemClock,
    );
  }

  // Turns

  /** Durable once it resolves. Repeating it with the same `turnId` asks for nothing new. */
  submit(sessionId: string, turn: NewTurn): Promise<SubmittedTurn> {
    return this.#post(`${sessionPath(sessionId)}/turns`, turn);
  }

  // Events

  /**
   * Appends events as one batch, all or none; durable once it resolves. Without a stamp, do not repeat it after a
   * cut: it may have been stored.
   */
  append(sessionId: string, events: EventDraft | readonly EventDraft[], stamp?: ProducerStamp): Promise<Appended> {
    const { headers, body } = json(events);
    const path = `${sessionPath(sessionId)}/events`;
    return this.#transport.json({ method: "POST", path, body, headers: { ...headers, ...stampHeaders(stamp) } });
  }

  /** Follows a session. Each sequence is given out once, in order, after any cut; a hole is an error. */
  follow(sessionId: string, options: FollowOptions = {}): Follow {
    return new Follow(this.#transport, sessionPath(sessionId), options);
  }

  /** The events of a session, without what else a stream tells. */
  async *events(sessionId: string, options: FollowOptions = {}): AsyncGenerator<WireEvent, void, void> {
    for await (const update of this.follow(sessionId, options)) {
      if (update.type === "event") yield update.event;
    }
  }

  // State

  /** The folded state, at the head or as it was at a sequence. */
  async state(sessionId: string, at?: number): Promise<State> {
    return fromSnapshot(await this.#transport.json({ method: "GET", path: withQuery(`${sessionPath(sessionId)}/state`, { at }) }));
  }

  /** The state of a session after every event, from the first or from a snapshot. Each is a value of its own. */
  async *states(sessionId: string, options: FollowOptions = {}): AsyncGenerator<State, void, void> {
    const filtered = options.turn ?? options.task ?? options.types?.[0];
    let state = emptyState(sessionId);
    for await (const update of this.follow(sessionId, { catchup: "snapshot", ...options })) {
      if (update.type === "snapshot") {
        const snapshot = fromSnapshot(update.snapshot.state);
        // Of another log nothing is kept.
        state = update.snapshot.reason === "epoch_changed" ? snapshot : adopt(state, snapshot);
      } else if (update.type === "event") {
        state = applyWith(state, update.event, filtered === undefined ? "dense" : "filtered").state;
      } else continue;
      yield state;
    }
  }

  // Web pages

  /** Makes a browser credential. For the app's backend: it takes a key, and is never more than the key. */
  createBrowserCredential(credential: NewBrowserCredential): Promise<BrowserCredential> {
    return this.#post("/v1/browser-credentials", credential);
  }

  /** Ends a credential now, on open streams too. */
  async revokeBrowserCredential(credentialId: string): Promise<void> {
    await this.#transport.text({ method: "DELETE", path: `/v1/browser-credentials/${encodeURIComponent(credentialId)}` });
  }

  /**
   * The URL of a session's stream for a plain `EventSource`, with the credential in it. It works for every reconnect
   * until the credential expires; make another `EventSource` with another URL before that.
   */
  async eventSourceUrl(sessionId: string, options: FollowOptions = {}): Promise<string> {
    return this.#credentialUrl(followPath(sessionPath(sessionId), options, undefined));
  }

  /** The URL of a WebSocket: `/v1/ws` speaks JSON-RPC, `/v1/ws/blocks` content blocks. */
  async socketUrl(path: "/v1/ws" | "/v1/ws/blocks" = "/v1/ws"): Promise<string> {
    return (await this.#credentialUrl(path)).replace(/^http/, "ws");
  }

  async #credentialUrl(path: string): Promise<string> {
    const credential = await this.#transport.credential();
    if (credential === undefined) throw new TypeError("only a client with a `credential` puts it into a URL; a key never is");
    return this.#transport.url + path + (path.includes("?") ? "&" : "?") + `credential=${encodeURIComponent(credential)}`;
  }

  protected override run<T>(route: Route, request: object, options?: CallOptions): Promise<T> {
    return this.#transport.json(callOf(route, request, options));
  }

  #post<T>(path: string, body: unknown): Promise<T> {
    return this.#transport.json({ method: "POST", path, ...json(body) });
  }
}

/** A browser has no environment. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}

function sessionPath(sessionId: string): string {
  return `/v1/sessions/${encodeURIComponent(sessionId)}`;
}

function json(value: unknown): { headers: Record<string, string>; body: string } {
  return { headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

function stampHeaders(stamp: ProducerStamp | undefined): Record<string, string> {
  if (stamp === undefined) return {};
  return {
    "producer-id": stamp.id,
    "producer-epoch": String(stamp.epoch),
    "producer-seq": String(stamp.sequence),
  };
}
