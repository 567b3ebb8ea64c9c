// How each device spends the makespan: useful work, extra work, and idle time by cause.

const USEFUL_COLOUR = "#4d9a6a";
const EXTRA_COLOUR = "#a9c7b4";
const SLOWED_COLOUR = "#d98c4a";
const SLOWED_TITLE = "slowdown by other devices";
const BARS_WITH_ROOM = 16;

/** A table with a caption; `head` and the cells of `rows` are texts or nodes, all but the first column numbers. */
function figureTable(caption, head, rows) {
  const cell = (tag, content, k) => element(tag, { class: k > 0 ? "number" : "", scope: tag === "th" ? (k > 0 ? "col" : "row") : null }, content);
  return element("table", { class: "totals" }, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, head.map((content, k) => cell("th", content, k)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((content, k) => cell(k > 0 ? "td" : "th", content, k))))));
}

function swatched(colour, text) {
  return [element("span", { class: "swatch", style: `background:${colour}` }), text];
}

/** `[colour, title, ns]` of the parts of a device's makespan, in a fixed order; parts that are 0 are left out. */
function deviceParts(page, run, device) {
  const { useful, busy, causes, slowed = 0 } = run.devices[device];
  const late = Math.min(slowed, useful); // whatever it was that took longer
  const parts = [[USEFUL_COLOUR, "useful work", useful - late], [EXTRA_COLOUR, "recompute and extra work", busy - useful],
    [SLOWED_COLOUR, SLOWED_TITLE, late]];
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

/** How much longer the actions of a device took than alone, where any device of the section lost something. */
function slowedCell(section, { slowed = 0, busy }) {
  if (!section.runs.some(isSlowed)) return null;
  return element("td", { class: "number", title: SLOWED_TITLE }, slowed > 0 ? `+${timeText(slowed)}` : "",
    slowed > 0 ? element("small", {}, ` ${percentText(slowed / (busy - slowed))}`) : null);
}

/** Of the makespan; nobody knows of a device whose trace is missing. */
function idleShareText(run, { idle, unknown }) {
  return unknown ? "unknown" : percentText(run.makespan > 0 ? idle / run.makespan : 0);
}

/** Time of all devices of which is known what they did. */
function knownTime(run) {
  return Math.max(run.makespan * run.devices.filter(({ unknown }) => !unknown).length, 1);
}

function idleTable(page, section) {
  const rows = [];
  const whole = Math.max(...section.runs.map((run) => run.makespan), 1);
  for (let device = 0; device < deviceCount(section); device += 1) section.order.filter((r) => device < section.runs[r].devices.length).forEach((r, k) => {
    const run = section.runs[r];
    const parts = deviceParts(page, run, device);
    rows.push(element("tr", { class: k > 0 ? "second" : "" },
      element("th", { scope: "row" }, k === 0 ? `device ${device}` : ""),
      section.runs.length > 1 ? element("td", { class: "run" }, section.names[r]) : null,
      element("td", { class: "wide" }, partsBar(parts, whole)),
      slowedCell(section, run.devices[device]),
      element("td", { class: "number" }, idleShareText(run, run.devices[device]))));
  });
  return barsTable("", rows);
}

/** Where the device time of each run goes, as a legend with shares. */
function idleTotals(page, section) {
  const totals = section.runs.map((run) => totalParts(page, run));
  const titles = new Map(totals.flatMap((total) => [...total].map(([title, part]) => [title, part[0]])));
  const order = ["useful work", "recompute and extra work", SLOWED_TITLE, ...page.causes.map((cause) => `idle: ${cause.title}`)];
  const head = section.runs.length > 1 ? element("thead", {}, element("tr", {}, element("th", {}, "share of all device time"),
    section.names.map((name) => element("th", { scope: "col", class: "number" }, name)))) : null;
  return element("table", { class: "totals" }, head, element("tbody", {}, order.filter((title) => titles.has(title)).map((title) =>
    element("tr", {},
      element("th", { scope: "row" }, element("span", { class: "swatch", style: `background:${titles.get(title)}` }), title),
      section.runs.map((run, r) => element("td", { class: "number" },
        percentText((totals[r].get(title)?.[2] ?? 0) / knownTime(run))))))));
}

/** Colour and title of a kind of action or of a part of the critical path: an op, a cause of waiting, or an overlapped pair. */
function kindName(page, kind) {
  const [op, partner] = kind.split("+").map((name) => page.ops.find((one) => one.name === name));
  const cause = page.causes.find((one) => one.name === kind);
  if (cause) return [cause.colour, cause.title];
  if (op && partner) return [pairFill(op.colour, partner.colour), `${op.title} and ${partner.title} at once (${kind})`];
  return [op?.colour ?? EXTRA_COLOUR, op?.title ?? kind];
}

/** What the critical path of a run consists of: where being faster would shorten the run. */
function criticalTable(page, section, r) {
  const run = section.runs[r];
  if (run.criticalPath.length === 0) return null;
  const named = run.criticalPath.map(({ kind, ns }) => [...kindName(page, kind), ns]);
  const title = section.runs.length > 1 ? `Critical path, ${section.names[r]}` : "Critical path";
  return element("div", { class: "critical" },
    figureTable(title, ["", "share", "saved at most if 10 % faster"], named.map(([colour, name, ns]) =>
      [swatched(colour, name), percentText(ns / run.makespan), timeText(ns / 10, 3)])),
    partsBar(named, run.makespan));
}

/** Two columns; the critical path goes to the shorter one. */
function idleView(page, section) {
  const critical = section.runs.map((_, r) => criticalTable(page, section, r));
  const fewBars = section.runs.length * deviceCount(section) <= BARS_WITH_ROOM / 2;
  return element("div", { class: "idle" },
    element("div", {}, idleTable(page, section), fewBars ? critical : null),
    element("div", {}, idleTotals(page, section), fewBars ? null : critical));
}
