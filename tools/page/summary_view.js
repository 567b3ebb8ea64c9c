// Figures of all runs of the page in one table; a prediction shows how far it is from its measurement.

/** `[title, value of a run (undefined: unknown), text of a value, whether less is better, note on the value of a run]` */
const FIGURES = [
  ["makespan", (run) => run.makespan, timeText, true],
  ["step time", (run) => run.stepTime, timeText, true, steadyNote],
  ["bubble", (run) => run.bubbleFraction, percentText, true],
  ["bubble rate", (run) => run.bubbleRate, percentText, true],
  ["utilization", (run) => run.utilization, percentText, false, steadyNote],
  ["slowdown by other devices", slowedShare, percentText, true],
  ["samples/s", (run) => run.samplesPerSecond, countText, false],
  ["tokens/s", (run) => run.tokensPerSecond, countText, false],
  ["model FLOPs utilization", (run) => run.modelFlopsUtilization, percentText, false],
  ["peak memory", peakMemory, bytesText, true],
  ["peak stashes", peakStashes, numberText, true],
];

/** Asynchronous runs: whether the figure is that of whole steady updates, not of the whole run. */
function steadyNote(run) { return run.steady ? "in the steady state" : ""; }

/** Share of the devices' busy time by which actions took longer because others were under way. */
function slowedShare(run) {
  if (!isSlowed(run)) return undefined;
  const sum = (key) => run.devices.reduce((total, device) => total + (device[key] ?? 0), 0);
  return sum("slowed") / sum("busy");
}

function peakMemory(run) { return run.inStashes ? undefined : Math.max(...run.devices.map((device) => device.peak)) || undefined; }
function peakStashes(run) { return Math.max(...run.devices.map((_, device) => heldStashes(run, device))) || undefined; }

/** The difference between a prediction and its measurement: shares in points, the rest relative. */
function errorText(figure, predicted, measured) {
  if (predicted === undefined || predicted === null || measured === undefined || measured === null) return "";
  if (figure[2] === percentText) return pointsText(predicted - measured);
  return measured === 0 ? "" : differenceText(predicted / measured - 1);
}

function summaryCell(figure, run, measured, best) {
  const value = figure[1](run);
  if (value === undefined || value === null) return element("td", { class: "number", "data-value": "NaN" }, "–");
  const error = measured ? errorText(figure, value, figure[1](measured)) : "";
  const note = figure[4]?.(run) ?? "";
  return element("td", { class: `number${value === best ? " best" : ""}`, "data-value": value }, figure[2](value),
    note ? element("small", {}, note) : null,
    error ? element("small", {}, error) : null);
}

/** The best value of a figure over runs of one kind; undefined when they do not differ or do not do the same work. */
function bestValue(figure, runs) {
  if (figure[0] === "makespan" && new Set(runs.map((run) => run.microbatches)).size > 1) return undefined;
  const values = runs.map(figure[1]).filter((value) => value !== undefined && value !== null);
  if (new Set(values).size < 2) return undefined;
  return figure[3] ? Math.min(...values) : Math.max(...values);
}

function summaryView(page) {
  const runs = page.sections.flatMap((section) => section.runs);
  const figures = FIGURES.filter((figure) => runs.some((run) => (figure[1](run) ?? null) !== null));
  const compared = page.sections.filter((section) => section.choice === "").flatMap((section) => section.runs); // not steps of one run
  const best = (figure, kind) => bestValue(figure, compared.filter((run) => run.kind === kind));
  const rows = page.sections.flatMap((section, s) => section.runs.map((run, r) => {
    const other = section.runs[1 - r];
    const measured = run.kind === "simulated" && other?.kind === "measured" ? other : null;
    return element("tr", { class: r > 0 ? "second" : "first" },
      element("th", { scope: "row" }, r === 0 ? element("a", { href: `#section-${s}` }, section.heading) : ""),
      element("td", {}, element("span", { class: `kind ${run.kind}` }, section.names[r])),
      figures.map((figure) => summaryCell(figure, run, measured, best(figure, run.kind))));
  }));
  return element("div", { class: "scrolling" }, sortable(element("table", { class: "summary" },
    element("thead", {}, element("tr", {}, element("th", {}, "schedule"), element("th", {}, ""),
      figures.map(([title]) => element("th", { scope: "col", class: "number" }, title)))),
    element("tbody", {}, rows)), (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  }));
}
