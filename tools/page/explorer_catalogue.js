// The whole catalogue as a plot of bubble against memory; the front is marked, a click opens a schedule.

/** Rows of a CSV text as objects. */
function rowsOfCsv(text) {
  const cells = (line) => [...line.matchAll(/("((?:[^"]|"")*)"|[^,]*)(,|$)/g)].slice(0, -1).map(([, plain, quoted]) => (quoted === undefined ? plain : quoted.replaceAll('""', '"')));
  const [head, ...lines] = text.trimEnd().split("\n");
  const names = cells(`${head},`);
  return lines.map((line) => Object.fromEntries(cells(`${line},`).map((cell, i) => [names[i], cell])));
}

/** Those that nothing beats in both `x` and `y`, by x. */
function frontOf(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.x - b.x || a.y - b.y).filter((point) => {
    if (point.y >= least) return false;
    least = point.y;
    return true;
  });
}

const SVG_NS = "http://www.w3.org/2000/svg";
function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS(SVG_NS, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** A square on the front, a cross for inference, a circle elsewhere. */
function pointShape(point, px, py, isFront, isChosen) {
  const size = isChosen ? 7 : 4.5;
  if (isFront) return svgElement("rect", { x: px - size - 0.5, y: py - size - 0.5, width: 2 * size + 1, height: 2 * size + 1 });
  if (point.kind === "forward") return svgElement("path", { d: `M${px - size} ${py - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}` });
  return svgElement("circle", { cx: px, cy: py, r: size });
}

class CatalogueView {
  /** `open(schedule)` shows a schedule. */
  constructor(open) {
    this.open = open;
    this.note = element("p", { class: "note", "aria-live": "polite" });
    this.plot = element("div", {});
    this.table = element("div", {});
    this.element = element("div", { class: "card" }, element("div", { class: "card-head" }, element("h3", {}, "Bubble against memory, the whole catalogue"),
      element("p", { class: "hint" }, "the lower left is best · click a schedule to open it")), this.note, this.plot, this.table);
  }

  /** `rows` of the sweep; `chosen`: the schedule that is shown. */
  show(rows, chosen) {
    this.rows = rows;
    this.chosen = chosen;
    const bytesOf = (row) => Number(row.needed_bytes) || Number(row.peak_memory_bytes);
    const inBytes = rows.some((row) => bytesOf(row) > 0);
    this.memory = inBytes ? ["memory that the fullest device needs, GiB", (row) => bytesOf(row) / 2 ** 30, "needs, GiB"]
      : ["peak of the fullest device, in activations of 1/p of the model", (row) => Number(row.peak_device_stashes), "peak, stashes"];
    const points = rows.filter((row) => row.error === "" && row.bubble_fraction !== "").map((row) => ({
      name: row.schedule, x: this.memory[1](row), y: Number(row.bubble_rate || row.bubble_fraction), fits: row.fits !== "false",
      kind: row.semantics }));
    const front = frontOf(points.filter((point) => point.fits && point.kind === "synchronous"));
    const refused = rows.filter((row) => row.error !== "");
    this.note.textContent = `${points.length} of ${rows.length} schedules run at this size; of the synchronous ones, ${front.map(({ name }) => name).join(", ")} ${front.length === 1 ? "is" : "are"} Pareto-optimal (squares). Hollow: asynchronous, with weights that are some updates old; crosses: inference.`;
    this.plot.replaceChildren(this.picture(points, front));
    this.table.replaceChildren(this.list(points), refused.length === 0 ? "" : element("details", {}, element("summary", {}, `${refused.length} ${refused.length === 1 ? "does" : "do"} not run at this size`),
      element("ul", {}, refused.map((row) => element("li", {}, row.error)))));
  }

  /** All points as a table, as many lie over each other. */
  list(points) {
    const columns = [["schedule", (point) => point.name], ["bubble rate", (point) => point.y], [this.memory[2], (point) => point.x], ["kind", (point) => point.kind]];
    const rows = [...points].sort((a, b) => a.y - b.y || a.x - b.x);
    const byName = new Map(rows.map((point) => [point.name, point]));
    const table = element("table", { class: "plain-table" }, element("thead", {}, element("tr", {}, columns.map(([title]) => element("th", {}, title)))),
      element("tbody", {}, rows.map((point) => element("tr", { class: point.name === this.chosen ? "chosen" : null },
        element("td", {}, element("button", { type: "button", class: "plain link", click: () => this.open(point.name) }, point.name)), element("td", {}, percentText(point.y)),
        element("td", {}, `${numberText(point.x)}${point.fits ? "" : ", does not fit"}`), element("td", {}, point.kind)))));
    sortable(table, (row, column) => columns[column][1](byName.get(row.cells[0].textContent)));
    return element("details", {}, element("summary", {}, `all ${points.length} as a table`), element("div", { class: "scrolling" }, table));
  }

  picture(points, front) {
    const [width, height, left, right, top, bottom] = [Math.min(Math.max(this.plot.clientWidth, 480) || 960, 960), 440, 64, 120, 16, 46];
    const most = (key) => Math.max(...points.map((point) => point[key]), 1e-9) * 1.04;
    const x = (value) => left + (value / most("x")) * (width - left - right);
    const y = (value) => height - bottom - (value / most("y")) * (height - top - bottom);
    const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, class: "catalogue", role: "group", "aria-label": "bubble against memory" });
    const line = (x1, y1, x2, y2, cls) => svg.append(svgElement("line", { x1, y1, x2, y2, class: cls }));
    const text = (words, tx, ty, anchor, cls = "axis") => svg.append(svgElement("text", { x: tx, y: ty, "text-anchor": anchor, class: cls }, words));
    for (let k = 0, step = niceStep(most("x") / 6); k * step <= most("x"); k += 1) {
      line(x(k * step), top, x(k * step), height - bottom, "grid");
      text(numberText(k * step, 3), x(k * step), height - bottom + 16, "middle");
    }
    for (let k = 0, step = niceStep(most("y") / 6); k * step <= most("y"); k += 1) {
      line(left, y(k * step), width - right, y(k * step), "grid");
      text(percentText(k * step, 0), left - 8, y(k * step) + 4, "end");
    }
    text(this.memory[0], (left + width - right) / 2, height - 8, "middle");
    text("bubble rate", left, top - 4, "start");
    svg.append(svgElement("polyline", { class: "front", points: front.map((point) => `${x(point.x)},${y(point.y)}`).join(" ") }));
    const taken = points.map((point) => [x(point.x) - 5, y(point.y), 10]);
    const inFront = new Set(front.map(({ name }) => name));
    const rank = (point) => (point.name === this.chosen ? 0 : inFront.has(point.name) ? 1 : 2);
    for (const point of [...points].sort((a, b) => rank(a) - rank(b))) this.mark(svg, point, [x(point.x), y(point.y)], rank(point), inFront.has(point.name), taken);
    return svg;
  }

  mark(svg, point, [px, py], rank, isFront, taken) {
    const cls = `point ${point.kind}${isFront ? " on-front" : ""}${rank === 0 ? " chosen" : ""}${point.fits ? "" : " too-large"}`;
    const words = `${point.name}: bubble ${percentText(point.y)}, ${numberText(point.x)}${point.fits ? "" : ", does not fit"}`;
    const group = svgElement("a", { class: cls, tabindex: "0", role: "button", "aria-label": words, click: () => this.open(point.name),
      keydown: (event) => { if (event.key === "Enter" || event.key === " ") this.open(point.name); } },
      svgElement("title", {}, words), pointShape(point, px, py, isFront, rank === 0));
    const wide = point.name.length * 6.4;
    const free = (ty) => !taken.some(([ox, oy, ow]) => Math.abs(oy - ty) < 12 && px + 9 < ox + ow && ox < px + 9 + wide);
    const ty = [4, -8, 16, -20, 28].map((shift) => py + shift).find((at) => at < 394 && free(at));
    if (ty !== undefined) {
      taken.push([px + 9, ty, wide]);
      group.append(svgElement("text", { x: px + 9, y: ty }, point.name));
    }
    svg.append(group);
  }
}
