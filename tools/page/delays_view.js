// How old the weights are that every stage computes with, and how many copies of them it keeps.

const DELAY_COLOURS = { forward: "#2a5cb0", backward: "#f0943f", recompute: "#4b2f8a" };

/** Mean of `[value, times]` pairs. */
function meanDelay(counts) {
  const times = counts.reduce((sum, [, n]) => sum + n, 0);
  return times === 0 ? 0 : counts.reduce((sum, [value, n]) => sum + value * n, 0) / times;
}

/** Bars of how often each delay occurs, one per delay, from 0 to `most`. */
function delayBars(counts, most, colour) {
  const width = 10;
  const height = 18;
  const whole = Math.max(...counts.map(([, n]) => n), 1);
  const namespace = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(namespace, "svg");
  picture.setAttribute("width", width * (most + 1));
  picture.setAttribute("height", height);
  picture.setAttribute("class", "histogram");
  for (const [value, n] of counts) {
    const bar = document.createElementNS(namespace, "rect");
    const tall = Math.max(1.5, (height * n) / whole);
    for (const [name, at] of Object.entries({ x: value * width + 1, y: height - tall, width: width - 2, height: tall, fill: colour })) bar.setAttribute(name, at);
    const tip = document.createElementNS(namespace, "title");
    tip.textContent = `${value} ${value === 1 ? "update" : "updates"} old: ${n} times`;
    bar.append(tip);
    picture.append(bar);
  }
  return picture;
}

function delayRow(holder, kinds, most) {
  const name = holder.replica > 0 ? `${holder.replica}:${holder.stage}` : String(holder.stage);
  const cells = kinds.map((kind) => element("td", { class: "number" }, numberText(meanDelay(holder[kind]), 4),
    most <= 60 ? delayBars(holder[kind], most, DELAY_COLOURS[kind]) : null));
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "number" }, String(holder.device)),
    element("td", { class: "number" }, numberText(meanDelay(holder.distance), 4)), cells,
    element("td", { class: "number" }, String(holder.versions)), element("td", { class: "number" }, String(holder.copies)),
    element("td", { class: "number" }, holder.bytes > 0 ? bytesText(holder.bytes) : "–"));
}

/** The table of a run; null where nothing is known. */
function delaysTable(run) {
  if ((run.delays ?? []).length === 0) return null;
  const kinds = ["forward", "backward", "recompute"].filter((kind) => run.delays.some((holder) => holder[kind].length > 0));
  const most = Math.max(...run.delays.flatMap((holder) => kinds.flatMap((kind) => holder[kind].map(([value]) => value))), 1);
  const head = ["stage", "device", "distance", ...kinds.map((kind) => `${kind}, updates old`), "versions", "copies", "bytes of copies"];
  return element("div", { class: "bars-box" }, element("table", { class: "totals delays" },
    element("thead", {}, element("tr", {}, head.map((title, k) => element("th", { scope: "col", class: k > 0 ? "number" : "" }, title)))),
    element("tbody", {}, run.delays.map((holder) => delayRow(holder, kinds, most)))));
}

function delaysPart(section) {
  const tables = section.runs.map((run, r) => [section.names[r], delaysTable(run)]).filter(([, table]) => table);
  if (tables.length === 0) return null;
  return element("div", { class: "card" },
    element("div", { class: "card-head" }, element("h3", {}, "Age of the weights"),
      element("p", { class: "hint" }, "distance: backwards of other microbatches between a forward and its backward · bars: how often each age occurs")),
    tables.flatMap(([name, table]) => [tables.length > 1 ? element("h4", {}, name) : null, table]));
}
