// The whole run in a thin strip above the timeline, with the visible part marked; drag to move it.

class Overview {
  constructor(view) {
    this.view = view;
    this.canvas = element("canvas", { class: "overview", "aria-hidden": "true" });
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.moveTo(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.moveTo(event);
    });
  }

  moveTo(event) {
    const { view } = this;
    const time = this.scale.time(event.offsetX);
    const half = (view.range.to - view.range.from) / 2;
    view.setRange({ from: time - half, to: time + half });
  }

  paint(width) {
    const { view } = this;
    const tracks = view.layout.tracks;
    const line = Math.max(1, Math.min(6, Math.floor(44 / tracks.length)));
    const height = line * tracks.length + 6;
    const context = sizedContext(this.canvas, width, height);
    this.scale = new TimeScale({ from: 0, to: view.limit }, view.left, width - view.left - view.right);
    this.picture(tracks, line, height).drawOn(context);
    this.paintWindow(context, height);
  }

  /** All compute rows; made again only when they or the size change. */
  picture(tracks, line, height) {
    const made = [this.scale.width, this.view.limit, this.view.shown.join(), devicePixelRatio].join(" ");
    if (this.made === made) return this.dense;
    this.made = made;
    this.dense = new DensePicture(this.scale, height);
    tracks.forEach((track, k) => {
      const rows = track.layers.map(({ row }) => row).filter((row) => row.lane === LANE_COMPUTE);
      const layers = rows.map((row) => ({ row, top: 3 + k * line, height: line }));
      if (layers.length > 0) this.dense.add(track.run, layers, rows.map((row) => [0, row.start.length]));
    });
    return this.dense;
  }

  paintWindow(context, height) {
    const { range, limit } = this.view;
    const from = this.scale.x(range.from);
    const to = this.scale.x(range.to);
    const end = this.scale.left + this.scale.width;
    if (range.from > 0 || range.to < limit) {
      context.fillStyle = themed("--veil");
      context.fillRect(this.scale.left, 0, from - this.scale.left, height);
      context.fillRect(to, 0, end - to, height);
    }
    context.strokeStyle = themed("--accent");
    context.lineWidth = 1.5;
    context.strokeRect(from + 0.75, 0.75, Math.max(to - from - 1.5, 2), height - 1.5);
  }
}
