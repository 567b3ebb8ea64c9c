// Uses the explorer in a headless Firefox: the first drawing, a change, a trap and the recovery from it, packed files.
//   node firefox_test.mjs explorer.html
// Exit status 77: skipped, with the reason on standard output. What only one browser needs to show is in explorer_test.mjs.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { until } from "../browser/browser.mjs";
import { Firefox, findFirefox } from "../browser/firefox.mjs";

const page = resolve(process.argv[2]);
const TRACES = resolve(dirname(fileURLToPath(import.meta.url)), "../sim/traces/data/zb-h1");
const EXPLORER = "plumbline.explorer";
const MAKESPAN = "plumbline.sections[0].section.runs[0].makespan";

const settled = (tab) => until(() => tab.evaluate(`!!window.plumbline?.explorer && !${EXPLORER}.busy`), "the explorer to come to rest");

async function change(tab, name, value) {
  await tab.evaluate(`(() => {
    const field = document.querySelector('[data-name="${name}"]');
    field.value = ${JSON.stringify(value)};
    for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
  })()`);
  await settled(tab);
}

/** The canvas of the timeline has something on it. */
const isPainted = (tab) => tab.evaluate(`(() => {
  const { canvas } = plumbline.sections[0].timeline;
  return new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size > 5;
})()`);

/** The swatch of that entry of the legend is light and dark in turns. The page may move between its picture and its layout's
 *  answer while it is still being put together: then this is false, and can be asked again. */
async function isHatched(tab, entry) {
  const picture = (await tab.screenshot()).toString("base64");
  return tab.evaluate(`(async () => {
    const swatch = [...document.querySelectorAll(".legend li")].find((one) => one.textContent === "${entry}").firstChild;
    const { left, top, width, height } = swatch.getBoundingClientRect();
    const image = new Image();
    image.src = "data:image/png;base64,${picture}";
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d").drawImage(image, -left - scrollX, -top - scrollY);
    const { data } = canvas.getContext("2d").getImageData(2, Math.round(height / 2), width - 4, 1);
    const reds = Array.from({ length: data.length / 4 }, (_, i) => data[4 * i]);
    return Math.max(...reds) - Math.min(...reds) > 60;
  })()`);
}

const tests = {
  "the first drawing": async (tab) => {
    assert.equal(await tab.evaluate(MAKESPAN), 33e6); // (m + p - 1)(F + B)
    await until(() => isPainted(tab), "the timeline to be painted");
    if (process.env.PLUMB_SCREENSHOT) writeFileSync(process.env.PLUMB_SCREENSHOT, await tab.screenshot());
  },

  "idle time is hatched in the legend": async (tab) => {
    await until(() => isHatched(tab, "idle: another device computes"), "the legend to be painted with its hatches");
  },

  "a change is simulated and drawn at once": async (tab) => {
    await change(tab, "microbatches", "9");
    assert.equal(await tab.evaluate(MAKESPAN), 36e6);
    assert.match(await tab.evaluate("location.hash"), /microbatches=9/);
  },

  "after a trap the next change has a new simulator": async (tab) => {
    const answer = await tab.evaluate(`${EXPLORER}.simulator.ask({}, { crash: true })`);
    assert.match(answer.trap, /out of bounds/);
    await change(tab, "microbatches", "5");
    assert.equal(await tab.evaluate(MAKESPAN), 24e6);
  },

  "packed traces of a real run are its costs": async (tab) => {
    const files = [0, 1, 2, 3].map((rank) => [`rank${rank}.json.gz`, readFileSync(join(TRACES, `rank${rank}.json.gz`)).toString("base64")]);
    await tab.evaluate(`${EXPLORER}.takeFiles(${JSON.stringify(files)}.map(([name, text]) => new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name)))`);
    await settled(tab);
    assert.equal(await tab.evaluate("plumbline.sections[1].section.runs[0].kind"), "measured");
  },
};

const path = findFirefox();
if (!path || !existsSync(page)) {
  console.log(`skipped: ${path ? `${page} is missing (./plumbline web makes it)` : "no Firefox found"}`);
  process.exit(77);
}
const firefox = await Firefox.start(path);
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await firefox.open(pathToFileURL(page).href);
    await settled(firefox);
    await test(firefox);
    console.log(`ok: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED: ${name}\n${error.message.slice(0, 900)}`);
  }
}
await firefox.close();
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
