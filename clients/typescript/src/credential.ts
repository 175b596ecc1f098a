/**
 * Browser credentials: what a page uses instead of a key.
 *
 * The app's own backend makes one with its key (`POST /v1/browser-credentials`) and hands it to the page. It works for
 * every request and every reconnect until it expires. The keeper here renews it in time, and asks the backend for a new
 * one when no renewal goes further.
 */

import { ProblemError } from "./errors.js";
import type { Clock } from "./transport.js";

/** A credential as the server made it. Times are milliseconds since 1970. */
export interface BrowserCredential {
  /** `rb_…`. Only the answer to its creation has it. */
  readonly credential: string;
  readonly credentialId: string;
  readonly expiresAt: number;
  /** No renewal goes beyond it. */
  readonly notAfter?: number;
}

/** A credential, or where a page gets one: usually a request to the app's own backend. */
export type CredentialSource = BrowserCredential | (() => BrowserCredential | Promise<BrowserCredential>);

/** Asks the server to move the expiry on. */
export type Renew = (credential: BrowserCredential) => Promise<{ readonly expiresAt: number; readonly notAfter?: number }>;

/** The part of its remaining life that a credential is used for before it is renewed. */
const USED_PART = 0.7;
const LONGEST_SLEEP = 10 * 60_000;
const SHORTEST_SLEEP = 250;

export class CredentialKeeper {
  readonly #source: CredentialSource;
  readonly #renew: Renew;
  readonly #clock: Clock;
  #held: BrowserCredential | undefined;
  /** When to renew what is held. */
  #due = 0;
  #pending: Promise<BrowserCredential> | undefined;

  constructor(source: CredentialSource, renew: Renew, clock: Clock) {
    this.#source = source;
    this.#renew = renew;
    this.#clock = clock;
  }

  /** The text to send. Several callers at once wait for one renewal. */
  async text(): Promise<string> {
    const held = this.#held;
    if (held !== undefined && this.#now() < this.#due) return held.credential;
    this.#pending ??= this.#fresh().finally(() => {
      this.#pending = undefined;
    });
    return (await this.#pending).credential;
  }

  /** The server does not take what is held. True if another one can be had. */
  forget(): boolean {
    if (typeof this.#source !== "function") return false;
    this.#held = undefined;
    return true;
  }

  /** Renews in time while something is open, until the signal aborts. A failure is tried again. */
  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = Math.min(Math.max(this.#due - this.#now(), SHORTEST_SLEEP), LONGEST_SLEEP);
      await this.#clock.sleep(wait, signal);
      if (signal.aborted) return;
      await this.text().catch(() => undefined);
    }
  }

  async #fresh(): Promise<BrowserCredential> {
    const held = this.#held;
    if (held !== undefined && this.#now() < held.expiresAt) {
      try {
        const { expiresAt, notAfter } = await this.#renew(held);
        if (expiresAt > held.expiresAt || typeof this.#source !== "function") {
          return this.#hold({ ...held, expiresAt, ...(notAfter !== undefined && { notAfter }) });
        }
      } catch (error) {
        // Refused for good: only another one helps. A server that is away may answer later, and this one still works.
        const isRefused = error instanceof ProblemError && !error.retryable;
        if (!isRefused || typeof this.#source !== "function") return this.#later(held);
      }
    }
    if (typeof this.#source === "function") return this.#hold(await this.#source());
    return this.#hold(held ?? this.#source);
  }

  #hold(credential: BrowserCredential): BrowserCredential {
    this.#held = credential;
    const now = this.#now();
    this.#due = now + Math.max((credential.expiresAt - now) * USED_PART, SHORTEST_SLEEP);
    return credential;
  }

  /** Tries again soon, with what is held. */
  #later(held: BrowserCredential): BrowserCredential {
    const left = held.expiresAt - this.#now();
    this.#due = this.#now() + Math.max(Math.min(left / 4, 5_000), SHORTEST_SLEEP);
    return held;
  }

  #now(): number {
    return this.#clock.now?.() ?? Date.now();
  }
}
