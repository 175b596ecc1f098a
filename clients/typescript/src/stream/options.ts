/** What a follower asks for. */

export interface FollowOptions {
  /** A cursor that the server gave, or a sequence; absent is the start of the log. */
  readonly after?: string | number;
  /** Absent is native. Only native streams are checked for order and gaps. */
  readonly dialect?: string;
  /** One turn only, to its terminal event. */
  readonly turn?: string;
  readonly task?: string;
  /** Event types, or prefixes such as `tool.*`. */
  readonly types?: readonly string[];
  /** Every event, adjacent deltas of one block as one event, or the folded state and then events. */
  readonly catchup?: "replay" | "coalesce" | "snapshot";
  /** What the indexes of annotations in a snapshot count. */
  readonly indexUnit?: "code_point" | "utf16" | "utf8";
  /** False leaves at the head of the log instead of staying for what happens next. */
  readonly follow?: boolean;
  /** How many failed attempts in a row end the stream; absent never gives up. */
  readonly maxAttempts?: number;
  /** Leaves the stream. Leaving is no error and cancels nothing. */
  readonly signal?: AbortSignal;
}

export function isNative(options: FollowOptions): boolean {
  return options.dialect === undefined || options.dialect === "native";
}

/** A filtered stream has holes by design, so only its order can be checked. */
export function isFiltered(options: FollowOptions): boolean {
  return options.turn !== undefined || options.task !== undefined || (options.types?.length ?? 0) > 0;
}

/** The request's path. `cursor` is where the follower stands, absent before its first event. */
export function followPath(sessionPath: string, options: FollowOptions, cursor: string | undefined): string {
  // Who already holds a prefix wants what follows it, not a new snapshot.
  const asks = options.catchup === "coalesce" || (options.catchup === "snapshot" && cursor === undefined);
  return withQuery(`${sessionPath}/events`, {
    after: cursor ?? String(options.after ?? 0),
    dialect: options.dialect,
    turn: options.turn,
    task: options.task,
    types: options.types?.length ? options.types.join(",") : undefined,
    catchup: asks ? options.catchup : undefined,
    index_unit: options.indexUnit === "code_point" ? undefined : options.indexUnit,
    follow: options.follow === false ? "false" : undefined,
  });
}

/** A path with a query that leaves out what is not set. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined);
  if (set.length === 0) return path;
  return `${path}?${set.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
}
