/** How an operation travels over HTTP: its members go into the path, the query or the body. */

import type { CallOptions, Route } from "./generated/operations.js";
import { withQuery } from "./stream/options.js";
import type { Call } from "./transport.js";

/** The call that carries a request. Members that are undefined are left out. */
export function callOf(route: Route, request: object, options: CallOptions = {}): Call {
  const members = Object.entries(request).filter(([, value]) => value !== undefined);
  const rest = new Map<string, unknown>(members);
  let path = route.path;
  for (const [parameter, member] of Object.entries(route.pathMembers)) {
    path = path.replace(`{${parameter}}`, encodeURIComponent(String(rest.get(member))));
    rest.delete(member);
  }
  const headers: Record<string, string> = {};
  if (options.idempotencyKey !== undefined) headers["idempotency-key"] = options.idempotencyKey;
  if (route.method === "GET" || route.method === "DELETE") {
    const query = [...rest].map(([member, value]) => [route.queryNames?.[member] ?? member, text(value)] as const);
    return { method: route.method, path: withQuery(path, Object.fromEntries(query)), headers };
  }
  headers["content-type"] = "application/json";
  return { method: route.method, path, headers, body: JSON.stringify(Object.fromEntries(rest)) };
}

/** A value as a query writes it: lists with commas. */
function text(value: unknown): string {
  return Array.isArray(value) ? value.map(String).join(",") : String(value);
}
