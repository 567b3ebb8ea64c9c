// Memory of one device over time, by class, on the time axis of the timeline above it.

/** Points of a device as columns: times, and per class the bytes from that time on. Later points of one time win. */
function memoryColumns(run, device, classes) {
  const points = run.memory[device];
  const times = [];
  const columns = classes.map(() => []);
  const now = new Array(classes.length).fill(0);
  const push = (time) => {
    times.push(time);
    columns.forEach((column, k) => column.push(now[k]));
  };
  const place = new Map(classes.map((c, k) => [c, k]));
  for (let i = 0; i < points.time.length; i += 1) {
    now[place.get(points.class[i])] = points.bytes[i];
    if (i + 1 === points.time.length || points.time[i + 1] !== points.time[i]) push(points.time[i]);
  }
  if (times.length > 0 && times[times.length - 1] < run.makespan) push(run.makespan);
  return { times, columns };
}

/** Classes that the device ever uses, in the order of the legend. */
function usedClasses(run, device) {
  const used = new Set();
  const points = run.memory[device];
  points.class.forEach((c, i) => { if (points.bytes[i] > 0) used.add(c); });
  return [...used].sort((a, b) => a - b);
}

/** Running totals: the top edge of each class when they are stacked. */
function stacked(columns) {
  let below = null;
  return columns.map((column) => {
    below = column.map((value, i) => value + (below ? below[i] : 0));
    return below;
  });
}

const STASH_STEPS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000];
const MOST_ABOVE_CURVE = 3; // a limit further up is only named
const BYTE_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

class MemoryView {
  constructor(page, section, timeline) {
    Object.assign(this, { page, section, timeline, device: 0, run: 0 });
    this.plot = element("div", { class: "memory-plot" });
    this.key = element("div", {});
    this.readout = element("p", { class: "readout", "aria-live": "off" });
    this.element = element("div", { class: "memory" }, this.plot, this.readout, this.key);
    timeline.listeners.push((range) => this.follow(range));
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  select(device, run = this.run) {
    Object.assign(this, { device, run });
    this.draw();
  }

  draw() {
    this.chart?.destroy();
    this.chart = null;
    const width = this.element.clientWidth;
    const run = this.section.runs[this.run];
    if (width === 0 || !run.memory[this.device]) return;
    const classes = usedClasses(run, this.device);
    const { times, columns } = memoryColumns(run, this.device, classes);
    const edges = stacked(columns);
    const lines = classes.map((c) => this.edge(c)).reverse();
    const data = [times, ...edges.reverse()];
    const other = this.otherTotal();
    if (other) {
      lines.push(other.line);
      this.chart = new uPlot(this.options(width, lines), uPlot.join([data, other.data]), this.plot);
    } else {
      this.chart = new uPlot(this.options(width, lines), data, this.plot);
    }
    const titles = [...classes].map((c) => [this.page.classes[c].colour, this.page.classes[c].title]);
    if (other) titles.push(["repeating-linear-gradient(90deg, var(--ink) 0 4px, transparent 4px 7px)", `total, ${other.name}`]);
    if (this.limit()) titles.push([`linear-gradient(${themed("--bad")} 0 0) center / 100% 2px no-repeat`, `limit: ${amountText(run)(this.limit())}`]);
    this.key.replaceChildren(legend(titles));
    this.follow(this.timeline.range);
  }

  edge(c) {
    const { colour, title } = this.page.classes[c];
    return {
      label: title, stroke: colour, fill: colour, width: 0, points: { show: false },
      paths: uPlot.paths.stepped({ align: 1 }), spanGaps: true,
    };
  }

  /** Total of the section's other run, as a dashed line. */
  otherTotal() {
    const r = 1 - this.run;
    const run = this.section.runs[r];
    if (!run?.memory[this.device]) return null;
    const { times, columns } = memoryColumns(run, this.device, usedClasses(run, this.device));
    const total = stacked(columns).pop();
    if (!total) return null;
    const line = {
      label: `total, ${this.section.names[r]}`, stroke: themed("--ink"), width: 1.25, dash: [4, 3], points: { show: false },
      paths: uPlot.paths.stepped({ align: 1 }), spanGaps: true,
    };
    return { name: this.section.names[r], line, data: [times, total] };
  }

  /** Most that the device may hold, or 0 where nobody said. */
  limit() { return this.section.runs[this.run].devices[this.device].need?.limit ?? 0; }

  /** The top of the axis: with the limit where that leaves the curve readable. */
  top(most) {
    const limit = this.limit();
    return Math.max(most || 1, limit <= MOST_ABOVE_CURVE * most ? limit : 0) * 1.06;
  }

  drawLimit(chart) {
    const limit = this.limit();
    if (limit === 0 || limit > chart.scales.y.max) return;
    const { left, width } = chart.bbox;
    const y = Math.round(chart.valToPos(limit, "y", true));
    chart.ctx.save();
    chart.ctx.fillStyle = themed("--bad");
    chart.ctx.fillRect(left, y - 1, width, 2 * devicePixelRatio);
    chart.ctx.restore();
  }

  options(width, lines) {
    const inStashes = this.section.runs[this.run].inStashes;
    const grid = { stroke: themed("--grid"), width: 1 };
    const axis = { stroke: themed("--dim"), grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    return {
      width, height: 190, legend: { show: false }, padding: [8, this.timeline.right, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: false }, y: { range: (_, __, most) => [0, this.top(most)] } },
      series: [{ label: "time" }, ...lines],
      axes: [
        { ...axis, values: (_, splits) => timeTexts(splits), space: 90, size: 26 },
        {
          ...axis, size: this.timeline.left, gap: 6,
          incrs: inStashes ? STASH_STEPS : BYTE_STEPS,
          values: (_, splits) => splits.map((amount) => (inStashes ? numberText(amount) : bytesText(amount))),
        },
      ],
      hooks: {
        draw: [(chart) => this.drawLimit(chart)],
        setCursor: [(chart) => this.read(chart)],
        setSelect: [(chart) => {
          if (chart.select.width < 4) return;
          const from = chart.posToVal(chart.select.left, "x");
          const to = chart.posToVal(chart.select.left + chart.select.width, "x");
          chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          this.timeline.setRange({ from, to });
        }],
      },
    };
  }

  /** Under the curve: what is alive at the pointer. */
  read(chart) {
    const i = chart.cursor.idx;
    const amounts = i === null || i === undefined ? [] : this.amountsAt(chart.data[0][i]);
    const text = amountText(this.section.runs[this.run]);
    const total = amounts.reduce((sum, [, bytes]) => sum + bytes, 0);
    this.readout.textContent = amounts.length === 0 ? " " : `${timeText(chart.posToVal(chart.cursor.left, "x"), 5)}: ${text(total)} = ` +
      amounts.map(([title, bytes]) => `${title} ${text(bytes)}`).join(" + ");
  }

  /** `[title, bytes]` of the classes alive at `time`. */
  amountsAt(time) {
    const points = this.section.runs[this.run].memory[this.device];
    const now = new Map();
    for (let i = 0; i < points.time.length && points.time[i] <= time; i += 1) now.set(points.class[i], points.bytes[i]);
    return [...now].filter(([, bytes]) => bytes > 0).sort(([a], [b]) => a - b).map(([c, bytes]) => [this.page.classes[c].title, bytes]);
  }

  follow({ from, to }) { this.chart?.setScale("x", { min: from, max: to }); }

  resize() {
    if (!this.chart) this.draw();
    else this.chart.setSize({ width: this.element.clientWidth, height: 190 });
  }
}
