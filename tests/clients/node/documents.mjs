// The documents that Riverrun was built from. Their sample code is read when a test runs and is never copied here.
// `RIVERRUN_DOCUMENTS` names the folder; without it `../shared/seeds` beside the repository is looked for.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

const above = (path) => (path === dirname(path) ? [path] : [path, ...above(dirname(path))]);

const folder = () => {
  const named = process.env.RIVERRUN_DOCUMENTS;
  return named ?? above(import.meta.dirname).map((path) => join(path, "shared/seeds")).find(existsSync);
};

/** The text of the document with this number, such as `001`; undefined if it is absent, which is printed. */
export const document = (number) => {
  const place = folder();
  const files = place && existsSync(place) ? readdirSync(place) : [];
  const found = files.find((file) => file.startsWith(`${number}_`));
  if (found) return readFileSync(join(place, found), "utf8");
  const why = "no ../shared/seeds, and RIVERRUN_DOCUMENTS names no folder with it";
  console.log(`# SKIP document ${number} is absent: ${why}`);
};

/** What `parse` makes of the fewest lines from `start` that it takes; undefined if it takes none. */
const shortest = (lines, start, parse) => {
  for (let end = start + 1; end <= lines.length; end++) {
    try {
      return parse(lines.slice(start, end).join("\n"));
    } catch {
      // It goes on behind this line.
    }
  }
};

/** The document's JavaScript function of this name, with what it takes from its surroundings. */
export const javaScriptFunction = (text, name, surroundings) => {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`function ${name}(`));
  const parse = (code) => new Function(...Object.keys(surroundings), `${code}\nreturn ${name}`);
  return shortest(lines, start, parse)(...Object.values(surroundings));
};

/** Every JSON object of the document that begins a line, in its order. */
export const jsonObjects = (text) => {
  const lines = text.split("\n");
  const starts = lines.flatMap((line, at) => (line.startsWith("{") ? [at] : []));
  return starts.map((start) => shortest(lines, start, JSON.parse)).filter((found) => found?.type);
};
