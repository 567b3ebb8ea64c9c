// How each device spends the makespan: useful work, extra work, and idle time by cause.

const USEFUL_COLOUR = "#4d9a6a";
const EXTRA_COLOUR = "#a9c7b4";
const BARS_WITH_ROOM = 16;

/** `[colour, title, ns]` of the parts of a device's makespan, in a fixed order; parts that are 0 are left out. */
function deviceParts(page, run, device) {
  const { useful, busy, causes } = run.devices[device];
  const parts = [[USEFUL_COLOUR, "useful work", useful], [EXTRA_COLOUR, "recompute and extra work", busy - useful]];
  causes.forEach((ns, c) => parts.push([page.causes[c].colour, `idle: ${page.causes[c].title}`, ns]));
  return parts.filter(([, , ns]) => ns > 0);
}

function partsBar(parts, whole, text = timeText) {
  return element("span", { class: "bar" }, parts.map(([colour, title, amount]) =>
    element("i", { style: `background:${colour};width:${(100 * amount) / whole}%`, title: `${title}: ${text(amount)}` })));
}

/** A table of bars, in a box of its own that scrolls when there are many. */
function barsTable(name, rows) {
  const table = element("table", { class: `bars ${name}${rows.length > BARS_WITH_ROOM ? " many" : ""}` }, element("tbody", {}, rows));
  return element("div", { class: "bars-box", tabindex: rows.length > BARS_WITH_ROOM ? "0" : null }, table);
}

/** Sum over all devices of what `deviceParts` lists. */
function totalParts(page, run) {
  const totals = new Map();
  run.devices.forEach((_, device) => {
    for (const [colour, title, ns] of deviceParts(page, run, device)) {
      totals.set(title, [colour, title, (totals.get(title)?.[2] ?? 0) + ns]);
    }
  });
  return totals;
}

function idleTable(page, section) {
  const rows = [];
  const whole = Math.max(...section.runs.map((run) => run.makespan), 1);
  section.runs[0].devices.forEach((_, device) => section.runs.forEach((run, r) => {
    if (device >= run.devices.length) return;
    const parts = deviceParts(page, run, device);
    rows.push(element("tr", { class: r > 0 ? "second" : "" },
      element("th", { scope: "row" }, r === 0 ? `device ${device}` : ""),
      section.runs.length > 1 ? element("td", { class: "run" }, section.names[r]) : null,
      element("td", { class: "wide" }, partsBar(parts, whole)),
      element("td", { class: "number" }, percentText(run.makespan > 0 ? run.devices[device].idle / run.makespan : 0))));
  }));
  return barsTable("", rows);
}

/** Where the device time of each run goes, as a legend with shares. */
function idleTotals(page, section) {
  const totals = section.runs.map((run) => totalParts(page, run));
  const titles = new Map(totals.flatMap((total) => [...total].map(([title, part]) => [title, part[0]])));
  const order = ["useful work", "recompute and extra work", ...page.causes.map((cause) => `idle: ${cause.title}`)];
  const head = section.runs.length > 1 ? element("thead", {}, element("tr", {}, element("th", {}, "share of all device time"),
    section.names.map((name) => element("th", { scope: "col", class: "number" }, name)))) : null;
  return element("table", { class: "totals" }, head, element("tbody", {}, order.filter((title) => titles.has(title)).map((title) =>
    element("tr", {},
      element("th", { scope: "row" }, element("span", { class: "swatch", style: `background:${titles.get(title)}` }), title),
      section.runs.map((run, r) => element("td", { class: "number" },
        percentText((totals[r].get(title)?.[2] ?? 0) / Math.max(run.makespan * run.devices.length, 1))))))));
}

function idleView(page, section) {
  return element("div", { class: "idle" }, idleTable(page, section), idleTotals(page, section));
}
