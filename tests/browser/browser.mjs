// A headless Chromium driven through the DevTools protocol over a pipe; needs nothing but Node.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
];
const ANSWER_WITHIN_MS = 60_000;

/** Path of a Chromium, or null. `PLUMB_CHROMIUM` names another one. */
export function findChromium() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = process.env.PLUMB_CHROMIUM ? [process.env.PLUMB_CHROMIUM]
    : NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return candidates.find((path) => existsSync(path)) ?? null;
}

/** One tab. `problems` collects uncaught exceptions, console errors and requests that leave the file. */
export class Tab {
  constructor(browser, sessionId) {
    this.browser = browser;
    this.sessionId = sessionId;
    this.problems = [];
    this.loads = 0;
  }

  send(method, params = {}) { return this.browser.send(method, params, this.sessionId); }

  hear(method, params) {
    if (method === "Page.loadEventFired") this.loads += 1;
    if (method === "Runtime.exceptionThrown") {
      this.problems.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    }
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
      this.problems.push(`console: ${params.args.map((arg) => arg.value ?? arg.description).join(" ")}`);
    }
    if (method === "Log.entryAdded" && params.entry.level === "error") this.problems.push(`log: ${params.entry.text}`);
    if (method === "Network.requestWillBeSent" && !/^(file|data|blob):/.test(params.request.url)) {
      this.problems.push(`request: ${params.request.url}`);
    }
  }

  async open(url, { width = 1440, height = 1000, dark = false } = {}) {
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    const before = this.loads;
    await this.send("Page.navigate", { url });
    await until(() => this.loads > before, `${url} to load`);
    await this.frame();
  }

  /** Value of an expression in the page; promises are awaited. */
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Waits until what was asked to be painted is painted. */
  frame() { return this.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"); }

  async mouse(type, x, y, more = {}) {
    await this.send("Input.dispatchMouseEvent", { type, x, y, ...more });
    if (type !== "mouseWheel") await this.frame();
  }

  async click(x, y) {
    await this.mouse("mouseMoved", x, y);
    await this.mouse("mousePressed", x, y, { button: "left", buttons: 1, clickCount: 1 });
    await this.mouse("mouseReleased", x, y, { button: "left", clickCount: 1 });
  }

  async drag(x0, x1, y) {
    await this.mouse("mousePressed", x0, y, { button: "left", buttons: 1, clickCount: 1 });
    for (let k = 1; k <= 4; k += 1) await this.mouse("mouseMoved", x0 + ((x1 - x0) * k) / 4, y, { button: "left", buttons: 1 });
    await this.mouse("mouseReleased", x1, y, { button: "left", clickCount: 1 });
  }

  async key(key) {
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text: key.length === 1 ? key : undefined });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
    await this.frame();
  }

  /** PNG of the whole page as a buffer. */
  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { captureBeyondViewport: true });
    return Buffer.from(data, "base64");
  }
}

/** Polls `condition` until it holds; fails after a generous while. */
export async function until(condition, what) {
  const end = Date.now() + ANSWER_WITHIN_MS;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export class Browser {
  constructor(path) {
    this.folder = mkdtempSync(join(tmpdir(), "plumbline-browser-"));
    this.process = spawn(path, [...FLAGS, `--user-data-dir=${this.folder}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    this.tabs = new Map();
    this.next = 1;
    let text = "";
    this.process.stdio[4].setEncoding("utf8").on("data", (chunk) => {
      const parts = (text + chunk).split("\0");
      text = parts.pop();
      parts.forEach((part) => this.receive(JSON.parse(part)));
    });
    this.process.on("exit", (code) => this.waiting.forEach(({ reject }) => reject(new Error(`the browser ended with ${code}`))));
  }

  receive(message) {
    if (message.id === undefined) {
      this.tabs.get(message.sessionId)?.hear(message.method, message.params);
      return;
    }
    const { resolve, reject, timer } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    clearTimeout(timer);
    if (message.error) reject(new Error(message.error.message));
    else resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), ANSWER_WITHIN_MS);
      this.waiting.set(id, { resolve, reject, timer });
      this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  async tab() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const tab = new Tab(this, sessionId);
    this.tabs.set(sessionId, tab);
    return tab;
  }

  async close() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.send("Browser.close").catch(() => {});
    const timer = setTimeout(() => this.process.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(timer);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
