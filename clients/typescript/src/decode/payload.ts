/**
 * Reads a payload by the form of its type, as the server does: what does not fit is an error with a path, snake_case
 * names become camelCase, members that are not known are left out, and values of unknown types are kept as they came.
 */

import { PAYLOADS, SHAPES } from "../generated/shapes.js";
import type { Shape } from "../generated/shapes.js";

/** A payload that does not have the form of its type. */
export class PayloadError extends Error {
  override readonly name = "PayloadError";
  /** Where, from the envelope: `payload.item.content[0].text`. */
  readonly path: string;
  readonly expected: string;

  constructor(path: string, expected: string) {
    super(`${path}: expected ${expected}`);
    this.path = path;
    this.expected = expected;
  }
}

type Members = Record<string, unknown>;
type Read = (value: unknown, path: string, depth: number) => unknown;

/** Values inside values inside values: more levels than any sender needs. */
const DEEPEST = 100;

/** Other spellings of a tag. */
const TAG_ALIASES = new Map([
  ["image_url", "image"],
  ["input_image", "image"],
  ["output_image", "image"],
]);

const payloads = new Map(Object.entries(PAYLOADS));
const readers = new Map<string, Read>();

export function isKnownType(type: string): boolean {
  return payloads.has(type);
}

/** The payload with the snake_case spellings of known members in camelCase; everything else as it came. */
export function camelPayload(type: string, payload: unknown): unknown {
  const shape = shapeOf(payloads.get(type));
  if (shape === undefined || !isObject(payload)) return payload;
  const known = (name: string): boolean => has(shape.needed, name) || has(shape.optional, name);
  const renamed = (key: string): string => (key.includes("_") && known(camelCase(key)) ? camelCase(key) : key);
  const keys = Object.keys(payload);
  if (keys.every((key) => renamed(key) === key)) return payload;
  const out: Members = {};
  for (const key of keys) {
    if (has(out, renamed(key))) throw new PayloadError(`payload.${renamed(key)}`, "one spelling, found two");
    out[renamed(key)] = payload[key];
  }
  return out;
}

/** Reads the payload of a type that is known here. An absent payload reads like `{}`. */
export function readPayload(type: string, payload: unknown): Members {
  const name = payloads.get(type);
  if (name === undefined) throw new PayloadError("payload", `a known type, not ${type}`);
  return reader(name)(camelPayload(type, payload ?? {}), "payload", 0) as Members;
}

/** `event_id` → `eventId`; a name without `_` is itself. */
export function camelCase(name: string): string {
  if (!name.includes("_") || name.startsWith("_")) return name;
  return name.replace(/_+([^_]?)/g, (_, letter: string) => letter.toUpperCase());
}

/** Ids are safe in a path segment, a header and a log line; `.` and `..` have a meaning of their own there. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9_.:~@+=-]{1,128}$/.test(value) && !/^\.+$/.test(value);
}

export function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function has(object: object | undefined, name: string): boolean {
  return object !== undefined && Object.hasOwn(object, name);
}

function shapeOf(name: string | undefined): Shape | undefined {
  return name !== undefined && has(SHAPES, name) ? SHAPES[name] : undefined;
}

/** The reader of a form, made once. */
function reader(form: string): Read {
  let known = readers.get(form);
  if (known === undefined) {
    // A form may contain itself, so that the reader is known before it is made.
    readers.set(form, (value, path, depth) => made(value, path, depth));
    const made = makeReader(form);
    known = made;
    readers.set(form, made);
  }
  return known;
}

function makeReader(form: string): Read {
  const plain = PLAIN.get(form);
  if (plain !== undefined) return plain;
  if (form.endsWith("?")) {
    const inner = reader(form.slice(0, -1));
    return (value, path, depth) => (value === null ? null : inner(value, path, depth));
  }
  if (form.startsWith("[")) return listReader(reader(form.slice(1, -1)));
  const shape = shapeOf(form);
  if (shape === undefined) throw new Error(`form ${form} is not known`);
  if (form === "ImageUrl") return imageUrlReader(objectReader(shape));
  if (form === "Reward") return rewardReader(objectReader(shape));
  if (shape.tags !== undefined) return unionReader(form, shape.tags);
  if (shape.words !== undefined) return wordReader(shape.words);
  if (shape.either !== undefined) return eitherReader(form, shape.either);
  return objectReader(shape);
}

function check(expected: string, fits: (value: unknown) => boolean): Read {
  return (value, path) => {
    if (!fits(value)) throw new PayloadError(path, expected);
    return value;
  };
}

function isInteger(least: number, most: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

const PLAIN = new Map<string, Read>([
  ["text", check("a string", (value) => typeof value === "string")],
  ["boolean", check("a boolean", (value) => typeof value === "boolean")],
  ["number", check("a number", (value) => typeof value === "number")],
  ["u32", check("an integer from 0 below 2^32", isInteger(0, 2 ** 32 - 1))],
  ["u64", check("an integer from 0 below 2^64", isInteger(0, 2 ** 64))],
  ["i64", check("an integer below 2^63", isInteger(-(2 ** 63), 2 ** 63))],
  ["json", (value) => value],
  ["id", check("an id", isId)],
]);

function listReader(inner: Read): Read {
  return (value, path, depth) => {
    if (!Array.isArray(value)) throw new PayloadError(path, "an array");
    return value.map((entry, at) => inner(entry, `${path}[${at}]`, depth));
  };
}

interface Member {
  readonly name: string;
  readonly snake: string;
  readonly needed: boolean;
  /** Null has a meaning of its own here. */
  readonly patch: boolean;
  readonly form: string;
}

/** A reader of objects of this shape. */
export function objectReader(shape: Shape): Read {
  const members: Member[] = [];
  for (const [list, needed] of [[shape.needed, true], [shape.optional, false]] as const) {
    for (const [name, form] of Object.entries(list ?? {})) {
      const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      members.push({ name, snake, needed, patch: form.endsWith("?"), form });
    }
  }
  return (value, path, depth) => {
    if (!isObject(value)) throw new PayloadError(path, "an object");
    const out: Members = {};
    for (const member of members) readMember(member, value, path, depth, out);
    return out;
  };
}

function readMember(member: Member, value: Members, path: string, depth: number, out: Members): void {
  const place = `${path}.${member.name}`;
  let key = member.name;
  if (member.snake !== key && has(value, member.snake)) {
    if (has(value, key)) throw new PayloadError(place, "one spelling, found two");
    key = member.snake;
  }
  if (!has(value, key)) {
    if (member.needed) throw new PayloadError(path, `an object with \`${member.name}\``);
    return;
  }
  const found = value[key];
  if (found === null && !member.needed && !member.patch) return;
  out[member.name] = reader(member.form)(found, place, depth);
}

function unionReader(name: string, tags: Readonly<Record<string, string>>): Read {
  return (value, path, depth) => {
    if (depth >= DEEPEST) throw new PayloadError(path, `values that nest at most ${DEEPEST} levels`);
    if (!isObject(value)) throw new PayloadError(path, "an object");
    const found = value["type"];
    if (found === undefined) throw new PayloadError(path, "an object with `type`");
    if (typeof found !== "string") throw new PayloadError(`${path}.type`, "a string");
    const tag = name === "Block" ? (TAG_ALIASES.get(found) ?? found) : found;
    const form = has(tags, tag) ? tags[tag] : undefined;
    if (form === undefined) return value;
    return { type: tag, ...(reader(form)(value, path, depth + 1) as Members) };
  };
}

function wordReader(words: readonly string[]): Read {
  return check(`one of ${words.join(", ")}`, (value) => words.includes(value as string));
}

/** The forms of one of these differ by the kind of JSON value: a string, an array, an object. */
function eitherReader(name: string, forms: readonly string[]): Read {
  return (value, path, depth) => {
    const form = forms.find((candidate) => {
      if (candidate === "text") return typeof value === "string";
      return candidate.startsWith("[") ? Array.isArray(value) : isObject(value);
    });
    if (form === undefined) throw new PayloadError(path, `a form of ${name}`);
    return reader(form)(value, path, depth);
  };
}

/** Some senders write the number alone. */
function rewardReader(object: Read): Read {
  return (value, path, depth) => (typeof value === "number" ? { value } : object(value, path, depth));
}

/** Some senders write the address alone. */
function imageUrlReader(object: Read): Read {
  return (value, path, depth) => (typeof value === "string" ? { url: value } : object(value, path, depth));
}
