// Drawing a timeline on a canvas: axis, idle time, spans as boxes, names. Rows with more spans than pixels: timeline_dense.js.

const RIGHT_OF_PLOT = 30; // pixels that stay free: half of the last time, here and below the memory
const NUMBER_FONT = "11px system-ui, sans-serif";

/** Turns times into pixels of the plot. */
class TimeScale {
  constructor(range, left, width) {
    this.from = range.from;
    this.perNs = width / (range.to - range.from);
    this.left = left;
    this.width = width;
  }
  x(time) { return this.left + (time - this.from) * this.perNs; }
  time(x) { return this.from + (x - this.left) / this.perNs; }
}

/** Times at which the axis has lines. */
function axisTicks(scale, room = 90) {
  const length = scale.width / scale.perNs;
  const step = niceStep(length * room / Math.max(scale.width, room));
  const ticks = [];
  for (let k = Math.ceil(scale.from / step - 1e-9); k * step <= scale.from + length; k += 1) ticks.push(k * step);
  return ticks;
}

/** Diagonal hatching in the colour of a cause. Cached until the theme changes. */
function hatch(context, colour, background) {
  const key = colour;
  if (!hatchCache.has(key)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.fillStyle = background;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = colour;
    pen.lineWidth = 1.6;
    pen.globalAlpha = Number(themed("--hatching"));
    pen.beginPath();
    for (const shift of [-8, 0, 8]) {
      pen.moveTo(shift - 1, 9);
      pen.lineTo(shift + 9, -1);
    }
    pen.stroke();
    hatchCache.set(key, context.createPattern(tile, "repeat"));
  }
  return hatchCache.get(key);
}

function paintAxis(context, scale, bottom) {
  const ink = themed("--dim");
  context.lineWidth = 1;
  context.font = NUMBER_FONT;
  context.textBaseline = "middle";
  context.textAlign = "center";
  const ticks = axisTicks(scale);
  const texts = timeTexts(ticks);
  ticks.forEach((time, k) => {
    const x = Math.round(scale.x(time)) + 0.5;
    context.strokeStyle = themed("--grid");
    context.beginPath();
    context.moveTo(x, AXIS_HEIGHT - 4);
    context.lineTo(x, bottom);
    context.stroke();
    context.fillStyle = ink;
    const half = context.measureText(texts[k]).width / 2;
    context.fillText(texts[k], Math.min(x, scale.left + scale.width + RIGHT_OF_PLOT - half), AXIS_HEIGHT / 2);
  });
}

function paintGaps(context, track, scale, causes) {
  const gaps = track.run.gaps[track.device];
  if (!gaps) return;
  const background = themed("--lane");
  const right = scale.left + scale.width;
  for (let i = firstEndingAfter(gaps, scale.from); i < gaps.start.length; i += 1) {
    const from = Math.max(scale.x(gaps.start[i]), scale.left);
    const to = Math.min(scale.x(gaps.end[i]), right);
    if (from >= right) break;
    if (to - from < 2) continue;
    context.fillStyle = hatch(context, causes[gaps.cause[i]].colour, background);
    context.fillRect(from, track.top, to - from, track.height);
  }
}

/** Rows that share a box: every span as one while there is room for them, shares of each pixel beyond. */
function paintRows(context, run, layers, scale, ops, dense) {
  const intervals = layers.map(({ row }) => [firstEndingAfter(row, scale.from), firstEndingAfter(row, scale.from + scale.width / scale.perNs)]);
  if (intervals.some(([low, high]) => high - low > scale.width / 3)) dense.add(run, layers, intervals);
  else layers.forEach((layer, k) => paintBoxes(context, run, layer, scale, intervals[k][0], ops));
}

function paintBoxes(context, run, layer, scale, low, ops) {
  const { row } = layer;
  const right = scale.left + scale.width;
  const labelled = row.lane === LANE_COMPUTE && layer.height >= 11;
  context.font = NUMBER_FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = low; i < row.start.length; i += 1) {
    const from = Math.max(scale.x(row.start[i]), scale.left);
    const to = Math.min(scale.x(row.end[i]), right);
    if (from >= right) break;
    const width = Math.max(to - from - (to - from > 4 ? 1 : 0), 0.6);
    const { top, height } = spanBox(layer, i);
    const colour = run.colours[row.action[i]];
    context.fillStyle = colour;
    if (width > 9 && height > 7) {
      context.beginPath();
      context.roundRect(from, top, width, height, 2.5);
      context.fill();
    } else {
      context.fillRect(from, top, width, height);
    }
    if (labelled && width > 9) paintLabel(context, spanLabel(ops, run, row, i, width), colour, from + width / 2, top + height / 2 + 0.5);
  }
}

/** The action's text where that of any would fit, otherwise its microbatch, otherwise nothing. */
function spanLabel(ops, run, row, i, width) {
  const digits = String(run.microbatches).length;
  if ((digits + String(run.devices.length).length + 1) * 7 + 8 < width) return actionText(ops, run, row, i);
  const op = run.actions[row.action[i]][0];
  if (row.microbatch[i] < 0 || op > OP_LAST_OF_MICROBATCH) return "";
  return digits * 6.6 + 3 < width ? String(row.microbatch[i]) : "";
}

function paintLabel(context, text, colour, x, y) {
  if (text === "") return;
  context.fillStyle = wantsLightText(colour) ? "#ffffff" : DARK_INK;
  context.fillText(text, x, y);
}

const LABEL_FONT = "12px system-ui, sans-serif";
const RUN_NAME_MOST = 120;

/** Room that `paintNames` needs on the left. */
function namesWidth(devices, names) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = LABEL_FONT;
  const wide = (text) => Math.ceil(context.measureText(text).width);
  const device = wide(`device ${devices - 1}`);
  if (names.length < 2) return Math.max(72, device + 12);
  return device + Math.min(RUN_NAME_MOST, Math.max(...names.map(wide))) + 22;
}

/** Device names, and the names of the runs where two stand together. */
function paintNames(context, tracks, names, left) {
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  const pitch = tracks.length > 1 ? tracks[1].top - tracks[0].top : TRACK_HEIGHT_MOST;
  const several = tracks.some((track) => !track.first);
  const every = pitch * (several ? 2 : 1) < 12 ? 4 : 1;
  for (const track of tracks) {
    const middle = track.top + track.height / 2 + 0.5;
    if (track.first && track.device % every === 0) {
      context.fillStyle = themed("--ink");
      context.textAlign = "left";
      context.fillText(`device ${track.device}`, 2, middle);
    }
    if (several && pitch >= 11) {
      context.fillStyle = themed("--dim");
      context.textAlign = "right";
      context.fillText(names[track.r], left - 8, middle, RUN_NAME_MOST);
    }
  }
}

/** Everything below the pointer's layer. */
function paintTimeline(context, view) {
  const { layout, scale, page } = view;
  const dense = new DensePicture(scale, layout.bottom);
  paintAxis(context, scale, layout.bottom);
  for (const track of layout.tracks) {
    context.fillStyle = themed("--lane");
    context.fillRect(scale.left, track.top, scale.width, track.height);
    paintGaps(context, track, scale, page.causes);
    for (const layers of sharedBoxes(track)) paintRows(context, track.run, layers, scale, page.ops, dense);
  }
  dense.drawOn(context);
  paintNames(context, layout.tracks, view.section.names, scale.left);
}
