/** What can go wrong between a client and its server. */

/** The root of everything that this package throws on purpose. */
export class RiverrunError extends Error {
  override readonly name: string = "RiverrunError";

  /** True if the same request may succeed later, unchanged. */
  get isRetryable(): boolean {
    return false;
  }
}

/** The server answered, and the answer is no. */
export class ProblemError extends RiverrunError {
  override readonly name = "ProblemError";
  readonly status: number;
  /** A stable name, as text, so that one from a newer server is not lost. */
  readonly code: string;
  readonly title: string | undefined;
  readonly detail: string;
  readonly field: string | undefined;
  readonly limit: number | undefined;
  readonly requestId: string | undefined;
  readonly retryable: boolean;
  /** What `Retry-After` asked for, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(status: number, retryAfter: string | null, body: string) {
    const wire = object(parse(body));
    const inner = object(wire["error"]);
    const detail = text(wire["detail"]) ?? text(inner["message"]) ?? text(wire["title"]);
    super(detail ?? `the server answered ${status}`);
    this.status = status;
    this.code = text(wire["code"]) ?? text(inner["code"]) ?? `http_${status}`;
    this.title = text(wire["title"]);
    this.detail = this.message;
    this.field = text(wire["field"]) ?? text(inner["field"]);
    this.limit = number(wire["limit"]) ?? number(inner["limit"]);
    this.requestId = text(wire["requestId"]) ?? text(inner["requestId"]);
    const told = wire["retryable"];
    this.retryable = typeof told === "boolean" ? told : [429, 502, 503, 504].includes(status);
    this.retryAfter = retryAfter !== null && /^\d+$/.test(retryAfter.trim()) ? Number(retryAfter) * 1000 : undefined;
  }

  override get isRetryable(): boolean {
    return this.retryable;
  }
}

/** No connection could be made. Nothing was stored. */
export class UnreachableError extends RiverrunError {
  override readonly name = "UnreachableError";

  constructor(url: string, cause: unknown) {
    super(`no server answers at ${url}: ${reason(cause)}`, { cause });
  }

  override get isRetryable(): boolean {
    return true;
  }
}

/** The connection ended before the answer did. What was asked may have happened. */
export class ConnectionLostError extends RiverrunError {
  override readonly name = "ConnectionLostError";

  constructor(cause: unknown) {
    super(`the connection was cut: ${reason(cause)}`, { cause });
  }

  override get isRetryable(): boolean {
    return true;
  }
}

/** The stream skipped events. The client stops rather than show a log with a hole. */
export class GapError extends RiverrunError {
  override readonly name = "GapError";
  readonly last: number;
  readonly found: number;

  constructor(last: number, found: number) {
    super(`the stream skipped from sequence ${last} to ${found}`);
    this.last = last;
    this.found = found;
  }
}

/** The server sent something that this client does not understand. */
export class MalformedError extends RiverrunError {
  override readonly name: string = "MalformedError";

  constructor(what: string) {
    super(`the server's answer is not understood: ${what}`);
  }
}

function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // `fetch` says only "fetch failed"; what happened is one level below.
  return cause.cause instanceof Error ? cause.cause.message || cause.message : cause.message;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // A proxy's page is no problem of ours; its status is still told.
    return undefined;
  }
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
