// A server of a test's own, whose agents play a scenario.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./support.mjs";

const freePort = () =>
  new Promise((resolve) => {
    const free = createServer().listen(0, "127.0.0.1", () => {
      const { port } = free.address();
      free.close(() => resolve(port));
    });
  });

/** Starts it; `scenario` is that of `scripted/main`, `config` the text of its riverrun.toml. */
export const hosted = async (scenario, config) => {
  const home = mkdtempSync(join(tmpdir(), "riverrun-clients-"));
  const [script, settings, data] = ["main.json", "riverrun.toml", "data"].map((file) => join(home, file));
  writeFileSync(script, JSON.stringify(scenario));
  writeFileSync(settings, `[scripts]\nfiles = [${JSON.stringify(script)}]\n\n${config}`);
  const address = `127.0.0.1:${await freePort()}`;
  const command = ["serve", "--dev", "--listen", address, "--data-dir", data, "--config", settings];
  const server = spawn(process.env.RIVERRUN_BINARY, command, { stdio: "ignore" });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const stop = async () => {
    server.kill();
    await ended;
    rmSync(home, { recursive: true });
  };
  const isUp = () => fetch(`http://${address}/livez`).then((answer) => answer.ok, () => false);
  try {
    await until("the server is up", async () => existsSync(join(data, "admin.key")) && (await isUp()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, key: readFileSync(join(data, "admin.key"), "utf8").trim(), stop };
};
