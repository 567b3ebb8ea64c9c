// Where an error comes from: a waterfall from the first run's step time to the second one's, part by part.

/** A time with its sign: `+1.2 ms`. */
function signedTimeText(ns) {
  return `${ns > 0 ? "+" : ns < 0 ? "−" : "±"}${timeText(Math.abs(ns), 3)}`;
}

/** `[part, step time before, after the model's part, after the noise]`, from the first run to the second one. */
function waterfall(split) {
  let level = split.predicted_ns;
  return split.parts.map((part) => {
    const before = level;
    const usual = before - part.model_ns;
    level = usual - part.noise_ns;
    return [part, before, usual, level];
  });
}

/** Places on the axis, as percentages; the axis begins shortly before the smallest level. */
function splitScale(split, steps) {
  const levels = [split.predicted_ns, split.measured_ns, ...steps.flatMap(([, ...times]) => times)];
  const low = Math.min(...levels);
  const range = Math.max(Math.max(...levels) - low, 1);
  return (ns) => 4 + (92 * (ns - low)) / range;
}

/** A bar between two levels. */
function levelBar(place, from, to, name, title) {
  const left = Math.min(place(from), place(to));
  return element("i", { class: name, style: `left:${left}%;width:max(${Math.abs(place(to) - place(from))}%, 2px)`, title });
}

function splitRow(name, track, cells) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "wide" }, element("span", { class: "fall" }, track)),
    cells.map((text) => element("td", { class: "number" }, text)));
}

function splitTable(page, { names }, split, difference) {
  const steps = waterfall(split);
  const place = splitScale(split, steps);
  const mark = (ns) => element("b", { style: `left:${place(ns)}%` });
  const share = (ns) => differenceText(ns / split.measured_ns);
  const ends = [mark(split.predicted_ns), mark(split.measured_ns)];
  const rows = steps.map(([part, before, usual, after]) => splitRow(page.errorParts[part.part], [
    ...ends.map((end) => end.cloneNode()),
    part.model_ns !== 0 ? levelBar(place, before, usual, "model", `model: ${signedTimeText(part.model_ns)}`) : null,
    part.noise_ns !== 0 ? levelBar(place, usual, after, "noise", `noise: ${signedTimeText(part.noise_ns)}`) : null,
  ], [signedTimeText(part.model_ns + part.noise_ns), share(part.model_ns + part.noise_ns), signedTimeText(part.model_ns), signedTimeText(part.noise_ns)]));
  const whole = split.model_ns + split.noise_ns;
  const head = ["", `from ${timeText(split.predicted_ns)} ${names[0]} to ${timeText(split.measured_ns)} ${names[1]}`, difference, "of the step",
    [element("span", { class: "swatch model" }), "model"], [element("span", { class: "swatch noise" }), "noise"]];
  return element("table", { class: "split" },
    element("caption", {}, `What makes up the ${difference} of the step time`),
    element("thead", {}, element("tr", {}, head.map((text, k) => element("th", { scope: "col", class: k > 1 ? "number" : "" }, text)))),
    element("tbody", {}, rows),
    element("tfoot", {}, splitRow("together", [...ends, levelBar(place, split.predicted_ns, split.measured_ns, "whole", signedTimeText(whole))],
      [signedTimeText(whole), share(whole), signedTimeText(split.model_ns), signedTimeText(split.noise_ns)])));
}

function splitActions(page, { names }, split, difference, show) {
  const rows = split.parts.flatMap((part) => part.largest.map((entry) => {
    const button = element("button", { type: "button", class: "plain link", click: () => show(entry.device, entry.action) }, entry.action);
    const at = part.part === "order" || part.part === "missing" ? "at " : ""; // moments, not lengths
    return [[element("span", { class: "dim" }, `${page.errorParts[part.part]}: `), button, ` on device ${entry.device}`], at + timeText(entry.predicted_ns),
      at + timeText(entry.measured_ns), signedTimeText(entry.error_ns)];
  }));
  if (rows.length === 0) return null;
  return figureTable("Largest actions of each part", ["", ...names, `of the ${difference}`], rows);
}

/** Nothing where the runs were not split, or are equal. `show(device, action text)` as for the comparison. */
function splitView(page, section, difference, show) {
  const { split } = section.comparison;
  if (!split || split.parts.length === 0) return null;
  return element("div", { class: "split-part" },
    element("div", { class: "scrolling" }, splitTable(page, section, split, difference)),
    element("p", { class: "dim" }, "Model: the prediction against what is usual in the run: between median and mean of like actions and messages. " +
      "Noise: by how much single actions and messages were not as usual. A part below zero was predicted too short."),
    element("div", { class: "scrolling" }, splitActions(page, section, split, difference, show)));
}
