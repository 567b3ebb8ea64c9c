// Uses the explorer in a headless Chromium as a reader would: first drawing, changes, refusals, a trap, the tour.
//   node explorer_test.mjs explorer.html
// Exit status 77: skipped, with the reason on standard output.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { Browser, findChromium, until } from "../browser/browser.mjs";

const page = resolve(process.argv[2]);
const EXPLORER = "plumbline.explorer";
const SOURCE = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const TRACES = join(SOURCE, "tests/sim/traces/data/zb-h1"); // a real run of PyTorch on four ranks

/** Waits until what the state says is drawn. */
const settled = (tab) => until(() => tab.evaluate(`!!window.plumbline?.explorer && !${EXPLORER}.busy`), "the explorer to come to rest");

async function change(tab, name, value) {
  await tab.evaluate(`(() => {
    const field = document.querySelector('[data-name="${name}"]');
    field.value = ${JSON.stringify(value)};
    field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  })()`);
  await settled(tab);
}

const text = (tab, selector) => tab.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ""`);
const press = async (tab, words) => {
  await tab.evaluate(`[...document.querySelectorAll("button")].find((one) => one.textContent === ${JSON.stringify(words)}).click()`);
  await settled(tab);
};

/** Drops files of this machine on the page, `[name, bytes]` each, as a reader would. */
async function drop(tab, files) {
  const packed = files.map(([name, bytes]) => [name, Buffer.from(bytes).toString("base64")]);
  await tab.evaluate(`(() => {
    const data = new DataTransfer();
    for (const [name, text] of ${JSON.stringify(packed)}) data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
    ${EXPLORER}.dropped = false;
    dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
  })()`);
  await until(() => tab.evaluate(`${EXPLORER}.dropped`), "the files to be read");
  await settled(tab);
}

/** Asks the question of the view that is shown; its words. */
async function answerOf(tab, name) {
  await tab.evaluate(`${EXPLORER}.questions.find(({ asked }) => asked.ask === "${name}").search()`);
  return tab.evaluate(`${EXPLORER}.questions.find(({ asked }) => asked.ask === "${name}").element.querySelector("pre").innerText`);
}

const firstRun = (tab, what) => tab.evaluate(`plumbline.sections[0].section.runs[0].${what}`);

const tests = {
  "the first drawing, and the command that gives the same": async (open) => {
    const tab = await open("");
    assert.equal(await tab.evaluate("plumbline.sections.length"), 1);
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"), 33e6); // (m + p - 1)(F + B)
    assert.match(await text(tab, ".command"), /plumbline simulate 1f1b --cost F=1,B=2,I=1,W=1 --devices 4 --microbatches 8/);
  },

  "a change is simulated and drawn at once, with zoom and device kept": async (open) => {
    const tab = await open("");
    await tab.evaluate("plumbline.sections[0].timeline.setRange({ from: 5e6, to: 12e6 })");
    await change(tab, "microbatches", "9");
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"), 36e6);
    assert.deepEqual(await tab.evaluate("plumbline.sections[0].timeline.range"), { from: 5e6, to: 12e6 });
    await change(tab, "comm", "0.5");
    assert.ok((await tab.evaluate("plumbline.sections[0].section.runs[0].makespan")) > 36e6);
    await tab.evaluate(`${EXPLORER}.open({ model: "network", schedule: "1f1b", cluster: "h100", devices: "8" })`);
    await settled(tab);
    await tab.evaluate("plumbline.sections[0].choose(5, 0)");
    await change(tab, "microbatches", "12");
    assert.equal(await tab.evaluate("plumbline.sections[0].chosenDevice"), 5);
  },

  "options come from the catalogue": async (open) => {
    const tab = await open("schedule=gpipe");
    const before = await tab.evaluate("JSON.stringify(plumbline.page.sections[0].runs[0].rows[0].microbatch)");
    await change(tab, "opt.order", "fifo");
    assert.notEqual(await tab.evaluate("JSON.stringify(plumbline.page.sections[0].runs[0].rows[0].microbatch)"), before);
    assert.match(await tab.evaluate("location.hash"), /opt\.order=fifo/);
  },

  "two schedules stand side by side on one time axis": async (open) => {
    const tab = await open("schedule=zb-h1&against=1f1b");
    assert.equal(await tab.evaluate("plumbline.sections.length"), 2);
    assert.equal(await tab.evaluate("new Set(plumbline.sections.map((one) => one.timeline.limit)).size"), 1);
  },

  "overlapped pairs and replicas are explained": async (open) => {
    const tab = await open("schedule=dualpipe&microbatches=8");
    const legend = await text(tab, ".legend");
    for (const words of ["two actions at once", "1:3F4: forward of microbatch 4 in stage 3 of replica 1"]) assert.ok(legend.includes(words), legend);
    assert.match(await text(tab, ".critical"), /forward and backward at once \(F\+B\)/);
    const plain = await open("schedule=1f1b");
    assert.ok(!(await text(plain, ".legend")).includes("at once"));
  },

  "a refusal has the program's words and keeps the last drawing": async (open) => {
    const tab = await open("schedule=dualpipe&microbatches=8");
    const drawn = await tab.evaluate("plumbline.sections[0].section.runs[0].makespan");
    await change(tab, "microbatches", "7");
    assert.match(await text(tab, ".message"), /dualpipe: .*must be even/);
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"), drawn);
    await change(tab, "microbatches", "10");
    assert.equal(await text(tab, ".message"), "");
  },

  "a limit of stashes is a line in the curve, and what does not fit is told": async (open) => {
    const tab = await open("memory-limit=2");
    assert.match(await text(tab, ".message.excess"), /device 0: does not fit: the peak of 4 stash units is 2 above the limit of 2/);
    assert.match(await text(tab, "p.excess:not(.message)"), /Does not fit in memory: device 0 needs 4 stashes, 2 stashes above its 2 stashes; 2 of 4 devices/);
    assert.equal(await tab.evaluate("document.querySelector('.runs').classList.contains('old')"), false);
    assert.match(await text(tab, ".memory .legend"), /limit: 2 stashes/);
    const onLine = `(() => {
      const { chart } = plumbline.sections[0].memory;
      const y = Math.round(chart.valToPos(2, "y", true));
      const { left, width } = chart.bbox;
      return [...chart.ctx.getImageData(left + width - 3, y, 1, 1).data].join();
    })()`;
    assert.equal(await tab.evaluate(onLine), "179,38,30,255"); // --bad
    await change(tab, "memory-limit", "4");
    assert.equal(await text(tab, ".message"), "");
    assert.equal(await tab.evaluate("document.querySelector('p.excess:not(.message)')"), null);
  },

  "a limit of stashes counts what is left on 1/p of the model, whatever the number of stages": async (open) => {
    const tab = await open("schedule=zb-v&memory-limit=4");
    assert.equal(await text(tab, ".message"), ""); // 8 stashes of half a device's share
    assert.match(await text(tab, ".peaks"), /4 stashes/);
    assert.match(await text(tab, ".summary"), /peak stashes[\s\S]*\b4\b/i);
    await change(tab, "memory-limit", "3.5");
    assert.match(await text(tab, ".message"), /4 stashes of 1\/p of the model is 0\.5 above/);
  },

  "a limit in bytes is told, too": async (open) => {
    const tab = await open("model=network&network=gpt3-13b&cluster=a100&devices=4&memory-limit=20GiB");
    assert.match(await text(tab, ".message.excess"), /device 0: .*does not fit/);
    assert.ok((await firstRun(tab, "devices[0].need.limit")) === 20 * 2 ** 30);
  },

  "after a trap the next change has a new simulator": async (open) => {
    const tab = await open("");
    const answer = await tab.evaluate(`${EXPLORER}.simulator.ask({}, { crash: true })`);
    assert.equal(answer.status, 2);
    assert.match(answer.trap, /out of bounds/);
    await change(tab, "microbatches", "5");
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"), 24e6);
  },

  "more than the memory of a page is refused, and the page goes on": async (open) => {
    const tab = await open("");
    const answer = await tab.evaluate(`${EXPLORER}.side.ask({ ask: "simulate", schedule: "gpipe", devices: 1024, microbatches: 100000, want: ["page"] })`);
    assert.ok(answer.error, "refused");
    await change(tab, "devices", "5");
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].devices.length"), 5);
  },

  "the whole catalogue is a plot whose points open schedules": async (open) => {
    const tab = await open("view=catalogue&devices=8&microbatches=16");
    assert.ok((await tab.evaluate("document.querySelectorAll('.catalogue .point').length")) >= 60);
    const front = await tab.evaluate("[...document.querySelectorAll('.catalogue .on-front title')].map((one) => one.textContent.split(':')[0])");
    assert.ok(front.includes("zb-v") && !front.includes("gpipe") && !front.includes("pipeedge"), front.join());
    await tab.evaluate("[...document.querySelectorAll('.catalogue .point')].find((one) => one.textContent.startsWith('zb-h2:')).dispatchEvent(new MouseEvent('click', { bubbles: true }))");
    await settled(tab);
    assert.equal(await tab.evaluate("plumbline.sections[0].section.heading"), "zb-h2");
    assert.match(await tab.evaluate("location.hash"), /schedule=zb-h2/);
    await tab.evaluate(`${EXPLORER}.open({ view: "catalogue" })`);
    await tab.evaluate("[...document.querySelectorAll('.plain-table button')].find((one) => one.textContent === 'weipipe').click()");
    await settled(tab);
    assert.equal(await tab.evaluate("plumbline.sections[0].section.heading"), "weipipe");
  },

  "the editor tells findings at their lines, and runs what is right": async (open) => {
    const tab = await open("view=own");
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0\\nd1: 1B0 1F0\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /line 2.*1B0: runs before 1F0/);
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0\\nd1: 1F0 1Q0\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /line 2/);
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0Q0 0B\\nd1: 1B0 1F0\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /line 1 .*'0Q0'[\s\S]*line 1 .*'0B'[\s\S]*line 2 .*1B0: runs before 1F0/); // all typos, and the order of the rest
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0\\nd1: 1F0 1B0\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /valid/);
    await press(tab, "simulate it");
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"), 6e6);
  },

  "a deadlock is told with its cycle": async (open) => {
    const tab = await open("view=own");
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0 0F1 0B1\\nd1: 1F1 1F0 1B0 1B1\\n", "own.txt")`);
    const words = await text(tab, ".findings");
    assert.match(words, /deadlock/);
    for (const action of ["0B0", "1B0", "1F1", "0F1"]) assert.ok(words.includes(action), words); // each waits for the next, the last for the first
    assert.match(words, /line \d/);
  },

  "a built-in schedule is text to start from": async (open) => {
    const tab = await open("view=own&schedule=zb-v&devices=2&microbatches=2");
    await press(tab, "start from the chosen schedule");
    await until(() => tab.evaluate(`/valid/.test(document.querySelector(".findings").innerText)`), "the text to be checked");
  },

  "dropped files are taken for what they are": async (open) => {
    const tab = await open("");
    await drop(tab, [["mine.txt", "d0: 0F0 0B0\nd1: 1F0 1B0\n"]]);
    assert.equal(await tab.evaluate(`${EXPLORER}.state.schedule`), "own");
    await drop(tab, [["what.json", "{}"]]);
    assert.match(await text(tab, ".message"), /what\.json: expected a schedule/);
    const cluster = readFileSync(join(SOURCE, "tools/examples/a100_v100.json"));
    await drop(tab, [["mine.json", cluster]]);
    assert.equal(await tab.evaluate(`${EXPLORER}.state.cluster`), "mine.json");
    // A config.json as Hugging Face has it, of GPT-2 small.
    const config = { architectures: ["GPT2LMHeadModel"], model_type: "gpt2", n_embd: 768, n_head: 12, n_layer: 12, n_positions: 1024, vocab_size: 50257 };
    await tab.evaluate(`${EXPLORER}.open({ schedule: "1f1b", devices: "4", view: "timeline" })`);
    await drop(tab, [["config.json", JSON.stringify(config)]]);
    assert.equal(await tab.evaluate(`${EXPLORER}.state.network`), "config.json");
    assert.equal(await text(tab, ".message"), "");
    assert.match(await text(tab, ".facts"), /config/);
    await drop(tab, [["smallest.json", readFileSync(join(SOURCE, "tests/fuzz/corpus/profile_json/smallest.json"))]]);
    assert.deepEqual(await tab.evaluate(`[${EXPLORER}.state.model, ${EXPLORER}.state.profile]`), ["profile", "smallest.json"]);
  },

  "packed traces of a real run are its costs, and the run is shown beside its prediction": async (open) => {
    const tab = await open("");
    await drop(tab, [0, 1, 2, 3].map((rank) => [`rank${rank}.json.gz`, readFileSync(join(TRACES, `rank${rank}.json.gz`))]));
    assert.equal(await text(tab, ".message"), "");
    assert.deepEqual(await tab.evaluate("plumbline.sections.map(({ section }) => section.runs[0].kind)"), ["simulated", "measured"]);
    assert.equal(await firstRun(tab, "schedule"), "zb-h1");
    const steps = await tab.evaluate("plumbline.sections.map(({ section }) => section.runs[0].stepTime / 1e6)");
    assert.deepEqual(steps.map((ms) => ms.toFixed(1)), ["299.5", "305.5"]); // as `plumbline trace` and `simulate --profile` print them
    await change(tab, "schedule", "1f1b");
    assert.equal(await firstRun(tab, "schedule"), "1f1b");
    await drop(tab, [["rank0.json.gz", readFileSync(join(TRACES, "rank0.json.gz")).subarray(0, 2000)]]);
    assert.match(await text(tab, ".message.refusal"), /rank0\.json\.gz: cannot be read/);
  },

  "the address holds the state": async (open) => {
    const tab = await open("");
    await tab.evaluate(`${EXPLORER}.open({ schedule: "interleaved", chunks: "3", devices: "4", microbatches: "12", against: "1f1b" })`);
    await settled(tab);
    await tab.evaluate("plumbline.sections[0].timeline.setRange({ from: 4e6, to: 9e6 }), plumbline.sections[0].choose(2, 0)");
    await until(() => tab.evaluate("/zoom=4000000-9000000/.test(location.hash) && /device=2/.test(location.hash)"), "the address to follow");
    const hash = await tab.evaluate("location.hash.slice(1)");
    const again = await open(hash);
    assert.equal(await again.evaluate("plumbline.sections[0].section.heading"), "interleaved");
    assert.equal(await again.evaluate("plumbline.sections[0].section.runs[0].makespan"), await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"));
    assert.deepEqual(await again.evaluate("plumbline.sections[0].timeline.range"), { from: 4e6, to: 9e6 });
    assert.equal(await again.evaluate("plumbline.sections[0].chosenDevice"), 2);
    await again.evaluate("location.hash = 'schedule=gpipe'");
    await until(() => again.evaluate("plumbline.sections[0]?.section.heading === 'gpipe'"), "the new address to be drawn");
    assert.equal(await again.evaluate("plumbline.sections[0].timeline.range.from"), 0);
  },

  "the address holds the fields of a plan": async (open) => {
    const tab = await open("view=plan");
    await change(tab, "plan.cluster", "a100-1x2");
    await change(tab, "plan.batch", "4");
    const again = await open(await tab.evaluate("location.hash.slice(1)"));
    assert.deepEqual(await again.evaluate(`["cluster", "batch"].map((name) => document.querySelector('[data-name="plan.' + name + '"]').value)`), ["a100-1x2", "4"]);
  },

  "a link to a step of the tour opens that step": async (open) => {
    const tab = await open("tour=5");
    assert.match(await text(tab, ".tour"), /^5 of 8: Zero bubble/);
    assert.equal(await firstRun(tab, "schedule"), "zb-h1");
    assert.equal(await tab.evaluate("location.hash"), "#tour=5");
    await change(tab, "microbatches", "12");
    assert.equal(await tab.evaluate("location.hash"), "#microbatches=12&tour=5");
  },

  "the tour has eight steps with the figures of their runs": async (open) => {
    const tab = await open("");
    await press(tab, "tour");
    for (let step = 1; step <= 8; step += 1) {
      const words = await text(tab, ".tour");
      assert.ok(words.startsWith(`${step} of 8:`) && !words.includes("…"), words);
      assert.equal(await text(tab, ".message"), "");
      if (step === 1) assert.match(words, /42\.9 %/); // (p - 1)/(m + p - 1) = 3/7
      if (step === 2) assert.match(words, /15\.8 %/); // 3/19
      if (step < 8) await press(tab, "next");
    }
    await press(tab, "end the tour");
    assert.equal(await tab.evaluate("document.querySelector('.tour').hidden"), true);
  },

  "everything can be taken away": async (open) => {
    const tab = await open("schedule=zb-h1");
    for (const [part, begin] of [["svg", "<svg"], ["html", "<!doctype html"], ["csv", "device"], ["tikz", "%"], ["pdf", "%PDF-1.4"]]) {
      const got = await tab.evaluate(`${EXPLORER}.exports.ask?.(${JSON.stringify(part)}) ?? null`);
      assert.ok(String(got[part]).slice(0, 400).includes(begin), `${part}: ${String(got[part]).slice(0, 60)}`);
    }
    const timeline = await tab.evaluate(`${EXPLORER}.exports.ask("timeline")`);
    assert.equal(timeline.timeline.format, "plumbline-timeline");
  },

  "a plan is searched in the page, and its schedule can be shown": async (open) => {
    const tab = await open("view=plan&plan.network=gpt2-small&plan.cluster=a100-1x2");
    await change(tab, "plan.batch", "4");
    assert.match(await answerOf(tab, "plan"), /step time/);
    await press(tab, "show its schedule");
    assert.equal(await tab.evaluate(`${EXPLORER}.state.schedule`), "own");
  },

  "the best order for the controls' costs and memory is found, and stands beside the chosen schedule": async (open) => {
    const tab = await open("view=search&devices=4&microbatches=6&B=2&memory-limit=3&search.simulations=100");
    const words = await answerOf(tab, "search");
    const promised = /makespan +([\d.]+)/.exec(words);
    assert.ok(promised, words);
    await press(tab, "show its schedule");
    assert.deepEqual(await tab.evaluate("plumbline.sections.length"), 2);
    assert.equal((await firstRun(tab, "makespan")) / 1e6, Number(promised[1]));
    await change(tab, "against", "");
    await tab.evaluate(`${EXPLORER}.open({ view: "search", "memory-limit": "0.25" })`);
    assert.match(await answerOf(tab, "search"), /no order|fits/);
  },

  "a job is played while nodes fail, with its page": async (open) => {
    const tab = await open("view=campaign&campaign.trace=bamboo-p3&campaign.layouts=bamboo-gpt2");
    assert.match(await answerOf(tab, "campaign"), /swarm[\s\S]*where the time went/);
    await until(() => tab.evaluate("document.querySelector('iframe').contentDocument?.querySelectorAll('canvas').length > 0"), "the diagrams of the answer");
    assert.match(await text(tab, ".answer ~ .command, .command"), /plumbline/);
    const random = await open("view=campaign&campaign.network=gpt2-small&campaign.cluster=v100-8x1&microbatches=16&campaign.hours=2");
    assert.match(await answerOf(random, "campaign"), /1f1b of gpt2-small on v100-8x1, 16 microbatches a step\n8 nodes that fail after 24 h/);
  },

  "every option of the command has a field, and is part of the address and the printed command": async (open) => {
    const tab = await open("model=network&network=gpt2-small&cluster=a100&devices=2");
    const systems = (name) => tab.evaluate(`[...document.querySelector('[data-name="${name}"]').options].map((one) => one.value).join()`);
    assert.match(await systems("runtime"), /^,pytorch,pytorch-deferred,.*torchtitan,.*megatron.*,deepspeed$/);
    assert.match(await systems("plan.runtime"), /^,megatron,pytorch,torchtitan,deepspeed$/);
    const before = await firstRun(tab, "makespan");
    await change(tab, "more.precision", "single");
    assert.notEqual(await firstRun(tab, "makespan"), before);
    assert.match(await tab.evaluate("location.hash"), /more\.precision=single/);
    assert.match(await text(tab, ".export .command"), /--precision single/);
    await change(tab, "more.precision", "");
    await tab.evaluate(`document.querySelector('[data-name="more.no-flash-attention"]').click()`);
    await settled(tab);
    assert.match(await text(tab, ".export .command"), /--no-flash-attention/);
  },

  "costs are those of a p-th of the model in every schedule, and extra work that is free is told": async (open) => {
    const tab = await open("schedule=weipipe&against=1f1b");
    assert.deepEqual(await tab.evaluate("plumbline.sections.map(({ section }) => section.runs[0].makespan)"), [33e6, 33e6]); // (m + p - 1)(F + B)
    await change(tab, "schedule", "tspipe");
    await change(tab, "microbatches", "12");
    assert.match(await text(tab, ".runs .about"), /^tspipe: the extra work X takes no time/);
    await change(tab, "other", "X=1");
    assert.equal(await text(tab, ".runs .about"), "");
  },

  "a link inside the page leaves what is shown": async (open) => {
    const tab = await open("schedule=zb-h1");
    await tab.evaluate("document.querySelector('.summary a').click()");
    await until(() => tab.evaluate("location.hash === '#schedule=zb-h1'"), "the address to be restored");
    assert.equal(await tab.evaluate("plumbline.sections[0].section.heading"), "zb-h1");
  },

  "pictures are taken away with a width and a caption": async (open) => {
    const tab = await open("schedule=1f1b");
    await tab.evaluate(`Object.assign(${EXPLORER}.exports.width, { value: "8.5" }), ${EXPLORER}.exports.caption.value = "One & two"`);
    const { svg, error } = await tab.evaluate(`${EXPLORER}.exports.ask("svg")`);
    assert.equal(error, undefined);
    assert.match(svg, /width="8.5cm"/);
    assert.match(svg, /One &amp; two/);
  },

  "every view fits into 600 px, light and dark": async (open) => {
    for (const view of ["timeline", "catalogue", "own", "search", "plan", "campaign"]) {
      for (const dark of [false, true]) {
        const tab = await open(`view=${view}&schedule=zb-v`, { width: 600, dark });
        if (view === "own") await press(tab, "start from the chosen schedule");
        assert.ok((await tab.evaluate("document.documentElement.scrollWidth")) <= 600, view);
        const [back, front] = await tab.evaluate(`(() => {
          const brightness = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
          const style = getComputedStyle(document.body);
          return [brightness(style.backgroundColor), brightness(style.color)];
        })()`);
        assert.ok(dark ? back < 0.25 && front > 0.7 : back > 0.8 && front < 0.35, `${view}: ${back}, ${front}`);
        if (view === "catalogue") assert.notEqual(await tab.evaluate("getComputedStyle(document.querySelector('.catalogue text')).fill"), dark ? "rgb(0, 0, 0)" : "");
      }
    }
  },

  "the page is usable by keyboard, 600 px wide": async (open) => {
    const tab = await open("schedule=zb-h1", { width: 600 });
    assert.equal(await tab.evaluate("document.documentElement.scrollWidth <= 600"), true);
    await tab.evaluate(`document.querySelector('[data-name="microbatches"]').focus()`);
    await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key: "ArrowUp", code: "ArrowUp", windowsVirtualKeyCode: 38 });
    await tab.frame();
    await settled(tab);
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].microbatches"), 9);
    assert.equal(await tab.evaluate("document.activeElement.dataset.name"), "microbatches");
  },
};

const chromium = findChromium();
if (!chromium || !existsSync(page)) {
  console.log(`skipped: ${chromium ? `${page} is missing (./plumbline web makes it)` : "no Chromium found"}`);
  process.exit(77);
}
const browser = new Browser(chromium);
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  const tabs = [];
  try {
    await test(async (hash, more = {}) => {
      const tab = await browser.tab();
      tabs.push(tab);
      await tab.open(`${pathToFileURL(page)}#${hash}`, more);
      await settled(tab);
      return tab;
    });
    for (const tab of tabs) assert.deepEqual(tab.problems, []);
    console.log(`ok: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED: ${name}\n${error.message.slice(0, 900)}\n${JSON.stringify(tabs.flatMap((tab) => tab.problems)).slice(0, 400)}`);
  }
}
await browser.close();
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
