// Simulators in workers, so that the page stays alive while they work. After a trap the next request gets a new instance.

/** Runs in the worker, from its own text; `simulatorOf` and what it needs stand above it. */
function serveRequests() {
  let module = null;
  let ask = null;
  onmessage = async ({ data }) => {
    if (data.bytes) {
      module = WebAssembly.compile(data.bytes);
      return;
    }
    try {
      ask ??= await simulatorOf(await module);
      if (data.crash) ask.crash();
      const answer = ask(data.request);
      postMessage({ id: data.id, status: answer.status, text: answer.text });
    } catch (error) {
      ask = null; // its memory may be broken
      postMessage({ id: data.id, trap: String(error?.message ?? error) });
    }
  };
}

/** The bytes of the module, which the page holds packed. */
async function moduleBytes() {
  const packed = Uint8Array.from(atob(document.getElementById("simulator").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** One simulator in its worker. */
class Simulator {
  /** `bytes`: a promise of the module. */
  constructor(bytes) {
    this.bytes = bytes;
    this.waiting = new Map();
    this.next = 0;
  }

  start() {
    const source = `"use strict";\n${systemOf}\n${simulatorOf}\n(${serveRequests})();`;
    this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => [...this.waiting.keys()].forEach((id) => this.receive({ id, trap: event.message }));
    this.bytes.then((bytes) => this.worker?.postMessage({ bytes }));
  }

  receive({ id, status, text, trap }) {
    const { resolve } = this.waiting.get(id) ?? {};
    this.waiting.delete(id);
    resolve?.(trap === undefined ? { status, ...JSON.parse(text) } : { status: 2, trap, error: `The simulator stopped (${trap}). It starts again with the next change.` });
  }

  /** The answer document; of what cannot be answered `{status: 2, error}`, and after a trap with `trap`. */
  async ask(request, { crash = false } = {}) {
    if (!this.worker) this.start();
    await this.bytes;
    const id = this.next++;
    return new Promise((resolve) => {
      this.waiting.set(id, { resolve });
      this.worker.postMessage({ id, request: JSON.stringify(request), crash });
    });
  }

  /** Ends what is under way, unanswered. */
  cancel() {
    this.worker?.terminate();
    this.worker = null;
    this.waiting.forEach(({ resolve }) => resolve({ status: 2, cancelled: true, error: "cancelled" }));
    this.waiting.clear();
  }
}
