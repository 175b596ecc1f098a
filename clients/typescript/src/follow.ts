/**
 * A stream that resumes by itself.
 *
 * The driver here owns the connection, the parser and the clock; what an input means is decided by the machine.
 */

import { ConnectionLostError, GapError, ProblemError, RiverrunError, UnreachableError } from "./errors.js";
import { delay } from "./stream/backoff.js";
import type { Control, FollowedSnapshot, Opened, Place, WireEvent } from "./stream/frame.js";
import { isControl, readControl, readEvent } from "./stream/frame.js";
import type { ConnectionState, Input, Machine, Verdict } from "./stream/machine.js";
import { newMachine, step } from "./stream/machine.js";
import type { FollowOptions } from "./stream/options.js";
import { followPath, isFiltered, isNative } from "./stream/options.js";
import type { SseFrame } from "./stream/sse.js";
import { SseParser } from "./stream/sse.js";
import type { Transport } from "./transport.js";

/** Three heartbeats of the server. */
const SILENCE = 45_000;
/** The longest pause that a server can ask for. */
const LONGEST_WISH = 60_000;

/** What a followed stream tells. */
export type Update =
  /** The connection changed its state. */
  | { readonly type: "connection"; readonly connection: ConnectionState }
  /** The server said how it resumes. */
  | { readonly type: "opened"; readonly opened: Opened }
  /** Everything up to a sequence, folded. */
  | { readonly type: "snapshot"; readonly snapshot: FollowedSnapshot; readonly cursor: string }
  | { readonly type: "event"; readonly event: WireEvent; readonly cursor: string }
  /** A frame of a foreign dialect, untouched. */
  | { readonly type: "frame"; readonly frame: SseFrame };

/** See `Riverrun.follow`. It is read once, by one reader. */
export class Follow implements AsyncIterable<Update> {
  readonly #transport: Transport;
  readonly #path: string;
  readonly #options: FollowOptions;
  #machine: Machine;
  /** Where a reconnect goes on: behind everything that was read. */
  #resume: string | undefined;
  /** Behind everything that was given out. It is behind `#resume` while updates wait in `#ready`. */
  #given: string | undefined;
  #ready: Update[] = [];
  #failure: RiverrunError | undefined;
  #done = false;
  /** How long to wait before the next attempt. */
  #pause = 0;
  /** What the server asked followers to wait for. */
  #wish: number | undefined;

  constructor(transport: Transport, sessionPath: string, options: FollowOptions) {
    this.#transport = transport;
    this.#path = sessionPath;
    this.#options = options;
    const order = !isNative(options) ? "opaque" : isFiltered(options) ? "rising" : "dense";
    this.#machine = newMachine(order, options.maxAttempts);
    this.#ready.push({ type: "connection", connection: this.#machine.state });
  }

  /** Where a later follower goes on: behind the last update that was given out. */
  get cursor(): string | undefined {
    return this.#given;
  }

  get connection(): ConnectionState {
    return this.#machine.state;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Update, void, void> {
    const signal = this.#options.signal;
    yield* this.#drain();
    while (!this.#done && !signal?.aborted) {
      if (this.#pause > 0) await this.#transport.clock.sleep(this.#pause, signal);
      if (signal?.aborted) break;
      for await (const piece of this.#connect()) {
        this.#bytes(piece);
        yield* this.#drain();
        if (this.#done) break;
      }
      yield* this.#drain();
    }
    if (this.#failure !== undefined && !signal?.aborted) throw this.#failure;
  }

  *#drain(): Generator<Update> {
    for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift()) {
      this.#given = cursorOf(next) ?? this.#given;
      yield next;
    }
    this.#given = this.#resume ?? this.#given;
  }

  #parser = new SseParser();

  /** One connection, from its opening to its end; what ended it is an input to the machine. */
  async *#connect(): AsyncGenerator<Uint8Array> {
    const controller = new AbortController();
    const leave = (): void => controller.abort();
    this.#options.signal?.addEventListener("abort", leave);
    try {
      const path = followPath(this.#path, this.#options, this.#resume);
      const call = { method: "GET", path, accept: "text/event-stream", signal: controller.signal } as const;
      const response = await this.#transport.open(call);
      this.#transport.keepFresh(controller.signal);
      this.#parser = new SseParser();
      // Foreign dialects have no opening frame of ours; the answer's head is the opening.
      if (!isNative(this.#options)) this.#apply({ type: "opened", after: undefined }, undefined);
      yield* this.#body(response, controller);
      if (!this.#done) this.#lost({ type: "body_ended" }, new ConnectionLostError("the stream ended without its end"));
    } catch (error) {
      if (!this.#done) this.#failed(error);
    } finally {
      this.#options.signal?.removeEventListener("abort", leave);
      controller.abort();
    }
  }

  async *#body(response: Response, controller: AbortController): AsyncGenerator<Uint8Array> {
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    for (;;) {
      const silence = new AbortController();
      const silent = this.#transport.clock.sleep(SILENCE, silence.signal).then(() => undefined);
      const read = reader.read().catch((error: unknown) => {
        throw new ConnectionLostError(error);
      });
      const piece = await Promise.race([read, silent]).finally(() => silence.abort());
      if (piece === undefined) {
        read.catch(() => undefined);
        controller.abort();
        throw new ConnectionLostError(`no heartbeat for ${SILENCE / 1000} s`);
      }
      if (piece.done) return;
      yield piece.value;
    }
  }

  #bytes(piece: Uint8Array): void {
    try {
      for (const frame of this.#parser.push(piece)) {
        if (this.#done) return;
        this.#frame(frame);
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  #frame(frame: SseFrame): void {
    if (frame.retry !== undefined) this.#wish = Math.min(frame.retry, LONGEST_WISH);
    if (isControl(frame)) {
      this.#control(readControl(frame));
    } else if (!isNative(this.#options)) {
      this.#apply({ type: "frame" }, { type: "frame", frame });
    } else {
      const event = readEvent(frame);
      const terminal = this.#options.turn !== undefined && event.turnId === this.#options.turn && endsTurn(event.type);
      const input = { type: "event", first: event.firstSequence ?? event.sequence, last: event.sequence, terminal } as const;
      this.#apply(input, { type: "event", event, cursor: frame.id ?? String(event.sequence) });
    }
  }

  #control(control: Control): void {
    switch (control.type) {
      case "opened":
        this.#apply({ type: "opened", after: control.opened.after }, { type: "opened", opened: control.opened });
        return;
      case "snapshot": {
        const snapshot = control.snapshot;
        const newLog = snapshot.reason === "epoch_changed";
        const cursor = snapshot.cursor ?? String(snapshot.sequence);
        this.#apply({ type: "snapshot", at: snapshot.sequence, newLog }, { type: "snapshot", snapshot, cursor });
        return;
      }
      case "heartbeat":
      case "caught_up":
      case "end":
        this.#placed({ type: control.type, head: control.head }, control);
        return;
      case "draining":
        this.#wish = control.retryMillis === undefined ? this.#wish : Math.min(control.retryMillis, LONGEST_WISH);
        this.#apply({ type: "draining" }, undefined);
        return;
      case "unknown":
        return;
    }
  }

  /** A word that moves the place on: what a filter left out need not be read again. */
  #placed(input: Input, place: Place): void {
    const verdict = this.#apply(input, undefined);
    if (verdict.type === "ignore" || verdict.type === "close") this.#advance(place.cursor);
  }

  /** Runs one input that arrived on a working connection. */
  #apply(input: Input, update: Update | undefined): Verdict {
    const [next, verdict] = step(this.#machine, input);
    this.#enter(next);
    switch (verdict.type) {
      case "deliver":
        if (update !== undefined) {
          this.#advance(cursorOf(update));
          this.#ready.push(update);
        }
        break;
      case "ignore":
        break;
      case "gap":
        this.#failure = new GapError(verdict.last, verdict.found);
        this.#done = true;
        break;
      case "close":
      case "reconnect":
      case "fail":
        this.#done = true;
    }
    return verdict;
  }

  #failed(error: unknown): void {
    if (error instanceof UnreachableError) this.#lost({ type: "unreachable" }, error);
    else if (error instanceof ConnectionLostError) this.#lost({ type: "cut" }, error);
    else if (error instanceof ProblemError) {
      this.#wish = error.retryAfter;
      this.#lost({ type: "refused", retryable: error.retryable }, error);
    } else if (error instanceof RiverrunError) this.#lost({ type: "refused", retryable: false }, error);
    else throw error;
  }

  /** The connection is gone or of no use; `error` is what the user hears if there is no way on. */
  #lost(input: Input, error: RiverrunError): void {
    if (this.#options.signal?.aborted) {
      this.#done = true;
      return;
    }
    const [next, verdict] = step(this.#machine, input);
    this.#enter(next);
    if (verdict.type === "reconnect") {
      this.#pause = delay(verdict.attempt, this.#wish, this.#transport.clock.random());
      this.#wish = undefined;
      return;
    }
    this.#done = true;
    if (verdict.type !== "close") this.#failure = error;
  }

  #enter(next: Machine): void {
    if (next.state !== this.#machine.state) this.#tellConnection(next.state);
    this.#machine = next;
  }

  #tellConnection(state: ConnectionState): void {
    if (state.status === this.#machine.state.status && state.status !== "reconnecting") return;
    this.#ready.push({ type: "connection", connection: state });
  }

  #advance(cursor: string | undefined): void {
    if (cursor === undefined) return;
    this.#resume = cursor;
    if (!this.#machine.resumable) this.#machine = { ...this.#machine, resumable: true };
  }
}

/** Where a follower that has seen this update goes on. */
function cursorOf(update: Update): string | undefined {
  switch (update.type) {
    case "event":
    case "snapshot":
      return update.cursor;
    case "frame":
      return update.frame.id;
    case "connection":
    case "opened":
      return undefined;
  }
}

function endsTurn(type: string): boolean {
  return type === "turn.completed" || type === "turn.failed" || type === "turn.cancelled";
}
