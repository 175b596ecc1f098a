/**
 * An incremental reader of `text/event-stream`.
 *
 * Bytes may be split anywhere: inside a line end, inside a character, inside the byte order mark. The frames are the
 * same for every split. Nothing is replaced or dropped in silence: bytes that are not UTF-8, and lines or frames over
 * the limit, are errors.
 */

import { MalformedError } from "../errors.js";

/** One dispatched frame. */
export interface SseFrame {
  /** The `event:` name. */
  readonly event?: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
  /** The last `id:` that was in effect when the frame ended. */
  readonly id?: string;
  /** A `retry:` of this frame, in milliseconds. */
  readonly retry?: number;
}

/** How much one line and one frame may hold. A snapshot travels as one line, so a line may be as large as a frame. */
export interface SseLimits {
  readonly lineBytes: number;
  readonly frameBytes: number;
}

export const DEFAULT_LIMITS: SseLimits = { lineBytes: 64 << 20, frameBytes: 64 << 20 };

const LF = 10;
const CR = 13;

/** Holds the unfinished line and the unfinished frame between two pieces of the body. */
export class SseParser {
  readonly #limits: SseLimits;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  /** The last byte was a CR, so a LF that follows belongs to the same line end. */
  #afterCr = false;
  /** No line has ended yet, so a byte order mark may still open the stream. */
  #atStart = true;
  #data: string[] = [];
  #frameBytes = 0;
  #event: string | undefined;
  #id: string | undefined;
  #retry: number | undefined;

  constructor(limits: SseLimits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  /** Takes the next bytes and gives every frame that they complete. After an error the parser must be dropped. */
  push(bytes: Uint8Array): SseFrame[] {
    const frames: SseFrame[] = [];
    let from = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      const continues = this.#afterCr && byte === LF;
      this.#afterCr = false;
      if (continues) {
        from = at + 1;
      } else if (byte === LF || byte === CR) {
        this.#extend(bytes.subarray(from, at));
        from = at + 1;
        this.#afterCr = byte === CR;
        this.#endLine(frames);
      }
    }
    // A copy, because the caller may use its buffer again.
    this.#extend(bytes.slice(from));
    return frames;
  }

  /** True when the stream stopped inside a frame: what was read of it must not be used. */
  get isInsideFrame(): boolean {
    return this.#lineBytes > 0 || this.#data.length > 0 || this.#event !== undefined;
  }

  #extend(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#lineBytes += part.length;
    if (this.#lineBytes > this.#limits.lineBytes) {
      throw new MalformedError(`a line of the stream is over ${this.#limits.lineBytes} bytes`);
    }
    this.#line.push(part);
  }

  #endLine(frames: SseFrame[]): void {
    const bytes = this.#lineBytes;
    let line = this.#takeLine();
    if (this.#atStart && line.startsWith("\ufeff")) line = line.slice(1);
    this.#atStart = false;
    if (line === "") this.#endFrame(frames);
    else this.#field(line, bytes);
  }

  #takeLine(): string {
    let line = this.#line[0] ?? new Uint8Array();
    if (this.#line.length > 1) {
      line = new Uint8Array(this.#lineBytes);
      let at = 0;
      for (const part of this.#line) {
        line.set(part, at);
        at += part.length;
      }
    }
    this.#line = [];
    this.#lineBytes = 0;
    try {
      return this.#decoder.decode(line);
    } catch {
      throw new MalformedError("a line of the stream is not UTF-8");
    }
  }

  #field(line: string, bytes: number): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "data") this.#addData(value, bytes);
    else if (name === "event") this.#event = value === "" ? undefined : value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#retry = Number(value);
    // A comment has an empty name; other names are for readers that know them.
  }

  #addData(value: string, bytes: number): void {
    this.#frameBytes += bytes;
    if (this.#frameBytes > this.#limits.frameBytes) {
      throw new MalformedError(`a frame of the stream is over ${this.#limits.frameBytes} bytes`);
    }
    this.#data.push(value);
  }

  #endFrame(frames: SseFrame[]): void {
    const event = this.#event;
    this.#event = undefined;
    // A frame without data is not dispatched, but its pause holds for the next frame that is.
    if (this.#data.length === 0) return;
    frames.push({
      data: this.#data.join("\n"),
      ...(event !== undefined && { event }),
      ...(this.#id !== undefined && { id: this.#id }),
      ...(this.#retry !== undefined && { retry: this.#retry }),
    });
    this.#data = [];
    this.#frameBytes = 0;
    this.#retry = undefined;
  }
}
