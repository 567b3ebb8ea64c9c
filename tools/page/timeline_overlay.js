// What follows the pointer: outlines, arrows from the values that a span reads, the path of a microbatch.

function outline(context, box, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(box.left - 1, box.top - 1, Math.max(box.width, 1) + 2, box.height + 2);
}

function clipped(scale, from, to) {
  const left = Math.max(scale.x(from), scale.left - 4);
  return { left, width: Math.min(scale.x(to), scale.left + scale.width + 4) - left };
}

/** Pixel box of a span of a shown track, or null when it is not on the screen. */
function boxOnScreen(view, run, index) {
  const { row, i } = locate(run, index);
  const track = view.layout.tracks.find((one) => one.run === run && one.device === row.device);
  if (!track || row.end[i] < view.range.from || row.start[i] > view.range.to) return null;
  const layer = track.layers.find((one) => one.row === row);
  return { ...clipped(view.scale, row.start[i], row.end[i]), ...spanBox(layer, i), row, i };
}

/** A curve from the end of one box to the start of another. */
function paintArrow(context, from, to, colour) {
  const x0 = from.row.lane === LANE_COMPUTE ? from.left + from.width : from.left + from.width / 2;
  const y0 = from.top + from.height / 2;
  const x1 = to.left;
  const y1 = to.top + to.height / 2;
  const bend = Math.max(12, Math.abs(x1 - x0) / 2);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 6, y1 - 3.5);
  context.lineTo(x1 - 6, y1 + 3.5);
  context.fill();
}

function paintSource(context, view, run, index, colour) {
  const { row, i } = locate(run, index);
  const source = row.source[i];
  if (source < 0 || locate(run, source).row.device === row.device) return;
  const from = boxOnScreen(view, run, source);
  const to = boxOnScreen(view, run, index);
  if (from && to) paintArrow(context, from, to, colour);
}

/** Everything but the chosen microbatch steps back, in all runs that are shown. */
function paintPaths(context, view, microbatch) {
  const { scale, layout } = view;
  context.save();
  context.beginPath();
  context.rect(scale.left, AXIS_HEIGHT, scale.width, layout.bottom - AXIS_HEIGHT);
  context.clip();
  context.fillStyle = themed("--veil");
  context.fillRect(scale.left, AXIS_HEIGHT, scale.width, layout.bottom);
  for (const r of view.shown) paintPath(context, view, view.section.runs[r], microbatch);
  context.restore();
}

function paintPath(context, view, run, microbatch) {
  const { page } = view;
  const spans = spansOfMicrobatch(run, microbatch).filter((index) => boxOnScreen(view, run, index));
  for (const index of spans.slice(0, 4000)) {
    const box = boxOnScreen(view, run, index);
    const colour = run.colours[box.row.action[box.i]];
    context.fillStyle = colour;
    context.fillRect(box.left, box.top, Math.max(box.width, 2), box.height);
    if (box.width > 20 && box.height >= 11) {
      context.font = NUMBER_FONT;
      context.textAlign = "center";
      context.textBaseline = "middle";
      paintLabel(context, spanLabel(page.ops, run, box.row, box.i, box.width), colour, box.left + box.width / 2, box.top + box.height / 2 + 0.5);
    }
  }
  for (const index of spans.slice(0, 4000)) paintSource(context, view, run, index, themed("--accent"));
}

/** A thin line at the pointer with the time on the axis. */
function paintCursor(context, view, time) {
  const x = Math.round(view.scale.x(time)) + 0.5;
  if (x < view.scale.left || x > view.scale.left + view.scale.width) return;
  context.strokeStyle = themed("--dim");
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x, AXIS_HEIGHT - 2);
  context.lineTo(x, view.layout.bottom);
  context.stroke();
  context.setLineDash([]);
  const text = timeText(time, 6);
  context.font = "600 11px system-ui, sans-serif";
  const width = context.measureText(text).width + 10;
  const left = Math.min(Math.max(x - width / 2, view.scale.left), view.scale.left + view.scale.width - width);
  context.fillStyle = themed("--ink");
  context.beginPath();
  context.roundRect(left, 3, width, AXIS_HEIGHT - 8, 4);
  context.fill();
  context.fillStyle = themed("--card");
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, left + width / 2, AXIS_HEIGHT / 2 - 0.5);
}

function paintOverlay(context, view) {
  const { hit, chosen, pointerTime } = view;
  if (chosen) {
    const microbatch = chosen.row.microbatch[chosen.i];
    if (namesMicrobatch(chosen.run, chosen.row, chosen.i)) paintPaths(context, view, microbatch);
    const box = boxOnScreen(view, chosen.run, chosen.row.first + chosen.i);
    if (box) outline(context, box, themed("--ink"));
  }
  if (pointerTime !== null) paintCursor(context, view, pointerTime);
  if (hit && hit.row) {
    paintSource(context, view, hit.track.run, hit.row.first + hit.i, themed("--accent"));
    const box = boxOnScreen(view, hit.track.run, hit.row.first + hit.i);
    if (box) outline(context, box, themed("--ink"));
  }
}
