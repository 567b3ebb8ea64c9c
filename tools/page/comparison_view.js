// How far two runs are apart: by kind of action, by cause of idle time, in memory, and action by action.

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

function pointsText(share) {
  const points = 100 * share;
  return `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)} points`;
}

function kindTable(page, comparison, names) {
  const mean = (ns, count) => (count > 0 ? timeText(ns / count) : "–");
  return figureTable("Mean duration by kind of action", ["", ...names, "error", "median", "90 % within"], comparison.kinds.map((kind) => {
    const op = page.ops.find((one) => one.name === kind.op);
    const predicted = kind.predicted_ns / kind.predicted_count;
    const measured = kind.measured_ns / kind.measured_count;
    const single = comparison.aligned && measured > 0;
    return [swatched(op.colour, op.title), mean(kind.predicted_ns, kind.predicted_count), mean(kind.measured_ns, kind.measured_count),
      measured > 0 ? differenceText(predicted / measured - 1) : "–",
      single ? differenceText(kind.median_error) : "–", single ? percentText(kind.p90_error) : "–"];
  }));
}

function causeTable(page, comparison, names) {
  return figureTable("Idle time by cause, share of all device time", ["", ...names, "error"], comparison.idle_causes.map((entry) => {
    const cause = page.causes.find((one) => one.name === entry.cause);
    return [swatched(cause.colour, cause.title), percentText(entry.predicted_share), percentText(entry.measured_share),
      pointsText(entry.predicted_share - entry.measured_share)];
  }));
}

/** Where peak memory differs; one sentence when it does not. */
function memoryDifferences(page, comparison, names) {
  const differing = comparison.memory.filter((entry) => entry.predicted_bytes !== entry.measured_bytes);
  if (comparison.memory.length === 0) return null;
  if (differing.length === 0) return element("p", {}, "Peak memory is equal to the byte on every device, class by class.");
  const title = (entry) => page.classes.find((one) => one.name === entry.class)?.title ?? "peak";
  return figureTable("Peak memory where it differs", ["", ...names, "error"], differing.slice(0, 20).map((entry) => [
    `device ${entry.device}, ${title(entry)}`, bytesText(entry.predicted_bytes), bytesText(entry.measured_bytes),
    entry.measured_bytes > 0 ? differenceText(entry.predicted_bytes / entry.measured_bytes - 1) : "–"]));
}

function offenderTable(comparison, names, show) {
  if (comparison.offenders.length === 0) return null;
  return figureTable("Actions that are furthest apart", ["", ...names, "error", "starts"], comparison.offenders.map((entry) => {
    const later = entry.measured_start_ns - entry.predicted_start_ns;
    const button = element("button", { type: "button", class: "plain link", click: () => show(entry.device, entry.action) }, entry.action);
    return [[button, ` on device ${entry.device}`], timeText(entry.predicted_ns), timeText(entry.measured_ns),
      entry.measured_ns > 0 ? differenceText(entry.predicted_ns / entry.measured_ns - 1) : "–",
      later === 0 ? "together" : `${timeText(Math.abs(later), 3)} ${later > 0 ? "later" : "earlier"}`];
  }));
}

/** What the bound said, and how many runs stand behind it. */
function verdictLine(comparison, names) {
  const step = comparison.step_time_ns;
  const words = [`step time ${timeText(step.predicted)} ${names[0]}, ${timeText(step.measured)} ${names[1]}: ${differenceText(step.error)}`];
  if (comparison.runs > 1) words.push(`median of ${comparison.runs} runs that spread by ${percentText(comparison.spread)}`);
  if (!comparison.aligned) words.push("not the same actions on the same devices: compared by figures alone");
  const verdict = comparison.verdict === "none" ? null : element("span", { class: `verdict ${comparison.verdict}` }, comparison.verdict);
  return element("p", { class: "hint" }, verdict, verdict ? " " : null, words.join(" · "));
}

/** `show(device, action text)` is called when a reader asks for an action. */
function comparisonCard(page, section, show) {
  const { comparison, names } = section;
  return element("div", { class: "card comparison" },
    element("div", { class: "card-head" }, element("h3", {}, capitalized(`${names[0]} against ${names[1]}`)), verdictLine(comparison, names)),
    comparison.findings.length > 0 ? element("ul", { class: "findings" }, comparison.findings.map((text) => element("li", {}, text))) : null,
    element("div", { class: "pairs" },
      comparison.kinds.length > 0 ? kindTable(page, comparison, names) : null,
      causeTable(page, comparison, names),
      offenderTable(comparison, names, show),
      memoryDifferences(page, comparison, names)));
}
