// Uses the explorer in a headless Chromium as a reader would: first drawing, changes, refusals, a trap, the tour.
//   node explorer_test.mjs explorer.html
// Exit status 77: skipped, with the reason on standard output.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { Browser, findChromium, until } from "../browser/browser.mjs";

const page = resolve(process.argv[2]);
const EXPLORER = "plumbline.explorer";

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

const tests = {
  "the first drawing, and the command that gives the same": async (open) => {
    const tab = await open("");
    assert.equal(await tab.evaluate("plumbline.sections.length"), 1);
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"), 33e6); // (m + p - 1)(F + B)
    assert.match(await text(tab, ".command"), /plumbline simulate 1f1b --cost F=1,B=2,I=1,W=1 --devices 4 --microbatches 8 --per-device/);
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
  },

  "the editor tells findings at their lines, and runs what is right": async (open) => {
    const tab = await open("view=own");
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0\\nd1: 1B0 1F0\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /line 2.*1B0: runs before 1F0/);
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0\\nd1: 1F0 1Q0\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /line 2/);
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0\\nd1: 1F0 1B0\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /valid/);
    await press(tab, "simulate it");
    assert.equal(await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"), 6e6);
  },

  "a deadlock is told with its cycle": async (open) => {
    const tab = await open("view=own");
    await tab.evaluate(`${EXPLORER}.editor.fill("d0: 0F0 0B0 0F1 0B1\\nd1: 1F1 1F0 1B0 1B1\\n", "own.txt")`);
    assert.match(await text(tab, ".findings"), /deadlock|waits for|cycle/i);
  },

  "a built-in schedule is text to start from": async (open) => {
    const tab = await open("view=own&schedule=zb-v&devices=2&microbatches=2");
    await press(tab, "start from the chosen schedule");
    await until(() => tab.evaluate(`/valid/.test(document.querySelector(".findings").innerText)`), "the text to be checked");
  },

  "dropped files are taken for what they are": async (open) => {
    const tab = await open("");
    await tab.evaluate(`${EXPLORER}.takeFile("mine.txt", "d0: 0F0 0B0\\nd1: 1F0 1B0\\n")`);
    await settled(tab);
    assert.equal(await tab.evaluate(`${EXPLORER}.state.schedule`), "own");
    await tab.evaluate(`${EXPLORER}.takeFile("what.json", "{}")`);
    assert.match(await text(tab, ".message"), /what\.json: expected a schedule/);
  },

  "the address holds the state": async (open) => {
    const tab = await open("");
    await tab.evaluate(`${EXPLORER}.open({ schedule: "interleaved", chunks: "3", devices: "4", microbatches: "12", against: "1f1b" })`);
    await settled(tab);
    const hash = await tab.evaluate("location.hash.slice(1)");
    const again = await open(hash);
    assert.equal(await again.evaluate("plumbline.sections[0].section.heading"), "interleaved");
    assert.equal(await again.evaluate("plumbline.sections[0].section.runs[0].makespan"), await tab.evaluate("plumbline.sections[0].section.runs[0].makespan"));
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
    const tab = await open("view=plan");
    await tab.evaluate(`Object.assign(${EXPLORER}.plan.network, { value: "gpt2-small" }), ${EXPLORER}.plan.cluster.value = "a100-1x2", ${EXPLORER}.plan.batch.value = 4`);
    await tab.evaluate(`${EXPLORER}.plan.search()`);
    assert.match(await text(tab, "pre.answer"), /step time/);
    await press(tab, "show its schedule");
    assert.equal(await tab.evaluate(`${EXPLORER}.state.schedule`), "own");
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
