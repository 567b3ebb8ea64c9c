// Opens report pages in a headless Chromium and uses them as a reader would.
//   node report_page_test.mjs FOLDER      FOLDER holds what make_pages wrote
// Exit status 77: skipped, with the reason on standard output.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { Browser, findChromium, until } from "./browser.mjs";

const SKIPPED = 77;
const folder = process.argv[2];

/** Names of the views in the page: `plumbline.sections[0].timeline`. */
const VIEW = "plumbline.sections[0].timeline";
const length = `(${VIEW}.range.to - ${VIEW}.range.from)`;

/** Middle of an action's box in the window, given by run, device and text. */
function middleOf(tab, run, device, text) {
  return tab.evaluate(`(() => {
    const view = ${VIEW};
    const track = view.layout.tracks.find((one) => one.r === ${run} && one.device === ${device});
    for (const layer of track.layers) {
      for (let i = 0; i < layer.row.start.length; i += 1) {
        const op = view.page.ops[view.section.runs[${run}].actions[layer.row.action[i]][0]].name;
        const stage = view.section.runs[${run}].actions[layer.row.action[i]][1];
        if (stage + op + layer.row.microbatch[i] !== ${JSON.stringify(text)}) continue;
        const box = view.overlay.getBoundingClientRect();
        const middle = (view.scale.x(layer.row.start[i]) + view.scale.x(layer.row.end[i])) / 2;
        return { x: box.left + middle, y: box.top + layer.top + layer.height / 2 };
      }
    }
    return null;
  })()`);
}

function tipText(tab) {
  return tab.evaluate(`${VIEW}.tip.hidden ? "" : ${VIEW}.tip.innerText`);
}

/** Colour of the canvas under a point of the window, as `r,g,b`. */
function colourAt(tab, { x, y }) {
  return tab.evaluate(`(() => {
    const canvas = ${VIEW}.canvas;
    const box = canvas.getBoundingClientRect();
    return [...canvas.getContext("2d").getImageData(Math.round(${x} - box.left), Math.round(${y} - box.top), 1, 1).data].slice(0, 3).join();
  })()`);
}

/** Texts of the page that are values of the language, not of the report. */
function strayValues(tab) {
  return tab.evaluate(`(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      const text = texts.currentNode.textContent.trim();
      const isCode = texts.currentNode.parentElement.closest("script, style") !== null;
      if (!isCode && ["null", "undefined", "NaN", "[object Object]"].includes(text)) found.push(text);
    }
    return found;
  })()`);
}

const tests = {
  "a page opens without errors and without leaving its file": async (open) => {
    const tab = await open("pairs.html");
    assert.equal(await tab.evaluate("document.title"), "pairs – Plumbline");
    assert.equal(await tab.evaluate("document.querySelectorAll('section').length"), 2);
    assert.equal(await tab.evaluate("document.querySelectorAll('.summary tbody tr').length"), 3);
  },

  "an action is painted in the colour of its op": async (open) => {
    const tab = await open("pairs.html");
    const place = await middleOf(tab, 0, 0, "0B0");
    const wanted = await tab.evaluate("plumbline.page.ops[1].colour");
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
    assert.equal(await colourAt(tab, { x: place.x - 18, y: place.y }), `${r},${g},${b}`);
  },

  "hovering an action says what it is, how long it takes and what it waited for": async (open) => {
    const tab = await open("pairs.html");
    const { x, y } = await middleOf(tab, 0, 1, "1B3");
    await tab.mouse("mouseMoved", x, y);
    const text = await tipText(tab);
    for (const part of ["1B3", "backward", "stage 1", "microbatch 3", "device 1", "2 ms", "18.8 ms", "20.8 ms", "another device computes (2B3 on device 2)", "measured"]) {
      assert.ok(text.includes(part), `'${part}' in: ${text}`);
    }
  },

  "hovering a gap names its cause and the action that ends it": async (open) => {
    const tab = await open("pairs.html");
    const { x, y } = await middleOf(tab, 0, 0, "0B0");
    await tab.mouse("mouseMoved", x - 120, y);
    const text = await tipText(tab);
    for (const part of ["idle", "another device computes", "until", "0B0", "1B0 on device 1"]) assert.ok(text.includes(part), `'${part}' in: ${text}`);
    await tab.mouse("mouseMoved", x, 5);
    assert.equal(await tipText(tab), "");
  },

  "the wheel zooms around the pointer, dragging moves, 'fit' shows everything again": async (open) => {
    const tab = await open("pairs.html");
    const whole = await tab.evaluate(length);
    const { x, y } = await middleOf(tab, 0, 2, "2B4");
    await tab.mouse("mouseMoved", x, y);
    await tab.mouse("mouseWheel", x, y, { deltaX: 0, deltaY: -600 });
    await until(async () => (await tab.evaluate(length)) < whole / 2, "the wheel to zoom");
    await tab.frame();
    assert.ok(Math.abs((await middleOf(tab, 0, 2, "2B4")).x - x) < 40, "the action under the pointer stays there");
    assert.ok((await tipText(tab)).includes("2B4"));
    const before = await tab.evaluate(`${VIEW}.range.from`);
    await tab.drag(x, x - 200, y);
    assert.ok((await tab.evaluate(`${VIEW}.range.from`)) > before);
    await tab.evaluate("[...document.querySelectorAll('button')].find((button) => button.textContent === 'fit').click()");
    assert.equal(await tab.evaluate(length), whole);
  },

  "a page that scrolls past a timeline keeps scrolling": async (open) => {
    const tab = await open("pairs.html", { height: 500 });
    const whole = await tab.evaluate(length);
    const { x } = await middleOf(tab, 0, 0, "0B0");
    await tab.mouse("mouseMoved", x, 60);
    for (let k = 0; k < 4; k += 1) await tab.mouse("mouseWheel", x, 60, { deltaX: 0, deltaY: 150 });
    await until(async () => (await tab.evaluate("scrollY")) > 300, "the page to scroll");
    assert.equal(await tab.evaluate(length), whole);
  },

  "the memory curve follows the timeline's range": async (open) => {
    const tab = await open("pairs.html");
    await tab.evaluate(`${VIEW}.setRange({ from: 5e6, to: 15e6 })`);
    await tab.frame();
    assert.deepEqual(await tab.evaluate("(({ min, max }) => [min, max])(plumbline.sections[0].memory.chart.scales.x)"), [5e6, 15e6]);
  },

  "choosing a device shows its memory and what is alive at its peak": async (open) => {
    const tab = await open("pairs.html");
    await tab.evaluate("document.querySelectorAll('.peaks tr')[5].click()");
    assert.equal(await tab.evaluate("document.querySelector('section .card:nth-of-type(2) h3').textContent"), "Memory of device 2, measured");
    assert.ok(await tab.evaluate("document.querySelector('.composition').innerText.includes('layer0.mlp.in')"));
  },

  "steps of a run are shown one by one or below each other, measured above predicted": async (open) => {
    const tab = await open("steps.html");
    const hidden = "[...document.querySelectorAll('section')].map((section) => section.hidden)";
    assert.deepEqual(await tab.evaluate(hidden), [true, false]);
    assert.deepEqual(await tab.evaluate("plumbline.sections[1].timeline.layout.tracks.slice(0, 2).map((track) => track.r)"), [1, 0]);
    const press = (text) => tab.evaluate(`[...document.querySelectorAll('button')].find((button) => button.textContent === ${JSON.stringify(text)}).click()`);
    await press("step 0");
    await tab.frame();
    assert.deepEqual(await tab.evaluate(hidden), [false, true]);
    assert.equal(await tab.evaluate(`${VIEW}.layout.tracks.length`), 8);
    await press("all");
    assert.deepEqual(await tab.evaluate(hidden), [false, false]);
  },

  "the adviser's list says what each schedule saves, how sure that is, and how to have the fastest": async (open) => {
    const tab = await open("steps.html");
    const text = await tab.evaluate("document.querySelector('.card').innerText");
    for (const part of ["zb-h1 would save 12.5 % of a step.", "35 ms", "33 ms – 37 ms", "+12.5 %", "tie", "this run", "plumbline schedule zb-h1", "Messages keep their size."]) {
      assert.ok(text.includes(part), `'${part}' in: ${text}`);
    }
    const [interval, step] = await tab.evaluate(`[...document.querySelectorAll('.advice tbody tr:first-child i')].map((bar) => bar.getBoundingClientRect()).map(({ left, right }) => [left, right])`);
    assert.ok(interval[0] < step[0] && step[1] < interval[1], "the step lies in its interval");
  },

  "one of two runs can be shown alone": async (open) => {
    const tab = await open("pairs.html");
    assert.equal(await tab.evaluate(`${VIEW}.layout.tracks.length`), 8);
    await tab.evaluate("[...document.querySelectorAll('button')].find((button) => button.textContent === 'measured').click()");
    await tab.frame();
    assert.deepEqual(await tab.evaluate(`${VIEW}.layout.tracks.map((track) => track.r)`), [1, 1, 1, 1]);
  },

  "clicking an action marks the path of its microbatch until it is clicked again": async (open) => {
    const tab = await open("pairs.html");
    const { x, y } = await middleOf(tab, 0, 1, "1B3");
    await tab.click(x, y);
    assert.equal(await tab.evaluate(`${VIEW}.chosen.row.microbatch[${VIEW}.chosen.i]`), 3);
    await tab.click(x, y);
    assert.equal(await tab.evaluate(`${VIEW}.chosen`), null);
  },

  "the keyboard walks over the actions and tells screen readers": async (open) => {
    const tab = await open("pairs.html");
    await tab.evaluate(`${VIEW}.overlay.focus()`);
    for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "+"]) await tab.key(key);
    const said = await tab.evaluate(`${VIEW}.live.textContent`);
    assert.match(said, /^\s*\d+[FB]\d+ (forward|backward)/);
    assert.ok((await tab.evaluate(length)) < (await tab.evaluate(`${VIEW}.limit`)));
  },

  "the comparison names the actions that are furthest apart and shows them": async (open) => {
    const tab = await open("pairs.html");
    const text = await tab.evaluate("document.querySelector('.comparison').innerText");
    assert.match(text, /step time 36\.7 ms simulated, .* measured: −/);
    const action = await tab.evaluate("(() => { const link = document.querySelector('.comparison .link'); link.click(); return link.textContent; })()");
    assert.ok((await tab.evaluate(`${VIEW}.live.textContent`)).includes(action));
  },

  "the dark theme repaints the timeline": async (open) => {
    const tab = await open("pairs.html");
    const place = await middleOf(tab, 0, 0, "0B0");
    const lane = { x: place.x - 60, y: place.y };
    const light = await colourAt(tab, lane);
    await tab.evaluate("[...document.querySelectorAll('button')].find((button) => button.textContent === 'dark').click()");
    await tab.frame();
    assert.notEqual(await colourAt(tab, lane), light);
    const page = await tab.evaluate("getComputedStyle(document.body).backgroundColor");
    assert.ok(page.match(/\d+/g).slice(0, 3).every((value) => Number(value) < 60), page);
  },

  "two hundred thousand spans are painted, and a zoomed-in action can be read": async (open) => {
    const tab = await open("large.html");
    assert.ok((await tab.evaluate("plumbline.page.sections[0].runs[0].spanCount")) > 200_000);
    const lane = await tab.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--lane')");
    assert.notEqual(await colourAt(tab, await middleOf(tab, 0, 30, "30B400")), lane);
    await tab.evaluate("plumbline.sections[0].timeline.showAction(30, '30B400')");
    await tab.frame();
    const { x, y } = await middleOf(tab, 0, 30, "30B400");
    await tab.mouse("mouseMoved", x, y);
    assert.ok((await tipText(tab)).includes("30B400"));
  },

  "names with markup stay text, and runs without spans show their figures": async (open) => {
    const tab = await open("hostile.html");
    assert.equal(await tab.evaluate("window.wasRun"), undefined);
    assert.ok(await tab.evaluate("document.querySelector('h1').textContent.startsWith('</script><script>')"));
    assert.ok(await tab.evaluate("document.querySelectorAll('section')[1].innerText.includes('only figures are shown')"));
  },

  "one device and one microbatch are not plural": async (open) => {
    const tab = await open("hostile.html");
    const facts = await tab.evaluate("document.querySelector('section .facts').textContent");
    assert.ok(facts.startsWith("1 device · 1 microbatch · "), facts);
  },

  "a page of diagrams draws its lines, and a click hides one or shows another diagram": async (open) => {
    const tab = await open("plots.html");
    const drawn = () => tab.evaluate("plumbline.cards[0].view.chart.series.filter((line) => line.named).map((line) => line.label).join()");
    assert.equal(await drawn(), "one,two");
    assert.equal(await tab.evaluate("plumbline.cards[0].view.line(plumbline.cards[0].view.plot.series[0]).stroke"), "#3f7ddb");
    assert.equal(await tab.evaluate("document.querySelectorAll('.plain-table tbody tr').length"), 1);
    await tab.evaluate("document.querySelector('.series button').click()");
    assert.equal(await drawn(), "two");
    await tab.evaluate("document.querySelectorAll('.card-head .choice button')[1].click()");
    assert.equal(await drawn(), "dots");
    assert.equal(await tab.evaluate("plumbline.cards[0].view.line(plumbline.cards[0].view.plot.series[0]).stroke"), "transparent");
    assert.equal(await tab.evaluate("document.querySelectorAll('.u-over').length"), 1);
  },

  "the waterfall leads from the first run's step time to the second one's, and its parts have numbers": async (open) => {
    const tab = await open("pairs.html");
    const { split, rows, marks, ends } = await tab.evaluate(`(() => {
      const table = document.querySelector("table.split");
      const box = (one) => one.getBoundingClientRect();
      const bars = [...table.querySelectorAll("tbody .fall i")].map(box);
      const marks = [...table.querySelectorAll("tbody tr:first-child .fall b")].map((mark) => box(mark).left);
      return { split: plumbline.page.sections[0].comparison.split, marks,
        rows: [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td.number")].map((cell) => cell.textContent)),
        ends: [bars[0], bars.at(-1)].map(({ left, right }) => [left, right]) };
    })()`);
    assert.equal(split.predicted_ns - split.measured_ns, split.parts.reduce((sum, part) => sum + part.model_ns + part.noise_ns, 0));
    assert.equal(rows.length, split.parts.length);
    for (const row of rows) for (const text of row) assert.match(text, /^[+−±][\d.]+ (ns|µs|ms|s|%)$/);
    assert.ok(ends[0].some((edge) => Math.abs(edge - marks[0]) < 3), "the first bar begins at the first run");
    assert.ok(ends[1].some((edge) => Math.abs(edge - marks[1]) < 3), "the last bar ends at the second run");
  },

  "a dot of a sweep's diagram opens its timeline": async (open) => {
    const tab = await open("sweep.html", { height: 700 });
    const place = await tab.evaluate(`(() => {
      const dot = [...document.querySelector(".diagram").shadowRoot.querySelectorAll("a")].find((one) => one.textContent.startsWith("zb-v"));
      dot.scrollIntoView({ block: "center" });
      const { left, top, width, height } = dot.querySelector("circle").getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    })()`);
    const before = await tab.evaluate("scrollY");
    await tab.click(place.x, place.y);
    await until(() => tab.evaluate("location.hash.startsWith('#section-')"), "the click to lead to a section");
    const heading = await tab.evaluate("document.getElementById(location.hash.slice(1)).querySelector('h2').textContent");
    assert.match(heading, /^zb-v/);
    assert.notEqual(await tab.evaluate("scrollY"), before);
  },

  "memory is counted in one unit: the peak table and the summary agree for schedules with several chunks": async (open) => {
    const tab = await open("sweep.html");
    const row = (name) => tab.evaluate(`(() => {
      const section = plumbline.sections.find((one) => one.section.heading.startsWith("${name}"));
      const k = [...document.querySelectorAll(".summary thead th")].findIndex((head) => head.textContent.startsWith("peak stashes"));
      const summary = [...document.querySelectorAll(".summary tbody tr")].find((one) => one.textContent.startsWith("${name}"));
      return [summary.cells[k].dataset.value, section.element.querySelector(".peaks tr .number").textContent];
    })()`);
    assert.deepEqual(await row("zb-v"), ["4", "4 stashes"]); // 8 stashes of half a device's share
    assert.deepEqual(await row("gpipe"), ["8", "8 stashes"]);
  },

  "a column of the summary sorts its rows, and a second click turns them round": async (open) => {
    const tab = await open("sweep.html");
    const bubbles = () => tab.evaluate("[...document.querySelectorAll('.summary tbody tr')].map((row) => Number(row.cells[4].dataset.value))");
    const press = () => tab.evaluate("document.querySelectorAll('.summary thead th')[4].click()");
    await press();
    const up = await bubbles();
    assert.deepEqual(up, [...up].sort((a, b) => a - b));
    assert.ok(up[0] < up.at(-1));
    await press();
    assert.deepEqual(await bubbles(), [...up].reverse());
  },

  "an action is found by its text": async (open) => {
    const tab = await open("pairs.html");
    await tab.evaluate("document.querySelector('input[type=search]').focus()");
    for (const key of "2b3") await tab.send("Input.insertText", { text: key });
    await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
    await tab.frame();
    assert.match(await tab.evaluate(`${VIEW}.live.textContent`), /2B3 backward/);
    assert.equal(await tab.evaluate(`${VIEW}.chosen.row.microbatch[${VIEW}.chosen.i]`), 3);
    await tab.evaluate("Object.assign(document.querySelector('input[type=search]'), { value: '9F9' })");
    await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
    assert.equal(await tab.evaluate("document.querySelector('input[type=search]').getAttribute('aria-invalid')"), "true");
  },

  "the address follows zoom and device, and opens them again": async (open) => {
    const tab = await open("pairs.html");
    await tab.evaluate("plumbline.sections[1].timeline.setRange({ from: 5e6, to: 9e6 }), plumbline.sections[1].choose(2, 0)");
    await until(() => tab.evaluate("location.hash === '#section-1&zoom=5000000-9000000&device=2'"), "the address to follow");
    const again = await open("pairs.html#section-1&zoom=5000000-9000000&device=2");
    assert.deepEqual(await again.evaluate("plumbline.sections[1].timeline.range"), { from: 5e6, to: 9e6 });
    assert.equal(await again.evaluate("plumbline.sections[1].chosenDevice"), 2);
  },

  "the actions of a section can be taken away as a table, and its picture has a ground": async (open) => {
    const tab = await open("pairs.html");
    const rows = (await tab.evaluate("plumbline.spansCsv(plumbline.page, plumbline.sections[0].section)")).trim().split("\n");
    assert.equal(rows[0], "run,device,lane,action,start_ns,end_ns");
    assert.ok(rows.includes("simulated,0,compute,0F0,0,1000000"), rows.slice(0, 3).join());
    assert.equal(rows.length - 1, await tab.evaluate("plumbline.sections[0].section.runs.reduce((sum, run) => sum + run.spanCount, 0)"));
    const corner = await tab.evaluate(`[...plumbline.timelinePicture(${VIEW}).getContext("2d").getImageData(0, 0, 1, 1).data].join()`);
    assert.equal(corner, "255,255,255,255");
  },

  "on a phone no table of a comparison is wider than the page": async (open) => {
    const tab = await open("pairs.html", { width: 390 });
    assert.equal(await tab.evaluate("document.documentElement.scrollWidth"), 390);
    assert.notEqual(await tab.evaluate(`getComputedStyle(document.querySelector(".verdict-line")).display`), "none");
  },

  "every device of the larger run is shown, whichever run comes first": async (open) => {
    const tab = await open("sizes.html");
    assert.match(await tab.evaluate("document.querySelector('.facts').textContent"), /^4 against 6 devices · 8 against 12 microbatches/);
    for (const table of [".idle .bars", ".peaks"]) {
      const names = await tab.evaluate(`[...document.querySelectorAll("${table} tr")].map((row) => row.cells[0].textContent).filter(Boolean)`);
      assert.deepEqual(names, [0, 1, 2, 3, 4, 5].map((device) => `device ${device}`), table);
    }
    await tab.evaluate("document.querySelector('.peaks tr[data-device=\"5\"]').click()");
    assert.match(await tab.evaluate("plumbline.sections[0].memoryTitle.textContent"), /^Memory of device 5, second/);
  },

  "both halves of overlapped pairs show where there are more of them than pixels": async (open) => {
    const tab = await open("overlapped.html");
    const kind = ([r, g, b]) => (b > r ? "forward" : "backward");
    const inRow = await tab.evaluate(`(() => {
      const { canvas, scale, layout: { tracks: [track] } } = ${VIEW};
      const x = Math.round((scale.left + scale.width / 2) * devicePixelRatio);
      return [0.2, 0.9].map((part) => [...canvas.getContext("2d").getImageData(x, Math.round((track.top + part * track.height) * devicePixelRatio), 1, 1).data]);
    })()`);
    assert.deepEqual(inRow.map(kind), ["forward", "backward"]);
    const inStrip = await tab.evaluate(`(() => {
      const { pixels, columns } = ${VIEW}.overview.dense;
      return Array.from({ length: 5 }, (_, y) => pixels[(3 + y) * columns + Math.round(columns / 2)]).map((pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]);
    })()`);
    assert.deepEqual(new Set(inStrip.map(kind)), new Set(["forward", "backward"]));
  },

  "a time at the end of the memory chart is not cut off, and steps of 2.5 are not rounded": async (open) => {
    const tab = await open("sixty.html");
    const { end, width, last } = await tab.evaluate(`(() => {
      const { chart } = plumbline.sections[0].memory;
      const context = document.createElement("canvas").getContext("2d");
      context.font = "11px system-ui, sans-serif";
      const last = chart.axes[0]._values.at(-1);
      return { last, width: chart.width, end: chart.bbox.left / devicePixelRatio + chart.valToPos(60e6, "x") + context.measureText(last).width / 2 };
    })()`);
    assert.equal(last, "60 ms");
    assert.ok(end <= width, `${end} of ${width}`);
    const quantities = readFileSync(new URL("../../tools/page/quantities.js", import.meta.url), "utf8");
    const timeTexts = new Function(`${quantities}; return timeTexts;`)();
    assert.deepEqual(timeTexts([0, 2.5e6, 5e6]), ["0.0 ms", "2.5 ms", "5.0 ms"]);
    assert.deepEqual(timeTexts([0, 10e6, 20e6]), ["0 ms", "10 ms", "20 ms"]);
  },

  "every control has a name": async (open) => {
    const tab = await open("pairs.html");
    const nameless = await tab.evaluate(`[...document.querySelectorAll("button, a, [tabindex], [role=application]")]
      .filter((control) => !(control.getAttribute("aria-label") ?? control.textContent).trim()).map((control) => control.outerHTML)`);
    assert.deepEqual(nameless, []);
  },
};

/** Runs all tests in one browser, each in its own tab; returns how many failed. */
async function runAll(browser) {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    let tab;
    try {
      await test(async (file, options) => {
        tab = await browser.tab();
        const [name, hash] = file.split("#");
        await tab.open(pathToFileURL(resolve(folder, name)).href + (hash ? `#${hash}` : ""), options);
        return tab;
      });
      assert.deepEqual(tab.problems, []);
      assert.deepEqual(await strayValues(tab), []);
      console.log(`passed: ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED: ${name}\n${error.stack}\n${(tab?.problems ?? []).join("\n")}`);
    }
  }
  return failed;
}

const chromium = findChromium();
if (chromium === null) {
  console.log("skipped: no Chromium found (PLUMB_CHROMIUM names one)");
  process.exit(SKIPPED);
}
const browser = new Browser(chromium);
const failed = await runAll(browser).finally(() => browser.close());
console.log(failed === 0 ? `all ${Object.keys(tests).length} passed` : `${failed} of ${Object.keys(tests).length} failed`);
process.exit(failed === 0 ? 0 : 1);
