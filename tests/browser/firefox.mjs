// A headless Firefox driven through Marionette, its remote protocol over TCP: a length, a colon, and JSON. Needs nothing but Node.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

import { until } from "./browser.mjs";

const NAMES = ["firefox-esr", "firefox"];
// No first-run pages, updates or reports; a free port, which Firefox writes into its profile.
const PREFERENCES = {
  "marionette.port": 0, "app.update.enabled": false, "browser.shell.checkDefaultBrowser": false, "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.policy.dataSubmissionEnabled": false, "toolkit.telemetry.enabled": false, "browser.newtabpage.enabled": false,
  "browser.aboutwelcome.enabled": false, "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,", "extensions.getAddons.cache.enabled": false, "app.normandy.enabled": false,
};
const SCRIPT_WITHIN_MS = 120_000;

/** Path of a Firefox, or null. `PLUMB_FIREFOX` names another one. */
export function findFirefox() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = process.env.PLUMB_FIREFOX ? [process.env.PLUMB_FIREFOX] : NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return candidates.find((path) => existsSync(path)) ?? null;
}

export class Firefox {
  /** Starts the program at `path` with a profile of its own. */
  static async start(path) {
    const firefox = new Firefox();
    firefox.folder = mkdtempSync(join(tmpdir(), "plumbline-firefox-"));
    writeFileSync(join(firefox.folder, "user.js"), Object.entries(PREFERENCES).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
    firefox.process = spawn(path, ["--headless", "--no-remote", "--marionette", "--profile", firefox.folder, "about:blank"],
      { stdio: "ignore", env: { ...process.env, HOME: firefox.folder, MOZ_CRASHREPORTER_DISABLE: "1" } });
    const port = join(firefox.folder, "MarionetteActivePort");
    await until(() => existsSync(port) && readFileSync(port, "utf8").trim() !== "", "Firefox to listen");
    await firefox.connect(Number(readFileSync(port, "utf8")));
    await firefox.send("WebDriver:NewSession", { capabilities: { alwaysMatch: { acceptInsecureCerts: false } } });
    await firefox.send("WebDriver:SetTimeouts", { script: SCRIPT_WITHIN_MS });
    return firefox;
  }

  async connect(port) {
    this.waiting = new Map();
    this.next = 1;
    this.bytes = Buffer.alloc(0);
    await new Promise((resolve, reject) => { this.socket = connect(port, "127.0.0.1", resolve).on("error", reject); });
    this.socket.on("data", (chunk) => this.receive(chunk));
  }

  receive(chunk) {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    for (;;) {
      const colon = this.bytes.indexOf(":");
      const size = Number(this.bytes.subarray(0, Math.max(colon, 0)));
      if (colon < 0 || this.bytes.length < colon + 1 + size) return;
      const message = JSON.parse(this.bytes.subarray(colon + 1, colon + 1 + size));
      this.bytes = this.bytes.subarray(colon + 1 + size);
      if (!Array.isArray(message)) continue; // the greeting
      const [, id, error, result] = message;
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) reject(new Error(`${error.error}: ${error.message}`));
      else resolve(result);
    }
  }

  send(command, parameters = {}) {
    const id = this.next++;
    const text = JSON.stringify([0, id, command, parameters]);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
  }

  async open(url) {
    await this.send("WebDriver:Navigate", { url: "about:blank" }); // another part of the same page would not load it again
    await this.send("WebDriver:Navigate", { url });
  }

  /** Value of an expression in the page; promises are awaited. */
  async evaluate(expression) {
    const script = `const done = arguments[arguments.length - 1];
      Promise.resolve().then(() => window.eval(${JSON.stringify(expression)})).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value } = await this.send("WebDriver:ExecuteAsyncScript", { script, args: [], newSandbox: false });
    if (value.error !== undefined) throw new Error(`${expression}: ${value.error}`);
    return value.value;
  }

  /** PNG of the whole page as a buffer. */
  async screenshot() {
    const { value } = await this.send("WebDriver:TakeScreenshot", { full: true });
    return Buffer.from(value, "base64");
  }

  async close() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
    const timer = setTimeout(() => this.process.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
    this.socket.destroy();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
