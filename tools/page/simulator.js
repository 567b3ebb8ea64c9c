// The simulator as a WebAssembly module (tools/web): requests in, answers out. Runs in pages, workers and Node.

/** What the module asks its system for; it has a clock, and no files. */
function systemOf(memoryOf) {
  const bytes = () => new DataView(memoryOf().buffer);
  const CLOSED = 8; // EBADF
  const written = [];
  return {
    clock_time_get: (clock, precision, at) => {
      bytes().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    fd_write: (file, parts, count, at) => {
      let size = 0;
      for (let k = 0; k < count; k += 1) {
        const [from, length] = [bytes().getUint32(parts + 8 * k, true), bytes().getUint32(parts + 8 * k + 4, true)];
        written.push(new TextDecoder().decode(new Uint8Array(memoryOf().buffer, from, length)));
        size += length;
      }
      bytes().setUint32(at, size, true);
      return 0;
    },
    environ_sizes_get: (count, size) => {
      bytes().setUint32(count, 0, true);
      bytes().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    random_get: (at, size) => {
      crypto.getRandomValues(new Uint8Array(memoryOf().buffer, at, size));
      return 0;
    },
    proc_exit: (status) => { throw new Error(`the simulator ended with ${status}: ${written.join("")}`); },
    fallback: () => CLOSED,
  };
}

/** Makes an instance of the compiled `module`: a function from a request (text) to `{status, text}`. What it throws ends the instance. */
async function simulatorOf(module) {
  let memory = null;
  const system = systemOf(() => memory);
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = system[name] ?? system.fallback;
  }
  const { exports } = await WebAssembly.instantiate(module, imports);
  memory = exports.memory;
  exports._initialize();
  const ask = (request) => {
    const text = new TextEncoder().encode(request);
    const room = exports.plumb_alloc(text.length);
    new Uint8Array(memory.buffer, room, text.length).set(text);
    const status = exports.plumb_ask(room, text.length);
    exports.plumb_free(room);
    const answer = new Uint8Array(memory.buffer, exports.plumb_answer(), exports.plumb_answer_size());
    return { status, text: new TextDecoder().decode(answer) };
  };
  ask.crash = () => exports.plumb_ask(-1, 1 << 20); // for tests: reads behind the memory
  return ask;
}
