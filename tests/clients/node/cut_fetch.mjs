// Reads streams with this Node's own fetch, for `sweep_cuts.mjs`, which starts it under several versions of Node.
// In: the addresses as JSON. Out: one line when all have begun, and one with what became of each.
const { key, readers } = JSON.parse(process.argv[2]);

const read = async ({ url, accept }, seen) => {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}`, accept } });
  if (!answer.ok) throw new Error(`before the cut: ${answer.status} ${await answer.text()}`);
  const text = new TextDecoder();
  for await (const piece of answer.body) {
    const part = text.decode(piece, { stream: true });
    if (part.includes("half") || url.includes("a2a")) seen();
  }
};

const begun = [];
const ends = readers.map((reader) => {
  let seen;
  begun.push(new Promise((resolve) => (seen = resolve)));
  const ended = read(reader, seen).then(() => ["ended"], (error) => ["failed", `${error.name}: ${error.message} ${error.cause?.code ?? ""}`]);
  return ended.finally(seen);
});
await Promise.all(begun);
console.log("begun");
console.log(JSON.stringify(await Promise.all(ends)));
