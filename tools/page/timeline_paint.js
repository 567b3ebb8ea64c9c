// Drawing a timeline on a canvas. Rows with more spans than pixels are drawn as averaged colour per pixel, so that a
// frame costs the same however long the run is.

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

/** Times at which the axis has lines, with their texts; all in the unit of the range's length. */
function axisTicks(scale, room = 90) {
  const length = scale.width / scale.perNs;
  const step = niceStep(length * room / Math.max(scale.width, room));
  const [unit, size] = timeUnit(Math.max(Math.abs(scale.from + length), step));
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  const ticks = [];
  for (let k = Math.ceil(scale.from / step - 1e-9); k * step <= scale.from + length; k += 1) {
    ticks.push({ time: k * step, text: `${(k * step / size).toFixed(digits)} ${unit}` });
  }
  return ticks;
}

/** Diagonal hatching in the colour of a cause. Cached per theme. */
const hatchCache = new Map();
function hatch(context, colour, background) {
  const key = colour + background;
  if (!hatchCache.has(key)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.fillStyle = background;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = colour;
    pen.lineWidth = 1.6;
    pen.globalAlpha = 0.7;
    pen.beginPath();
    for (const shift of [-8, 0, 8]) {
      pen.moveTo(shift - 1, 9);
      pen.lineTo(shift + 9, -1);
    }
    pen.stroke();
    hatchCache.set(key, tile);
  }
  return context.createPattern(hatchCache.get(key), "repeat");
}

function paintAxis(context, scale, bottom) {
  const ink = themed("--dim");
  context.lineWidth = 1;
  context.font = NUMBER_FONT;
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const { time, text } of axisTicks(scale)) {
    const x = Math.round(scale.x(time)) + 0.5;
    context.strokeStyle = themed("--grid");
    context.beginPath();
    context.moveTo(x, AXIS_HEIGHT - 4);
    context.lineTo(x, bottom);
    context.stroke();
    context.fillStyle = ink;
    context.fillText(text, x, AXIS_HEIGHT / 2);
  }
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

/** One row: boxes while there is room for them, averaged pixels beyond. */
function paintRow(context, run, layer, scale, ops) {
  const low = firstEndingAfter(layer.row, scale.from);
  const high = firstEndingAfter(layer.row, scale.from + scale.width / scale.perNs);
  if (high - low > scale.width / 3) paintDense(context, run, layer, scale, [low, high]);
  else paintBoxes(context, run, layer, scale, low, ops);
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

/** The action's text where it fits, otherwise its microbatch, otherwise nothing. */
function spanLabel(ops, run, row, i, width) {
  const text = actionText(ops, run, row, i);
  if (text.length * 7 + 8 < width) return text;
  const op = run.actions[row.action[i]][0];
  if (row.microbatch[i] < 0 || op > OP_LAST_OF_MICROBATCH) return "";
  const number = String(row.microbatch[i]);
  return number.length * 6.6 + 3 < width ? number : "";
}

function paintLabel(context, text, colour, x, y) {
  if (text === "") return;
  context.fillStyle = wantsLightText(colour) ? "#ffffff" : "#1d2630";
  context.fillText(text, x, y);
}

/** Adds up the colours of spans [low, high) by pixel column; returns RGBA bytes of a one-pixel-high picture. */
function averagedColumns(run, row, scale, [low, high], columns) {
  const perNs = scale.perNs * columns / scale.width;
  const sums = new Float32Array(columns * 4);
  const add = (column, share, [r, g, b]) => {
    const at = column * 4;
    sums[at] += r * share;
    sums[at + 1] += g * share;
    sums[at + 2] += b * share;
    sums[at + 3] += share;
  };
  for (let i = low; i < high; i += 1) {
    const from = Math.max((row.start[i] - scale.from) * perNs, 0);
    const to = Math.min((row.end[i] - scale.from) * perNs, columns);
    const rgb = run.rgb[row.action[i]];
    const first = Math.floor(from);
    const last = Math.min(Math.floor(to), columns - 1);
    if (first === last) add(first, to - from, rgb);
    else {
      add(first, first + 1 - from, rgb);
      for (let column = first + 1; column < last; column += 1) add(column, 1, rgb);
      add(last, to - last, rgb);
    }
  }
  const bytes = new Uint8ClampedArray(columns * 4);
  for (let at = 0; at < sums.length; at += 4) {
    const share = sums[at + 3];
    if (share <= 0) continue;
    for (let c = 0; c < 3; c += 1) bytes[at + c] = sums[at + c] / share;
    bytes[at + 3] = 255 * Math.min(share, 1);
  }
  return bytes;
}

const columnCanvas = document.createElement("canvas");
function paintDense(context, run, layer, scale, interval) {
  const columns = Math.max(1, Math.round(scale.width * devicePixelRatio));
  const bytes = averagedColumns(run, layer.row, scale, interval, columns);
  columnCanvas.width = columns;
  columnCanvas.height = 1;
  columnCanvas.getContext("2d").putImageData(new ImageData(bytes, columns, 1), 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(columnCanvas, 0, 0, columns, 1, scale.left, layer.top, scale.width, layer.height);
}

/** Device names, and the names of the runs where two stand together. */
function paintNames(context, tracks, names, left) {
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const pitch = tracks.length > 1 ? tracks[1].top - tracks[0].top : TRACK_HEIGHT_MOST;
  const several = tracks.some((track) => !track.first);
  const every = pitch * (several ? 2 : 1) < 12 ? 4 : 1;
  for (const track of tracks) {
    const middle = track.top + track.height / 2 + 0.5;
    if (track.first && track.device % every === 0) {
      context.fillStyle = themed("--ink");
      context.textAlign = "left";
      context.fillText(several ? `${track.device}` : `device ${track.device}`, 2, middle);
    }
    if (several && pitch >= 11) {
      context.fillStyle = themed("--dim");
      context.textAlign = "right";
      context.fillText(names[track.r], left - 8, middle);
    }
  }
}

/** Everything below the pointer's layer. */
function paintTimeline(context, view) {
  const { layout, scale, page } = view;
  paintAxis(context, scale, layout.bottom);
  for (const track of layout.tracks) {
    context.fillStyle = themed("--lane");
    context.fillRect(scale.left, track.top, scale.width, track.height);
    paintGaps(context, track, scale, page.causes);
    for (const layer of track.layers) paintRow(context, track.run, layer, scale, page.ops);
  }
  paintNames(context, layout.tracks, view.section.names, scale.left);
}
