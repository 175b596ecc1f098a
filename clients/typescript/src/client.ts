/** Calls one server with one key. */

import type { BrowserCredential, CredentialSource } from "./credential.js";
import { MalformedError } from "./errors.js";
import { Follow } from "./follow.js";
import { adopt, applyWith, emptyState, fromSnapshot } from "./fold/index.js";
import type { State } from "./fold/index.js";
import type { JobStatus } from "./fold/state.js";
import type { CallOptions, Route } from "./generated/operations.js";
import { Operations } from "./generated/operations.js";
import { callOf } from "./route.js";
import type { WireEvent } from "./stream/frame.js";
import type { FollowOptions } from "./stream/options.js";
import { followPath, withQuery } from "./stream/options.js";
import type { Access, Clock } from "./transport.js";
import { Transport, systemClock } from "./transport.js";
import type {
  Action,
  Appended,
  BenchmarkExport,
  Decided,
  Decision,
  EventDraft,
  JobAnswer,
  JobDetails,
  JobSummary,
  NewBrowserCredential,
  NewJob,
  NewSession,
  NewTurn,
  Page,
  ProducerStamp,
  NewShare,
  RetriedItem,
  Share,
  Session,
  SessionFilter,
  SubmittedTurn,
  Task,
} from "./wire.js";

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

  // Sessions

  createSession(session: NewSession = {}): Promise<Session> {
    return this.#post("/v1/sessions", session);
  }

  sessions(filter: SessionFilter = {}): Promise<Page<Session>> {
    return this.#page("sessions", withQuery("/v1/sessions", { ...filter }));
  }

  session(sessionId: string): Promise<Session> {
    return this.#get(sessionPath(sessionId));
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.#transport.text({ method: "DELETE", path: sessionPath(sessionId) });
  }

  // Turns

  /** Durable once it resolves. Repeating it with the same `turnId` asks for nothing new. */
  submit(sessionId: string, turn: NewTurn): Promise<SubmittedTurn> {
    return this.#post(`${sessionPath(sessionId)}/turns`, turn);
  }

  // Processes

  /** Gives a running process something to read; with `secret` the text is kept nowhere. */
  writeProcess(
    sessionId: string,
    processId: string,
    input: { readonly text?: string; readonly secret?: boolean; readonly endOfInput?: boolean },
  ): Promise<{ readonly processId: string; readonly size: number }> {
    return this.#post(`${processPath(sessionId, processId)}/stdin`, input);
  }

  /** Ends a running process; resolves when its end is durable. */
  terminateProcess(
    sessionId: string,
    processId: string,
    reason?: string,
  ): Promise<{ readonly processId: string; readonly status: string; readonly exitCode?: number }> {
    return this.#post(`${processPath(sessionId, processId)}/terminate`, reason === undefined ? {} : { reason });
  }

  // Jobs

  /** Creates a job with its items. Whoever works on it reports by `job.*` events. */
  createJob(sessionId: string, job: NewJob): Promise<JobAnswer> {
    return this.#post(`${sessionPath(sessionId)}/jobs`, job);
  }

  /** The newest jobs with counts of their items, the oldest first. */
  async jobs(sessionId: string, filter: { readonly status?: JobStatus } = {}): Promise<readonly JobSummary[]> {
    const query = filter.status === undefined ? "" : `?status=${encodeURIComponent(filter.status)}`;
    const { data } = await this.#page<JobSummary>("jobs", `${sessionPath(sessionId)}/jobs${query}`);
    return data;
  }

  /** A job with its items. */
  job(sessionId: string, jobId: string): Promise<JobDetails> {
    return this.#get(jobPath(sessionId, jobId));
  }

  /** Cancels a job that has not ended; items that are complete stay complete. */
  cancelJob(sessionId: string, jobId: string, reason?: string): Promise<JobAnswer> {
    return this.#post(`${jobPath(sessionId, jobId)}/cancel`, reason === undefined ? {} : { reason });
  }

  /** Begins another attempt at one failed item; the other items keep their results. */
  retryJobItem(
    sessionId: string,
    jobId: string,
    itemId: string,
    options: { readonly force?: boolean; readonly reason?: string } = {},
  ): Promise<RetriedItem> {
    return this.#post(`${jobPath(sessionId, jobId)}/items/${encodeURIComponent(itemId)}/retry`, options);
  }

  /** The benchmark trials that a harness recorded in a session. */
  benchmark(sessionId: string, trial?: string): Promise<BenchmarkExport> {
    const query = trial === undefined ? "" : `?trial=${encodeURIComponent(trial)}`;
    return this.#get(`${sessionPath(sessionId)}/benchmark${query}`);
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
    return fromSnapshot(await this.#get(withQuery(`${sessionPath(sessionId)}/state`, { at })));
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

  /** A task as AgentLin shows it. */
  task(taskId: string): Promise<Task> {
    return this.#get(`/v1/tasks/${encodeURIComponent(taskId)}`);
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

  // Actions

  /** Actions of every session that the key sees. */
  actions(filter: { readonly status?: string; readonly cursor?: string } = {}): Promise<Page<Action>> {
    return this.#page("actions", withQuery("/v1/actions", { ...filter }));
  }

  sessionActions(sessionId: string): Promise<Page<Action>> {
    return this.#page("actions", `${sessionPath(sessionId)}/actions`);
  }

  decide(sessionId: string, actionId: string, decision: Decision): Promise<Decided> {
    return this.#post(`${sessionPath(sessionId)}/actions/${encodeURIComponent(actionId)}`, decision);
  }

  /** Makes a link by which anybody who has it may read the session up to now. */
  createShare(sessionId: string, share: NewShare = {}): Promise<Share> {
    return this.#post(`${sessionPath(sessionId)}/shares`, share);
  }

  /** The links to a session, also those that no longer work, the oldest first. */
  async shares(sessionId: string): Promise<readonly Share[]> {
    const { data } = await this.#page<Share>("shares", `${sessionPath(sessionId)}/shares`);
    return data;
  }

  /** Revokes a link. */
  async revokeShare(sessionId: string, shareId: string): Promise<void> {
    const path = `${sessionPath(sessionId)}/shares/${encodeURIComponent(shareId)}`;
    await this.#transport.text({ method: "DELETE", path });
  }

  protected override run<T>(route: Route, request: object, options?: CallOptions): Promise<T> {
    return this.#transport.json(callOf(route, request, options));
  }

  #get<T>(path: string): Promise<T> {
    return this.#transport.json({ method: "GET", path });
  }

  #post<T>(path: string, body: unknown): Promise<T> {
    return this.#transport.json({ method: "POST", path, ...json(body) });
  }

  /** The server names a list after what is in it. */
  async #page<T>(member: "sessions" | "actions" | "shares" | "jobs", path: string): Promise<Page<T>> {
    const page = await this.#get<Record<string, unknown>>(path);
    const data = page[member];
    if (!Array.isArray(data)) throw new MalformedError(`a page without ${member}`);
    return typeof page.cursor === "string" ? { data, nextCursor: page.cursor } : { data };
  }
}

/** A browser has no environment. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}

function jobPath(sessionId: string, jobId: string): string {
  return `${sessionPath(sessionId)}/jobs/${encodeURIComponent(jobId)}`;
}

function processPath(sessionId: string, processId: string): string {
  return `${sessionPath(sessionId)}/processes/${encodeURIComponent(processId)}`;
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
