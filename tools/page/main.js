// The page: figures of all runs, then one section per run or pair of runs.

/** Ops of a run that take time. */
function paintedOps(run) {
  const painted = new Set();
  for (const row of run.rows) {
    row.action.forEach((a, i) => { if (row.end[i] > row.start[i]) painted.add(run.actions[a][0]); });
  }
  return [...painted];
}

class Section {
  constructor(page, section, number) {
    this.page = page;
    this.section = section;
    this.timeline = section.runs.some((run) => run.spanCount > 0) ? new TimelineView(page, section) : null;
    const hasMemory = this.timeline && section.runs.some((run) => run.memory.length > 0);
    this.memory = hasMemory ? new MemoryView(page, section, this.timeline) : null;
    this.composition = element("div", { class: "composition" });
    this.element = element("section", { id: `section-${number}`, "aria-label": section.heading },
      this.heading(), this.timelinePart(), this.memoryPart(), this.idlePart(), delaysPart(this.section), this.comparisonPart());
    if (this.hasPeaks()) this.choose(this.fullestDevice(), 0);
  }

  hasPeaks() { return this.section.runs.some((run) => run.devices.some((device) => device.peak > 0)); }

  fullestDevice() {
    const peaks = this.section.runs[0].devices.map((device) => device.peak);
    return peaks.indexOf(Math.max(...peaks));
  }

  heading() {
    const { section } = this;
    const { runs } = section;
    const facts = [ofRuns(runs, (run) => run.devices.length, "device"), ofRuns(runs, (run) => run.microbatches, "microbatch", "microbatches")];
    if (runs.some((run) => run.updates > 1)) facts.push(ofRuns(runs, (run) => run.updates, "update"));
    const machines = [...new Set(section.runs.map((one) => one.machine).filter((text) => text !== ""))];
    return element("header", {}, element("h2", {}, section.heading),
      element("p", { class: "facts" }, [...facts, ...machines].join(" · ")),
      section.runs.map((one) => excessText(one)).filter((text) => text !== "").map((text) => element("p", { class: "excess" }, text)),
      section.note ? element("p", { class: "note" }, element("code", {}, section.note)) : null);
  }

  timelinePart() {
    const { timeline, section } = this;
    if (!timeline) return element("p", { class: "note" }, "This run was recorded without its actions, so only figures are shown.");
    const { names } = section;
    const controls = [
      element("button", { type: "button", title: "zoom in (+)", "aria-label": "zoom in", click: () => timeline.zoom(1.6) }, "+"),
      element("button", { type: "button", title: "zoom out (−)", "aria-label": "zoom out", click: () => timeline.zoom(1 / 1.6) }, "−"),
      element("button", { type: "button", title: "show everything (0)", click: () => timeline.fit() }, "fit"),
      findField(timeline),
      takeAway(this),
    ];
    if (names.length > 1) {
      const shown = section.order;
      controls.unshift(choice("runs shown", ["both", ...shown.map((r) => names[r])], 0, (i) => timeline.show(i === 0 ? shown : [shown[i - 1]])));
    }
    return element("div", { class: "card" },
      element("div", { class: "card-head" }, element("h3", {}, "Timeline"),
        element("p", { class: "hint" }, "scroll to zoom · drag to pan · click to trace a microbatch · double-click to zoom in"),
        element("div", { class: "controls" }, controls)),
      timeline.element, this.opLegend());
  }

  opLegend() {
    const { page, section } = this;
    const ops = new Set(section.runs.flatMap(paintedOps));
    const lighter = section.runs.flatMap((run) => run.colours.filter((_, i) => run.levels[i] > 0));
    const causes = new Set(section.runs.flatMap((run) => run.gaps.flatMap((gaps) => [...new Set(gaps.cause)])));
    const hatched = (colour) =>
      `repeating-linear-gradient(135deg, ${colour}b3 0 2px, transparent 2px 5px), var(--lane)`; // Firefox draws no stripes of color-mix()
    const hasPairs = section.runs.some((run) => run.rows.some((row) => row.part?.some((part) => part !== 0)));
    const hasReplicas = section.runs.some((run) => run.actions.some(([, , replica]) => replica > 0));
    return legend([
      ...[...ops].sort((a, b) => a - b).map((op) => [page.ops[op].colour, page.ops[op].title]),
      ...(hasPairs ? [[pairFill(page.ops[0].colour, page.ops[1].colour), "two actions at once"]] : []),
      ...(hasReplicas ? [["transparent", "1:3F4: forward of microbatch 4 in stage 3 of replica 1"]] : []),
      ...lighter.slice(0, 1).map((colour) => [colour, "lighter: later stages of the same device"]),
      ...[...causes].sort((a, b) => a - b).map((cause) => [hatched(page.causes[cause].colour), `idle: ${page.causes[cause].title}`]),
    ]);
  }

  memoryPart() {
    if (!this.hasPeaks()) return null;
    this.memoryTitle = element("h3", {}, "Memory");
    return element("div", { class: "card" },
      element("div", { class: "card-head" }, this.memoryTitle,
        element("p", { class: "hint" }, "select a device below · drag over the curve to zoom")),
      this.memory?.element ?? null,
      element("div", { class: "columns" }, peakTable(this.page, this.section, (device, r) => this.choose(device, r)), this.composition));
  }

  idlePart() {
    return element("div", { class: "card" },
      element("div", { class: "card-head" }, element("h3", {}, "Where the time goes"),
        element("p", { class: "hint" }, this.section.runs.some(isSlowed) ? "right: how much slower the actions ran because of other devices, and the idle share of the makespan"
          : "right: the idle share of the makespan")),
      idleView(this.page, this.section));
  }

  comparisonPart() {
    if (!this.section.comparison) return null;
    return comparisonCard(this.page, this.section, (device, text) => this.timeline?.showAction(device, text));
  }

  /** Shows the memory of a device of one of the runs. */
  choose(device, r) {
    this.chosenDevice = device;
    this.chose?.();
    const { section, page } = this;
    const name = section.runs.length > 1 ? `, ${section.names[r]}` : "";
    this.memoryTitle.textContent = `Memory of device ${device}${name}`;
    this.memory?.select(device, r);
    this.composition.replaceChildren(...[tensorTable(page, section.runs[r], device)].filter(Boolean));
    for (const row of this.element?.querySelectorAll(".peaks tr") ?? []) {
      row.classList.toggle("chosen", row.dataset.device === String(device) && row.dataset.run === String(r));
    }
  }

  /** To be called when the section is taken off its page. */
  dispose() {
    this.timeline?.dispose();
    this.memory?.chart?.destroy();
  }

  repaint() {
    this.timeline?.paintNow();
    this.memory?.draw();
  }
}

/** One time axis for all sections, so that lengths can be compared by eye. */
function scaleChoice(sections) {
  const views = sections.map((section) => section.timeline).filter(Boolean);
  if (views.length < 2) return null;
  const longest = Math.max(...views.map((view) => view.ownLimit));
  const shortest = Math.min(...views.map((view) => view.ownLimit));
  const set = (i) => views.forEach((view) => view.setLimit(i === 0 ? longest : view.ownLimit));
  const first = longest <= 3 * shortest ? 0 : 1;
  set(first);
  return choice("time axis", ["same time axis", "separate time axes"], first, set);
}

/** Which of several runs of one configuration are shown, such as the steps of a trace: one, or all below each other. */
function runChoice(sections) {
  const runs = sections.filter(({ section }) => section.choice !== "");
  if (runs.length < 2) return null;
  const show = (i) => runs.forEach((run, k) => { run.element.hidden = i > 0 && k !== i - 1; });
  const chosen = runs.findIndex(({ section }) => section.chosen);
  show(chosen + 1);
  const control = choice("run shown", ["all", ...runs.map(({ section }) => section.choice)], chosen + 1, show);
  window.addEventListener("hashchange", () => {
    const k = runs.findIndex((run) => run.element.id === viewOfAddress().place);
    if (k < 0 || !runs[k].element.hidden) return;
    control.children[k + 1].click();
    runs[k].element.scrollIntoView();
  });
  return control;
}

/** The diagram above all runs, in a shadow of its own for its styles; a click on a dot leads to its run. */
function diagramCard({ diagram }) {
  if (diagram === "") return null;
  const host = element("div", { class: "diagram", role: "group", "aria-label": "bubble or step time against peak memory of every run" });
  host.attachShadow({ mode: "open" }).innerHTML = `<style>svg { display: block; width: 100%; height: auto } a circle { cursor: pointer } a:hover circle, a:focus circle { r: 6px }</style>${diagram}`;
  const linked = host.shadowRoot.querySelector("a") !== null;
  return element("div", { class: "card" }, host, linked ? element("p", { class: "hint" }, "click a dot for its timeline") : null);
}

/** All runs on one time axis; a shadow of its own for its styles. */
function comparedCard({ card }) {
  if (!card) return null;
  const host = element("div", { class: "compared" });
  host.attachShadow({ mode: "open" }).innerHTML = `<style>svg { display: block; width: 100%; height: auto }</style>${card}`;
  return element("div", { class: "card" }, element("div", { class: "card-head" }, element("h3", {}, "On one time axis")), host);
}

/** The section and the view of it that the address names: `#section-1&zoom=5000-9000&device=2`. */
function viewOfAddress() {
  const [place, ...fields] = location.hash.slice(1).split("&");
  const named = new URLSearchParams(fields.join("&"));
  const [from, to] = (named.get("zoom") ?? "").split("-").map(Number);
  return { place, zoom: to > from ? { from, to } : null, device: named.has("device") ? Number(named.get("device")) : null };
}

/** What the reader looks at becomes the page's address, and an address shows what it names. */
function permalinks(sections) {
  sections.forEach((section) => {
    let waiting = null;
    const note = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const { range, limit } = section.timeline ?? {};
        const fields = [section.element.id];
        if (range && (range.from > 0 || range.to < limit)) fields.push(`zoom=${Math.round(range.from)}-${Math.round(range.to)}`);
        if (section.chosenDevice !== undefined && section.chosenDevice !== section.fullestDevice()) fields.push(`device=${section.chosenDevice}`);
        history.replaceState(null, "", `#${fields.join("&")}`);
      }, 200);
    };
    section.timeline?.listeners.push((range) => { if (range.from > 0 || range.to < section.timeline.limit || location.hash.includes("zoom=")) note(); });
    section.chose = note;
  });
  const show = () => {
    const { place, zoom, device } = viewOfAddress();
    const section = sections.find((one) => one.element.id === place);
    if (!section) return;
    if (zoom) section.timeline?.setRange(zoom);
    const holder = section.section.runs.findIndex((run) => device !== null && device < run.devices.length);
    if (holder >= 0 && section.hasPeaks()) section.choose(device, holder);
    if (zoom || device !== null) section.element.scrollIntoView();
  };
  window.addEventListener("hashchange", show);
  show();
}

function start() {
  const page = decode(JSON.parse(document.getElementById("data").textContent));
  const sections = page.sections.map((section, number) => new Section(page, section, number));
  const repaint = () => {
    forgetTheme();
    sections.forEach((section) => section.repaint());
  };
  frame(page, [runChoice(sections), scaleChoice(sections)], repaint, adviceCard(page),
    comparedCard(page), diagramCard(page),
    page.sections.length === 0 ? null : element("div", { class: "card" }, summaryView(page)), ...sections.map((section) => section.element));
  permalinks(sections);
  window.plumbline = { page, sections, spansCsv, timelinePicture };
}

if (document.getElementById("data")) start(); // the explorer brings no data
