import assert from "node:assert/strict";
import { test } from "node:test";
import { MalformedError } from "../src/errors.js";
import type { SseFrame } from "../src/stream/sse.js";
import { SseParser } from "../src/stream/sse.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function check(text: string, expected: SseFrame[]): void {
  const whole = bytes(text);
  assert.deepEqual(new SseParser().push(whole), expected);
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const parser = new SseParser();
    const frames = [...parser.push(whole.subarray(0, cut)), ...parser.push(whole.subarray(cut))];
    assert.deepEqual(frames, expected, `cut at ${cut}`);
  }
  const single = new SseParser();
  assert.deepEqual([...whole].flatMap((byte) => single.push(Uint8Array.of(byte))), expected, "byte by byte");
}

test("any split gives the same frames", () => {
  check("id: 1\ndata: one\n\nid: 2\ndata: Ả😀\n\n", [
    { id: "1", data: "one" },
    { id: "2", data: "Ả😀" },
  ]);
});

test("lines end with LF, CR or both", () => {
  check("data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n", [{ data: "a\nb" }, { data: "c" }, { data: "d" }]);
});

test("a byte order mark opens the stream and nothing else", () => {
  check("\ufeffdata: \ufeffx\n\n", [{ data: "\ufeffx" }]);
});

test("comments and frames without data are not dispatched", () => {
  check(": heartbeat\n\nevent: lost\n\nretry: 500\n\ndata\n\n", [{ data: "", retry: 500 }]);
});

test("an id stays in effect, a name does not", () => {
  check("id: 7\nevent: riverrun\ndata: x\n\ndata: y\n\n", [
    { id: "7", event: "riverrun", data: "x" },
    { id: "7", data: "y" },
  ]);
});

test("an unfinished frame is not given out", () => {
  const parser = new SseParser();
  assert.deepEqual(parser.push(bytes("data: half\n")), []);
  assert.ok(parser.isInsideFrame);
});

test("bytes that are not UTF-8 are an error", () => {
  assert.throws(() => new SseParser().push(Uint8Array.of(0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a)), MalformedError);
});

test("lines and frames over the limit are errors", () => {
  assert.throws(() => new SseParser({ lineBytes: 8, frameBytes: 64 }).push(bytes("data: 123456789")), /line/);
  assert.throws(() => new SseParser({ lineBytes: 64, frameBytes: 16 }).push(bytes("data: 12345\ndata: 12345\n")), /frame/);
});
