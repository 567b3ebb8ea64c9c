// Rows with more spans than pixels: every pixel column is divided among the kinds of work that fall into it, so that a
// frame costs the same however long the run is, and shares of forward, backward and idle time can still be read.

const LEAST_STACKED_HEIGHT = 4; // pixels; lower rows mix the colours

/** The colours of a row in the order of their ops, and which of them each action has. Cached. */
function rowSlots(run, row) {
  if (!row.slots) {
    const colours = [...new Set(row.action)].sort((a, b) => run.actions[a][0] - run.actions[b][0] || a - b).map((a) => run.colours[a]);
    const unique = [...new Set(colours)];
    row.slots = { rgb: unique.map(rgbOf), of: run.colours.map((colour) => unique.indexOf(colour)) };
  }
  return row.slots;
}

/** Share of every pixel column that spans [low, high) of each slot cover; the halves of a pair cover half of it each. */
function columnShares(run, row, scale, [low, high], columns) {
  const { rgb, of } = rowSlots(run, row);
  const shares = new Float32Array(columns * rgb.length);
  const perNs = scale.perNs * columns / scale.width;
  for (let i = low; i < high; i += 1) {
    const from = Math.max((row.start[i] - scale.from) * perNs, 0);
    const to = Math.min((row.end[i] - scale.from) * perNs, columns);
    const whole = row.part && row.part[i] !== 0 ? 0.5 : 1;
    const first = Math.floor(from);
    const last = Math.min(Math.floor(to), columns - 1);
    let at = first * rgb.length + of[row.action[i]];
    if (first === last) {
      shares[at] += whole * (to - from);
      continue;
    }
    shares[at] += whole * (first + 1 - from);
    for (let column = first + 1; column < last; column += 1) shares[at += rgb.length] += whole;
    shares[at + rgb.length] += whole * (to - last);
  }
  return shares;
}

/** Shares of several rows side by side, column by column. */
function joinedShares(all, columns) {
  if (all.length === 1) return all[0];
  const slots = all.map((shares) => shares.length / columns);
  const joined = new Float32Array(columns * slots.reduce((sum, one) => sum + one, 0));
  let at = 0;
  for (let column = 0; column < columns; column += 1) {
    all.forEach((shares, k) => {
      joined.set(shares.subarray(column * slots[k], (column + 1) * slots[k]), at);
      at += slots[k];
    });
  }
  return joined;
}

/** A pixel as canvases store it. */
function packed([r, g, b], opacity = 255) {
  return ((opacity << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** The column's shares one above the other, from pixel `first` of a picture whose rows are `columns` long. */
function stackColumns(pixels, { first, columns, height }, shares, rgb) {
  const colours = rgb.map((colour) => packed(colour));
  for (let column = 0; column < columns; column += 1) {
    let sum = 0;
    let y = 0;
    for (let slot = 0; slot < colours.length; slot += 1) {
      sum += shares[column * colours.length + slot];
      const end = Math.min(Math.round(sum * height), height);
      for (; y < end; y += 1) pixels[first + y * columns + column] = colours[slot];
    }
  }
}

/** The column's shares as one mixed colour, as opaque as they cover the column. */
function mixColumns(pixels, { first, columns, height }, shares, rgb) {
  const mixed = new Float32Array(3);
  for (let column = 0; column < columns; column += 1) {
    mixed.fill(0);
    let sum = 0;
    for (let slot = 0; slot < rgb.length; slot += 1) {
      const share = shares[column * rgb.length + slot];
      sum += share;
      for (let c = 0; c < 3; c += 1) mixed[c] += rgb[slot][c] * share;
    }
    if (sum <= 0) continue;
    const pixel = packed([mixed[0] / sum, mixed[1] / sum, mixed[2] / sum], Math.round(255 * Math.min(sum, 1)));
    for (let y = 0; y < height; y += 1) pixels[first + y * columns + column] = pixel;
  }
}

/** Dense rows of one frame, drawn together: handing pixels to the canvas is what costs. */
class DensePicture {
  constructor(scale, height) {
    this.scale = scale;
    this.columns = Math.max(1, Math.round(scale.width * devicePixelRatio));
    this.height = Math.max(1, Math.round(height * devicePixelRatio));
    this.pixels = null;
  }

  /** `layers` share a box; of each row the spans of its interval are drawn. */
  add(run, layers, intervals) {
    this.image ??= new ImageData(this.columns, this.height);
    this.pixels ??= new Uint32Array(this.image.data.buffer);
    const [box] = layers;
    const shares = joinedShares(layers.map(({ row }, k) => columnShares(run, row, this.scale, intervals[k], this.columns)), this.columns);
    const top = Math.round(box.top * devicePixelRatio);
    const height = Math.min(Math.max(1, Math.round(box.height * devicePixelRatio)), this.height - top);
    const place = { first: top * this.columns, columns: this.columns, height };
    const fill = height < LEAST_STACKED_HEIGHT ? mixColumns : stackColumns;
    fill(this.pixels, place, shares, layers.flatMap(({ row }) => rowSlots(run, row).rgb));
  }

  drawOn(context) {
    if (!this.image) return;
    if (!this.canvas) {
      this.canvas = document.createElement("canvas");
      this.canvas.width = this.columns;
      this.canvas.height = this.height;
      this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    }
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, this.scale.left, 0, this.scale.width, this.height / devicePixelRatio);
  }
}
