// How far two runs are apart: by kind of action, by cause of idle time, in memory, and action by action.

/** A prediction errs, two schedules differ. */
function differenceName(section) {
  return section.runs[0].kind !== section.runs[1].kind ? "error" : "difference";
}

function kindTable(page, comparison, names, difference) {
  const mean = (ns, count) => (count > 0 ? timeText(ns / count) : "–");
  return figureTable("Mean duration by kind of action", ["", ...names, difference, "median", "90th percentile"], comparison.kinds.map((kind) => {
    const predicted = kind.predicted_ns / kind.predicted_count;
    const measured = kind.measured_ns / kind.measured_count;
    const single = comparison.aligned && predicted > 0 && measured > 0;
    return [swatched(...kindName(page, kind.op)), mean(kind.predicted_ns, kind.predicted_count), mean(kind.measured_ns, kind.measured_count),
      predicted >= 0 && measured > 0 ? differenceText(predicted / measured - 1) : "–",
      single ? differenceText(kind.median_error) : "–", single ? percentText(kind.p90_error) : "–"];
  }));
}

function causeTable(page, comparison, names, difference) {
  return figureTable("Idle time by cause, share of all device time", ["", ...names, difference], comparison.idle_causes.map((entry) => {
    const cause = page.causes.find((one) => one.name === entry.cause);
    return [swatched(cause.colour, cause.title), percentText(entry.predicted_share), percentText(entry.measured_share),
      pointsText(entry.predicted_share - entry.measured_share)];
  }));
}

const MEMORY_ROWS_MOST = 20;

/** Where peak memory differs; one sentence when it does not. */
function memoryDifferences(page, comparison, names, difference) {
  const differing = comparison.memory.filter((entry) => entry.predicted_bytes !== entry.measured_bytes);
  if (comparison.memory.length === 0) return null;
  if (differing.length === 0) return element("p", {}, "Peak memory is equal to the byte on every device and in every class.");
  const title = (entry) => page.classes.find((one) => one.name === entry.class)?.title ?? "peak";
  return figureTable("Peak memory where it differs", ["", ...names, difference], differing.slice(0, MEMORY_ROWS_MOST).map((entry) => [
    `device ${entry.device}, ${title(entry)}`, bytesText(entry.predicted_bytes), bytesText(entry.measured_bytes),
    entry.measured_bytes > 0 ? differenceText(entry.predicted_bytes / entry.measured_bytes - 1) : "–"])
    .concat(differing.length > MEMORY_ROWS_MOST ? [[`${differing.length - MEMORY_ROWS_MOST} more`, "", "", ""]] : []));
}

function offenderTable(comparison, names, difference, show) {
  if (comparison.offenders.length === 0) return null;
  return figureTable("Actions that differ most", ["", ...names, difference, "start"], comparison.offenders.map((entry) => {
    const later = entry.measured_start_ns - entry.predicted_start_ns;
    const button = element("button", { type: "button", class: "plain link", click: () => show(entry.device, entry.action) }, entry.action);
    return [[button, ` on device ${entry.device}`], timeText(entry.predicted_ns), timeText(entry.measured_ns),
      entry.measured_ns > 0 ? differenceText(entry.predicted_ns / entry.measured_ns - 1) : "–",
      later === 0 ? "same time" : `${timeText(Math.abs(later), 3)} ${later > 0 ? "later" : "earlier"}`];
  }));
}

/** The verdict of the bound, and how many runs it is based on. */
function verdictLine({ comparison, names, choice: one }) {
  const step = comparison.step_time_ns;
  const words = [`step time ${timeText(step.predicted)} ${names[0]}, ${timeText(step.measured)} ${names[1]}: ${differenceText(step.error)}`];
  if (comparison.split) words.push(`model ${differenceText(comparison.model_error)}, noise ${differenceText(step.error - comparison.model_error)}`);
  if (comparison.runs > 1) words.push(`${one ? "one" : "median"} of ${comparison.runs} runs that spread by ${percentText(comparison.spread)}`);
  if (!comparison.aligned) {
    words.push(comparison.split ? "the runs cut the same backwards into different actions, so that only figures and the parts of the error are compared"
      : "the runs have different actions, so only their figures are compared");
  }
  const verdict = comparison.verdict === "none" ? null : element("span", { class: `verdict ${comparison.verdict}` }, comparison.verdict);
  return element("p", { class: "verdict-line" }, verdict, verdict ? " " : null, words.join(" · "));
}

/** `show(device, action text)` is called when a reader asks for an action. */
function comparisonCard(page, section, show) {
  const { comparison, names } = section;
  const difference = differenceName(section);
  return element("div", { class: "card comparison" },
    element("div", { class: "card-head" }, element("h3", {}, capitalized(`${names[0]} against ${names[1]}`)), verdictLine(section)),
    comparison.findings.length > 0 ? element("ul", { class: "findings" }, comparison.findings.map((text) => element("li", {}, text))) : null,
    splitView(page, section, difference, show),
    element("div", { class: "pairs" }, [
      comparison.kinds.length > 0 ? kindTable(page, comparison, names, difference) : null,
      causeTable(page, comparison, names, difference),
      offenderTable(comparison, names, difference, show),
      memoryDifferences(page, comparison, names, difference),
    ].filter(Boolean).map((table) => element("div", { class: "scrolling" }, table))));
}
