// One diagram: lines, bands and marks over common axes. A click on a name hides its line.

const PLOT_HEIGHT = 340;

/** All values of x once, ascending, and the columns of the series on them (null where a series has none). */
function plotColumns(series) {
  const xs = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const onto = (one, values) => {
    const column = new Array(xs.length).fill(null);
    one.x.forEach((x, i) => { column[place.get(x)] = values[i]; });
    return column;
  };
  return { xs, onto };
}

class PlotView {
  /** `hidden`: names that are not drawn; shared by the diagrams of a card. */
  constructor(plot, hidden) {
    Object.assign(this, { plot, hidden });
    this.box = element("div", {});
    this.readout = element("p", { class: "readout", "aria-live": "off" }, " ");
    this.key = element("ul", { class: "series" }, plot.series.map((series) => this.keyEntry(series)));
    this.element = element("div", {}, this.box, this.readout, this.key);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.element);
  }

  destroy() {
    this.observer.disconnect();
    this.chart?.destroy();
  }

  keyEntry(series) {
    const button = element("button", {
      type: "button", "aria-pressed": String(!this.hidden.has(series.name)),
      click: () => {
        if (!this.hidden.delete(series.name)) this.hidden.add(series.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(series.name)));
        this.draw();
      },
    }, element("span", { class: "swatch", style: `background:${series.colour}` }), series.name);
    return element("li", {}, button);
  }

  shown() { return this.plot.series.filter((series) => !this.hidden.has(series.name)); }

  draw() {
    this.chart?.destroy();
    this.chart = null;
    const width = this.element.clientWidth;
    const series = this.shown();
    if (width === 0 || series.length === 0) return;
    const { xs, onto } = plotColumns(series);
    const data = [xs];
    const lines = [{ label: this.plot.x.title }];
    const bands = [];
    for (const one of series) {
      if (one.low) {
        bands.push({ series: [data.length + 1, data.length], fill: `${one.colour}28` });
        for (const edge of [one.low, one.high]) {
          data.push(onto(one, edge));
          lines.push({ label: "", stroke: "transparent", width: 0, points: { show: false }, spanGaps: true });
        }
      }
      data.push(onto(one, one.y));
      lines.push(this.line(one));
    }
    this.chart = new uPlot(this.options(width, lines, bands), data, this.box);
  }

  line(series) {
    return {
      label: series.name, stroke: series.line ? series.colour : "transparent", width: 2, dash: series.dashed ? [3, 5] : undefined, spanGaps: true,
      fill: series.region ? `${series.colour}1c` : undefined, points: { show: series.points, size: 6, fill: series.colour, stroke: series.colour },
      named: true,
    };
  }

  options(width, lines, bands) {
    const { x, y } = this.plot;
    const grid = { stroke: themed("--grid"), width: 1 };
    const axis = { stroke: themed("--dim"), grid, ticks: { show: false }, font: "11px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    const scale = ({ logarithmic }) => (logarithmic ? { distr: 3, time: false } : { time: false });
    const texts = (chart, splits) => splits.map((value) => (value === null ? "" : numberText(value)));
    return {
      width, height: PLOT_HEIGHT, legend: { show: false }, padding: [8, 16, 0, 0], bands,
      cursor: { points: { size: 7 }, drag: { x: true, y: true, uni: 12 } },
      scales: { x: { ...scale(x), ...(x.logarithmic ? {} : { range: (_, least, most) => [least > 0 && least < 0.1 * most ? 0 : least, most] }) }, y: { ...scale(y), ...(y.logarithmic ? {} : { range: (_, least, most) => this.rangeOf(least, most) }) } },
      series: lines,
      axes: [
        { ...axis, label: x.title, values: texts, size: 28, labelSize: 20 },
        { ...axis, label: y.title, values: texts, size: 56, labelSize: 20 },
      ],
      hooks: { draw: [(chart) => this.drawMarks(chart)], setCursor: [(chart) => this.read(chart)] },
    };
  }

  rangeOf(least, most) {
    const from = least > 0 && least < 0.4 * most ? 0 : least;
    const margin = 0.05 * (most - from || 1);
    return [from === 0 ? 0 : from - margin, most + margin];
  }

  /** Points worth naming, with their text. */
  drawMarks(chart) {
    const { ctx } = chart;
    const dots = devicePixelRatio;
    const taken = [];
    ctx.save();
    ctx.font = `${12 * dots}px system-ui, sans-serif`;
    ctx.fillStyle = themed("--ink");
    for (const mark of this.plot.marks) {
      const left = chart.valToPos(mark.x, "x", true);
      const top = chart.valToPos(mark.y, "y", true);
      if (left < chart.bbox.left || left > chart.bbox.left + chart.bbox.width) continue;
      ctx.beginPath();
      ctx.arc(left, top, 4 * dots, 0, 2 * Math.PI);
      ctx.fill();
      const wide = ctx.measureText(mark.text).width;
      const begin = left + 10 * dots + wide > chart.bbox.left + chart.bbox.width ? left - 10 * dots - wide : left + 10 * dots;
      let height = top - 6 * dots;
      while (taken.some((other) => Math.abs(other[1] - height) < 14 * dots && Math.abs(other[0] - begin) < wide)) height += 4 * dots;
      taken.push([begin, height]);
      ctx.fillText(mark.text, begin, height);
    }
    ctx.restore();
  }

  /** Below the diagram: the values at the pointer. */
  read(chart) {
    const i = chart.cursor.idx;
    if (i === null || i === undefined) {
      this.readout.textContent = " ";
      return;
    }
    const values = chart.series.map((line, s) => [line, chart.data[s][i]])
      .filter(([line, value]) => line.named && value !== null && value !== undefined);
    this.readout.textContent = `${this.plot.x.title} ${numberText(chart.data[0][i], 5)}: ` +
      values.map(([line, value]) => `${line.label} ${numberText(value)}`).join(" · ");
  }

  resize() {
    if (!this.chart) this.draw();
    else this.chart.setSize({ width: this.element.clientWidth, height: PLOT_HEIGHT });
  }
}
