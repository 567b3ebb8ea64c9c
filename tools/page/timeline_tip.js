// What the tooltip says about a span or a gap.

function tipRow(name, value) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value));
}

function spanRefersTo(page, run, index) {
  const { row, i } = locate(run, index);
  return `${actionText(page.ops, run, row, i)} on device ${row.device}`;
}

/** The gap that ends where a compute span starts, or -1. */
function gapBefore(run, row, i) {
  const gaps = run.gaps[row.device];
  if (row.lane !== LANE_COMPUTE || !gaps) return -1;
  const gap = intervalAt(gaps, row.start[i] - 0.5);
  return gap >= 0 && gaps.end[gap] === row.start[i] ? gap : -1;
}

/** The span that kept the device waiting: the message, or its maker where the message was not the reason. */
function waitedFor(page, run, index, cause) {
  const { row, i } = locate(run, index);
  const byMessage = page.causes[cause].name.startsWith("transfer");
  return row.lane === LANE_TRANSFER && !byMessage && row.source[i] >= 0 ? row.source[i] : index;
}

/** `0.4 ms: transfer: bandwidth (0SEND_F3 on device 0)`. */
function waitText(page, run, row, i, gap) {
  const gaps = run.gaps[row.device];
  const cause = gaps.cause[gap];
  const source = row.source[i] < 0 ? "" : ` (${spanRefersTo(page, run, waitedFor(page, run, row.source[i], cause))})`;
  return `${timeText(gaps.end[gap] - gaps.start[gap])}: ${page.causes[cause].title}${source}`;
}

/** How the other run of the section did the same action. */
function otherText(section, run, row, i) {
  const r = section.runs.indexOf(run);
  const other = section.runs[1 - r];
  if (!other) return null;
  const index = sameAction(other, actionKey(run, row, i));
  if (index < 0) return null;
  const place = locate(other, index);
  const here = row.end[i] - row.start[i];
  const there = place.row.end[place.i] - place.row.start[place.i];
  const later = place.row.start[place.i] - row.start[i];
  return tipRow(section.names[1 - r],
    `${timeText(there)} (${differenceText(there / here - 1)}), starts ${timeText(Math.abs(later))} ${later < 0 ? "earlier" : "later"}`);
}

function spanTip(view, run, row, i) {
  const { page, section } = view;
  const [op, stage, replica] = run.actions[row.action[i]];
  const gap = gapBefore(run, row, i);
  const where = [`stage ${stage}`];
  if (namesMicrobatch(run, row, i)) where.push(`microbatch ${row.microbatch[i]}`);
  if (replica > 0) where.push(`replica ${replica}`);
  where.push(`device ${row.device}`);
  return [
    element("p", { class: "tip-title" },
      element("span", { class: "swatch", style: `background:${run.colours[row.action[i]]}` }),
      element("strong", {}, actionText(page.ops, run, row, i)), ` ${page.ops[op].title}`),
    element("p", { class: "tip-where" }, where.join(" · ")),
    element("table", {},
      tipRow("takes", timeText(row.end[i] - row.start[i], 6)),
      tipRow("from", timeText(row.start[i], 7)),
      tipRow("to", timeText(row.end[i], 7)),
      gap >= 0 ? tipRow("waited", waitText(page, run, row, i, gap)) : null,
      gap < 0 && row.source[i] >= 0 ? tipRow("reads", spanRefersTo(page, run, row.source[i])) : null,
      otherText(section, run, row, i)),
  ];
}

function gapTip(view, track, gap) {
  const { page } = view;
  const gaps = track.run.gaps[track.device];
  const cause = page.causes[gaps.cause[gap]];
  const row = track.layers.find((layer) => layer.row.lane === LANE_COMPUTE)?.row;
  const next = row ? intervalAt(row, gaps.end[gap]) : -1;
  return [
    element("p", { class: "tip-title" },
      element("span", { class: "swatch", style: `background:${cause.colour}` }), element("strong", {}, "idle"), ` ${cause.title}`),
    element("p", { class: "tip-where" }, `device ${track.device}`),
    element("table", {},
      tipRow("takes", timeText(gaps.end[gap] - gaps.start[gap], 6)),
      tipRow("from", timeText(gaps.start[gap], 7)),
      tipRow("to", timeText(gaps.end[gap], 7)),
      next >= 0 ? tipRow("until", actionText(page.ops, track.run, row, next)) : null,
      next >= 0 && row.source[next] >= 0
        ? tipRow("for", spanRefersTo(page, track.run, waitedFor(page, track.run, row.source[next], gaps.cause[gap]))) : null),
  ];
}

/** Content of the tooltip for a hit of `hitTest`, or null. */
function tipContent(view, hit) {
  if (!hit) return null;
  if (hit.row) return spanTip(view, hit.track.run, hit.row, hit.i);
  return hit.gap >= 0 ? gapTip(view, hit.track, hit.gap) : null;
}
