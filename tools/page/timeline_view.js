// The timeline of one section: canvas, zoom, pan, pointer and keyboard.

const LEAST_RANGE_NS = 20;

/** Gives `canvas` a size in CSS pixels and returns a context that draws in them. */
function sizedContext(canvas, width, height) {
  const ratio = window.devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

class TimelineView {
  /** `listeners`: called with the range whenever it changes. */
  constructor(page, section) {
    this.page = page;
    this.section = section;
    this.shown = section.order;
    this.left = namesWidth(deviceCount(section), section.names);
    this.right = RIGHT_OF_PLOT;
    this.ownLimit = Math.max(...section.runs.map((run) => run.makespan), 1);
    this.limit = this.ownLimit;
    this.range = { from: 0, to: this.limit };
    this.hit = null;
    this.chosen = null;
    this.pointerTime = null;
    this.listeners = [];
    this.build();
    this.listen();
  }

  build() {
    this.canvas = element("canvas", { class: "spans" });
    this.overlay = element("canvas", {
      class: "overlay", tabindex: "0", role: "application",
      "aria-label": `Timeline of ${this.section.heading}. Arrow keys walk over the actions, plus and minus zoom, 0 shows everything.`,
    });
    this.tip = element("div", { class: "tip", role: "tooltip", hidden: true });
    this.live = element("p", { class: "for-screen-readers", "aria-live": "polite" });
    this.overview = new Overview(this);
    this.element = element("div", { class: "timeline" }, this.overview.canvas,
      element("div", { class: "plot" }, this.canvas, this.overlay), this.tip, this.live);
  }

  listen() {
    const { overlay } = this;
    overlay.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    overlay.addEventListener("pointerdown", (event) => this.press(event));
    overlay.addEventListener("pointermove", (event) => this.move(event));
    overlay.addEventListener("pointerup", (event) => this.release(event));
    overlay.addEventListener("pointercancel", () => this.fingers.clear());
    overlay.addEventListener("pointerleave", () => this.leave());
    overlay.addEventListener("dblclick", () => this.zoomToHit());
    overlay.addEventListener("keydown", (event) => this.key(event));
    this.gone = new AbortController();
    window.addEventListener("scroll", () => { this.armed = false; }, { passive: true, signal: this.gone.signal });
    this.resizes = new ResizeObserver(() => this.paint());
    this.resizes.observe(this.element);
    this.fingers = new Map();
  }

  /** To be called when the view is taken off its page. */
  dispose() {
    this.gone.abort();
    this.resizes.disconnect();
  }

  // Range

  /** Shows `range`, moved and cut to what exists. */
  setRange({ from, to }) {
    const length = Math.min(Math.max(to - from, LEAST_RANGE_NS), this.limit);
    const start = Math.min(Math.max(from, 0), this.limit - length);
    this.range = { from: start, to: start + length };
    this.paint();
    this.listeners.forEach((listener) => listener(this.range));
  }

  /** Time that fits on the axis: the section's own makespan, or that of the longest section. */
  setLimit(limit) {
    this.limit = limit;
    this.setRange({ from: 0, to: limit });
  }

  fit() { this.setRange({ from: 0, to: this.limit }); }

  /** Zooms by `factor` (above 1: in) so that `time` stays where it is. */
  zoom(factor, time = (this.range.from + this.range.to) / 2) {
    const length = Math.max((this.range.to - this.range.from) / factor, LEAST_RANGE_NS);
    const share = (time - this.range.from) / (this.range.to - this.range.from);
    this.setRange({ from: time - share * length, to: time + (1 - share) * length });
  }

  pan(ns) { this.setRange({ from: this.range.from + ns, to: this.range.to + ns }); }

  show(shown) {
    this.shown = shown;
    this.hit = this.chosen = null;
    this.paint();
  }

  // Pointer

  /** Zooms once the pointer has moved over the plot; a page that scrolls past it keeps scrolling. */
  wheel(event) {
    const out = event.deltaY > 0 && this.range.to - this.range.from >= this.limit;
    if (!event.ctrlKey && (!this.armed || (out && event.deltaX === 0))) return;
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 16 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX * pixels / this.scale.perNs);
    else this.zoom(Math.exp(-event.deltaY * pixels * 0.002), this.scale.time(event.offsetX));
    this.point(event);
  }

  press(event) {
    this.overlay.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event.offsetX);
    this.pressed = { x: event.offsetX, y: event.offsetY, range: this.range, moved: false };
  }

  move(event) {
    this.armed = true;
    if (this.fingers.size === 2 && this.fingers.has(event.pointerId)) this.pinch(event);
    else if (this.pressed && event.buttons & 1) this.drag(event);
    this.point(event);
  }

  drag(event) {
    const pixels = this.pressed.x - event.offsetX;
    if (Math.abs(pixels) > 3) this.pressed.moved = true;
    if (!this.pressed.moved) return;
    this.overlay.classList.add("dragging");
    const { range } = this.pressed;
    const ns = pixels / this.scale.perNs;
    this.setRange({ from: range.from + ns, to: range.to + ns });
  }

  /** Two fingers keep the times that they touch. */
  pinch(event) {
    const before = [...this.fingers.values()];
    this.fingers.set(event.pointerId, event.offsetX);
    const after = [...this.fingers.values()];
    const spread = Math.abs(after[0] - after[1]) / Math.max(Math.abs(before[0] - before[1]), 1);
    this.zoom(spread, this.scale.time((after[0] + after[1]) / 2));
    this.pressed.moved = true;
  }

  release(event) {
    this.fingers.delete(event.pointerId);
    this.overlay.classList.remove("dragging");
    if (this.pressed && !this.pressed.moved) this.choose(this.hit);
    this.pressed = null;
  }

  leave() {
    this.hit = null;
    this.pointerTime = null;
    this.tip.hidden = true;
    this.paintOverlay();
  }

  /** Finds what is under the pointer and says so. */
  point(event) {
    const time = this.scale.time(event.offsetX);
    this.pointerTime = time;
    this.hit = event.offsetX < this.left ? null : hitTest(this.layout.tracks, event.offsetY, time);
    this.showTip(event.offsetX, event.offsetY);
    this.paintOverlay();
  }

  showTip(x, y) {
    const content = this.pressed?.moved ? null : tipContent(this, this.hit);
    this.tip.hidden = content === null;
    if (content === null) return;
    this.tip.replaceChildren(...content);
    const top = this.overlay.offsetTop + this.overlay.parentElement.offsetTop;
    const width = this.element.clientWidth;
    const beside = x + 18 + this.tip.offsetWidth > width ? x - 14 - this.tip.offsetWidth : x + 18;
    const fits = this.overlay.getBoundingClientRect().top + y + 18 + this.tip.offsetHeight < window.innerHeight;
    const above = fits ? y + 18 : y - 14 - this.tip.offsetHeight;
    this.tip.style.transform = `translate(${Math.max(beside, 0)}px, ${top + above}px)`;
  }

  zoomToHit() {
    if (!this.hit?.row) return this.fit();
    const { row, i } = this.hit;
    const length = (row.end[i] - row.start[i]) * 12;
    const middle = (row.start[i] + row.end[i]) / 2;
    return this.setRange({ from: middle - length / 2, to: middle + length / 2 });
  }

  // Choice and keyboard

  /** Marks a span and the path of its microbatch; the same span again, or nothing, clears it. */
  choose(hit) {
    const same = hit?.row && this.chosen && this.chosen.row === hit.row && this.chosen.i === hit.i;
    this.chosen = hit?.row && !same ? { run: hit.track.run, row: hit.row, i: hit.i } : null;
    this.paintOverlay();
  }

  key(event) {
    const step = (this.range.to - this.range.from) / 10;
    const keys = {
      "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), 0: () => this.fit(),
      ArrowRight: () => (event.shiftKey ? this.pan(step) : this.walk(1)),
      ArrowLeft: () => (event.shiftKey ? this.pan(-step) : this.walk(-1)),
      ArrowDown: () => this.walkDevice(1),
      ArrowUp: () => this.walkDevice(-1),
      Escape: () => this.choose(null),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  computeLayers() {
    return this.layout.tracks.flatMap((track) =>
      track.layers.filter((layer) => layer.row.lane === LANE_COMPUTE && layer.row.overflow === 0).map((layer) => ({ track, row: layer.row })));
  }

  walk(step) {
    if (!this.chosen) return this.walkDevice(0);
    const { row, run } = this.chosen;
    const i = Math.min(Math.max(this.chosen.i + step, 0), row.start.length - 1);
    return this.goTo(run, row, i);
  }

  walkDevice(step) {
    const layers = this.computeLayers();
    if (layers.length === 0) return;
    const now = this.chosen ? layers.findIndex((layer) => layer.row === this.chosen.row) : 0;
    const { track, row } = layers[Math.min(Math.max(now + step, 0), layers.length - 1)];
    const time = this.chosen ? this.chosen.row.start[this.chosen.i] : this.range.from;
    this.goTo(track.run, row, Math.min(firstEndingAfter(row, time), row.start.length - 1));
  }

  goTo(run, row, i) {
    this.chosen = { run, row, i };
    if (row.start[i] < this.range.from || row.end[i] > this.range.to) {
      const half = (this.range.to - this.range.from) / 2;
      this.setRange({ from: row.start[i] - half, to: row.start[i] + half });
    }
    const words = spanTip(this, run, row, i).map((part) => part.innerText ?? part.textContent);
    this.live.textContent = words.join(". ");
    this.paintOverlay();
  }

  /** Comes close to an action of the first run, given by its text, and marks it. */
  showAction(device, text) {
    const run = this.section.runs[0];
    for (const row of run.rows) {
      if (row.device !== device || row.lane !== LANE_COMPUTE) continue;
      const i = row.start.findIndex((_, k) => actionText(this.page.ops, run, row, k) === text);
      if (i < 0) continue;
      this.overlay.scrollIntoView({ block: "center" });
      const length = (row.end[i] - row.start[i]) * 20;
      const middle = (row.start[i] + row.end[i]) / 2;
      this.setRange({ from: middle - length / 2, to: middle + length / 2 });
      this.goTo(run, row, i);
      return;
    }
  }

  /** Comes close to action number `number` (around the end from the first again) that has this text, of the runs shown. Whether there is one. */
  find(text, number) {
    const wanted = text.toLowerCase();
    const found = this.shown.flatMap((r) => {
      const run = this.section.runs[r];
      return run.rows.filter((row) => row.lane === LANE_COMPUTE).flatMap((row) =>
        Array.from(row.start.keys()).filter((i) => actionText(this.page.ops, run, row, i).toLowerCase() === wanted).map((i) => ({ run, row, i })));
    });
    if (found.length === 0) return false;
    const { run, row, i } = found[number % found.length];
    const length = (row.end[i] - row.start[i]) * 20;
    const middle = (row.start[i] + row.end[i]) / 2;
    this.setRange({ from: middle - length / 2, to: middle + length / 2 });
    this.goTo(run, row, i);
    return true;
  }

  // Painting, at most once per frame

  paint() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paintNow();
    });
  }

  paintNow() {
    const width = this.element.clientWidth;
    if (width === 0) return;
    this.layout = layoutTracks(this.section.runs, this.shown);
    this.scale = new TimeScale(this.range, this.left, width - this.left - this.right);
    paintTimeline(sizedContext(this.canvas, width, this.layout.bottom), this);
    this.overview.paint(width);
    this.paintOverlay();
  }

  paintOverlay() {
    if (!this.layout) return;
    const context = sizedContext(this.overlay, this.element.clientWidth, this.layout.bottom);
    paintOverlay(context, this);
  }
}
