// What the tests share: where the server is, and a fetch that knows the key.
export const BASE = process.env.RIVERRUN_URL.replace(/\/$/, "");
export const KEY = process.env.RIVERRUN_KEY;
export const FAULT = "x-riverrun-fault";

/** For clients that have no place for a key of their own. */
export const keyed = (extra = {}) => (url, options = {}) => {
  const headers = new Headers(options.headers ?? url?.headers);
  headers.set("authorization", `Bearer ${KEY}`);
  for (const [name, value] of Object.entries(extra)) headers.set(name, value);
  return fetch(url, { ...options, headers });
};

/** For clients that would never write such a body themselves. */
export const spoilt = (body) => (url, options) => keyed()(url, { ...options, body });

/** The native API's answer. */
export const post = async (path, body) => {
  const answer = await keyed()(BASE + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};

export const collect = async (stream) => {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
};

export const name = (prefix) => `${prefix}_${Math.random().toString(36).slice(2)}`;

export const until = async (what, look) => {
  for (let tries = 0; tries < 200; tries++) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what}: it did not happen in ten seconds`);
};
