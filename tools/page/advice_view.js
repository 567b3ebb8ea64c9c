// What other schedules would give: the adviser's list, with the interval of every prediction on one axis.

const ADVISED_AT_FIRST = 12;

/** Places on the axis of steps, as percentages; it begins shortly before the smallest time. */
function stepScale(advice, rows) {
  const times = [advice.measured_step_ns, ...rows.flatMap((row) => [row.low_ns, row.high_ns])];
  const low = Math.min(...times);
  const range = Math.max(Math.max(...times) - low, 1);
  return (ns) => 2 + (96 * (ns - low)) / range;
}

/** The step with its interval, and a dashed line where the run's own step is. */
function intervalTrack(advice, row, place) {
  const title = `${timeText(row.step_ns)}, from ${timeText(row.low_ns)} to ${timeText(row.high_ns)}; this run ${timeText(advice.measured_step_ns)}`;
  return element("span", { class: "fall", title },
    element("b", { style: `left:${place(advice.measured_step_ns)}%` }),
    element("i", { class: "interval", style: `left:${place(row.low_ns)}%;width:${place(row.high_ns) - place(row.low_ns)}%` }),
    element("i", { class: "step", style: `left:${place(row.step_ns)}%` }));
}

function adviceNote(advice, row) {
  if (row.this_run) return advice.run_by === advice.runtime ? "this run" : "this run's order, as a file";
  if (!row.fits) return "does not fit";
  return row.ties ? "tie" : "";
}

function adviceRow(advice, row, place) {
  const name = row.replicas > 1 ? `${row.schedule}, ${row.replicas} replicas` : row.schedule;
  const held = row.memory_bytes ? bytesText(row.memory_bytes) : numberText(row.stashes);
  const cells = [row.stages_per_device, timeText(row.step_ns), `${timeText(row.low_ns, 3)} – ${timeText(row.high_ns, 3)}`, differenceText(row.saves),
    percentText(row.bubble_fraction), held];
  return element("tr", { class: row.this_run ? "own" : null, title: row.command }, element("th", { scope: "row" }, name),
    element("td", { class: "wide" }, intervalTrack(advice, row, place)),
    cells.map((cell) => element("td", { class: "number" }, String(cell))), element("td", { class: "dim mark" }, adviceNote(advice, row)));
}

function adviceTable(advice, rows, place) {
  const held = rows.some((row) => row.memory_bytes) ? "memory" : "stashes";
  const head = ["schedule", "step, its interval, and this run's (dashed)", "stages", "step", "from – to", "saves", "bubble", held, ""];
  return element("table", { class: "split advice" },
    element("caption", {}, "Schedules that this runtime can run: the advised one, then fastest first"),
    element("thead", {}, element("tr", {}, head.map((text, k) => element("th", { scope: "col", class: k > 1 && k < 8 ? "number" : "" }, text)))),
    element("tbody", {}, rows.map((row) => adviceRow(advice, row, place))));
}

/** The card of the adviser; null where the page has no advice. */
function adviceCard({ advice }) {
  if (!advice) return null;
  const place = stepScale(advice, advice.schedules);
  const few = advice.schedules.filter((row, k) => k < ADVISED_AT_FIRST || row.this_run);
  const box = element("div", { class: "scrolling" });
  const show = (i) => box.replaceChildren(adviceTable(advice, i === 0 ? few : advice.schedules, place));
  show(0);
  const best = advice.schedules[0];
  const facts = `${counted(advice.devices, "device")} · ${counted(advice.microbatches, "microbatch", "microbatches")} · ${advice.runtime} · ` +
    `step ${timeText(advice.measured_step_ns)} measured, ${timeText(advice.predicted_step_ns)} predicted · uncertainty ${percentText(advice.uncertainty)}`;
  const more = advice.schedules.length > few.length;
  return element("div", { class: "card" },
    element("div", { class: "card-head" }, element("h2", {}, `${advice.verdict}.`),
      element("div", { class: "controls" }, more ? choice("schedules shown", ["first", `all ${advice.schedules.length}`], 0, show) : null)),
    element("p", { class: "facts spaced" }, facts), box,
    best && !best.this_run ? element("p", { class: "note spaced" }, "Save the advised schedule: ", element("code", {}, best.command)) : null,
    element("ul", { class: "assumptions" }, advice.assumptions.map((text) => element("li", {}, text))));
}
