// The simulator as WebAssembly answers like the native program: every schedule of the catalogue, several shapes, byte by
// byte. It is a second compiler's build, with another standard library, for 32 bits and one thread.
//   node identity.mjs plumbline.wasm PLUMBLINE
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [wasm, program] = process.argv.slice(2);
const script = join(dirname(fileURLToPath(import.meta.url)), "../../tools/page/simulator.js");
const { simulatorOf } = new Function(`${readFileSync(script, "utf8")}; return { simulatorOf };`)();
const ask = await simulatorOf(new WebAssembly.Module(readFileSync(wasm)));

function native(request) {
  const { status, stdout, stderr } = spawnSync(program, ["ask", "-"], { input: request, encoding: "utf8", maxBuffer: 1 << 28 });
  return { status, text: stdout === "" ? stderr.replace(/^plumbline: (ask: )?(error: )?/gm, "").trimEnd() : stdout };
}

const SHAPES = [
  { devices: 4, microbatches: 8, want: ["summary", "timeline", "text", "page", "svg", "csv"] },
  { devices: 8, microbatches: 32, cost: "F=1.25,B=2.5,I=1.5,W=1,comm=0.125", memory: "F=1,I=0,W=-1", want: ["timeline"] },
  { devices: 4, microbatches: 16, chunks: 2, want: ["summary"] },
  { devices: 8, microbatches: 16, network: "llama3-8b", cluster: "h100-4x8", tp: 2, dp: 2, runtime: "megatron", want: ["summary", "text"] },
];
const OTHERS = [
  { ask: "schedules" }, { ask: "networks" }, { ask: "clusters" }, { ask: "planners" }, { ask: "schema" },
  { ask: "sweep", schedules: ["1f1b", "zb-h1", "zb-v"], devices: "4,8", microbatches: "8,16", want: ["csv", "text"] },
  { ask: "validate", schedule: "own.txt", files: { "own.txt": "d0: 0F0 0B0\nd1: 1B0 1F0\n" } },
  { ask: "validate", schedule: "own.txt", files: { "own.txt": "d0: 0F0 0Q0 0B\nd1: 1B0 1F0\n" } },
  { ask: "schedule", schedule: "zb-v", devices: 4, microbatches: 8, format: "torch-csv" },
  { ask: "simulate", schedule: "zb-h1", devices: 0, microbatches: 8 },
  { ask: "simulate", schedule: "1f2b", devices: 4, microbatches: 8 },
  { ask: "planner", method: "pipedream", network: "gpt2-medium", cluster: "a100", want: ["plan", "text"] },
  // Small enough that no search ends by its time limit, on a busy machine either.
  { ask: "plan", network: "gpt2-small", cluster: "a100-1x2", batch: 4, want: ["text"] },
  { ask: "search", devices: 4, microbatches: 6, cost: "F=1,I=1,W=1", "memory-limit": 3, simulations: 200, nodes: 200, want: ["text", "search", "document"] },
  { ask: "campaign", trace: "bamboo-p3", layouts: "bamboo-gpt2", price: 0.91, want: ["text", "campaign", "html"] },
  { ask: "campaign", schedule: "1f1b", microbatches: 16, network: "gpt2-small", cluster: "v100-8x1", trace: "bamboo-g4dn", hours: 2, want: ["text"] },
  { ask: "stability", methods: ["delay", "t1+t2"], tau: "3,7", want: ["text", "study"] },
];

let same = 0, refused = 0;
const different = [];
function compare(request) {
  const text = JSON.stringify(request);
  const there = ask(text);
  const here = native(text);
  const error = there.status >= 2 ? JSON.parse(there.text).error : undefined;
  const answer = error ?? there.text;
  if (there.status === here.status && (error === undefined ? here.text === answer : answer !== "" && here.text.endsWith(answer))) {
    if (error !== undefined) refused += 1;
    else same += 1;
    return;
  }
  let at = 0;
  while (answer[at] === here.text[at] && at < answer.length) at += 1;
  different.push(`${text}\n  native ${here.status}: ${here.text.slice(Math.max(0, at - 60), at + 140)}\n  wasm   ${there.status}: ${answer.slice(Math.max(0, at - 60), at + 140)}`);
}

const schedules = JSON.parse(ask('{"ask":"schedules"}').text).schedules.map(({ name }) => name);
for (const shape of SHAPES) for (const schedule of schedules) compare({ ask: "simulate", schedule, ...shape });
OTHERS.forEach(compare);
console.log(`${schedules.length} schedules: ${same} answers the same, ${refused} refusals with the same words, ${different.length} different`);
assert.equal(different.length, 0, `\n${different.slice(0, 10).join("\n")}`);
assert.ok(same >= 2 * schedules.length);
