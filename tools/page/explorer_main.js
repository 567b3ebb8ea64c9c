// The explorer: every change is simulated and drawn at once.

const VIEWS = [["timeline", "timeline"], ["catalogue", "all schedules"], ["own", "own schedule"], ["search", "best order"], ["plan", "plan"], ["campaign", "failures"]];

/** Words of the program for readers of the page, where options are fields: "--cluster: h100 has" as "cluster: h100 has". */
const pageWords = (words) => words.replace(/(^|[\s(])--(?=[a-z])/gm, "$1");

class Explorer {
  constructor(catalogue, simulators) {
    Object.assign(this, { catalogue, ...simulators, state: stateOfAddress(), sections: [], swept: "" });
    this.controls = new Controls(this.state, catalogue, () => this.changed(), (files) => this.takeFiles(files));
    this.tour = new TourView((step) => this.goToStep(step));
    this.exports = new ExportView({ ask: (want) => this.side.ask(({ ...requestOf(this.state, this.state.schedule, "simulate", [want], catalogue), ...this.exports.style(want) })), timeline: () => this.sections[0]?.timeline });
    this.all = new CatalogueView((schedule) => this.open({ schedule, view: "timeline" }));
    this.editor = new EditorView({
      check: (text, name) => this.simulator.ask({ ask: "validate", schedule: name, files: { [name]: text } }),
      take: (text, name) => this.open({ own: text, ownName: name, schedule: OWN_FILE, view: "timeline" }),
      example: () => this.exampleText(),
    });
    this.questions = [searchQuestion, planQuestion, campaignQuestion].map((asked) => asked(catalogue)).map((asked) => new QuestionView(asked, this.state, catalogue.schema[asked.ask],
      { simulator: this.planner, changed: () => keepAddress(this.state), open: (fields) => this.open(fields) }));
    this.message = element("p", { class: "message", role: "status" });
    this.runs = element("div", { class: "runs" });
    this.build();
  }

  build() {
    this.tabs = choice("what to show", VIEWS.map(([, title]) => title), 0, (i) => this.open({ view: VIEWS[i][0] }));
    this.parts = { timeline: element("div", {}, this.runs, this.exports.element), catalogue: this.all.element, own: this.editor.element,
      ...Object.fromEntries(this.questions.map(({ asked, element: card }) => [asked.ask, card])) };
    const tourButton = element("button", { type: "button", click: () => this.goToStep(0) }, "tour");
    frame({ title: "Pipeline schedules, explored", note: "Simulated in this page; nothing leaves it." }, [tourButton], () => this.repaint(),
      element("div", { class: "explorer" }, this.controls.element, element("div", { class: "explorer-content" }, this.tour.element, this.tabs, this.message, ...Object.values(this.parts))));
    // Links to a section of the page, as in the table of figures, leave the state alone.
    window.addEventListener("hashchange", () => (/^#section-\d+$/.test(location.hash) ? keepAddress(this.state) : this.openAnew({ ...stateOfAddress(), files: this.state.files })));
    this.listenForFiles();
    if (this.state.own !== "") this.editor.fill(this.state.own, this.state.ownName);
  }

  repaint() {
    forgetTheme();
    this.sections.forEach((section) => section.repaint());
  }

  /** Takes over fields of a state and shows them. */
  open(fields) {
    Object.assign(this.state, fields);
    if (fields.schedule !== undefined && fields.options === undefined) this.state.options = {};
    if (fields.own !== undefined && this.editor.area.value !== fields.own) this.editor.fill(fields.own, this.state.ownName);
    this.controls.build();
    this.questions.forEach((question) => question.build());
    return this.changed();
  }

  /** The same with the zoom and the device that the fields name, not those of before. */
  openAnew(fields) {
    this.sections.forEach((section) => section.dispose());
    this.sections = [];
    return this.open(fields);
  }

  goToStep(step) { return step === null ? this.open({ tour: "" }) : this.openAnew(tourState(step)); }

  /** Simulates what the state says; of several changes in quick succession the last one is drawn. */
  async changed() {
    keepAddress(this.state);
    this.showParts();
    this.stale = true;
    if (this.busy) return this.busy;
    this.busy = (async () => {
      while (this.stale) {
        this.stale = false;
        await this.update();
      }
      this.busy = null;
    })();
    return this.busy;
  }

  showParts() {
    const view = this.state.view in this.parts ? this.state.view : "timeline";
    for (const [name, part] of Object.entries(this.parts)) part.hidden = name !== view;
    [...this.tabs.children].forEach((button, i) => button.setAttribute("aria-pressed", String(VIEWS[i][0] === view)));
  }

  async update() {
    const { state } = this;
    if (state.view === "catalogue") await this.sweep();
    if (state.view !== "timeline") return;
    const schedules = [state.schedule, ...(state.against && state.against !== state.schedule ? [state.against] : [])];
    const begun = performance.now();
    const answers = [];
    for (const schedule of schedules) answers.push(await this.simulator.ask(requestOf(state, schedule, "simulate", ["page"], this.catalogue)));
    if (this.stale) return;
    if (this.measured && state.model === "profile" && state.profile === this.measured.profile) answers.push(structuredClone(this.measured)); // it is decoded in place
    const refused = answers.map((answer, i) => (answer.error ?? (answer.page ? "" : (answer.findings ?? []).join("\n"))) && `${schedules.length > 1 ? `${schedules[i]}: ` : ""}${answer.error ?? answer.findings.join("\n")}`).filter(Boolean);
    const excess = answers.flatMap((answer) => (answer.page ? answer.findings ?? [] : []));
    this.say([...refused, ...excess].join("\n"), refused.length > 0, excess.length > 0);
    if (answers[0].page) this.draw(answers.filter((answer) => answer.page), performance.now() - begun);
  }

  /** `excess`: the words are about memory that does not suffice, of a run that is drawn nevertheless. */
  say(words, refused, excess = false) {
    this.message.textContent = refused ? pageWords(words) : words;
    this.exports.element.hidden = this.sections.length === 0;
    this.message.classList.toggle("excess", excess && !refused);
    this.message.classList.toggle("refusal", refused);
    this.runs.classList.toggle("old", refused);
  }

  /** Draws new runs in the place of the old ones, with their zoom and the chosen device. */
  draw(answers, took) {
    const before = this.sections.length > 0
      ? this.sections.map((section) => ({ range: section.timeline?.range, limit: section.timeline?.limit, device: section.chosenDevice }))
      : [{ range: zoomOf(this.state), limit: Infinity, device: this.state.device === "" ? undefined : Number(this.state.device) }];
    this.sections.forEach((section) => section.dispose());
    const page = decode({ ...answers[0].page, sections: answers.flatMap((answer) => answer.page.sections) });
    this.sections = page.sections.map((section, number) => new Section(page, section, number));
    this.runs.replaceChildren(...[scaleChoice(this.sections), this.figures(page),
      ...this.sections.map((section) => section.element)].filter(Boolean));
    this.sections.forEach((section, k) => this.keep(section, before[k]));
    this.keepView();
    this.exports.element.hidden = false;
    this.exports.show(answers[0].command);
    this.tour.show(this.state.tour, page.sections[0].runs[0]);
    this.drawn = (this.drawn ?? 0) + 1;
    this.took = took;
    window.plumbline = { ...window.plumbline, page, sections: this.sections };
  }

  /** The table of figures, and what a reader of abstract costs may not expect. */
  figures(page) {
    const runs = this.state.model === "units" ? page.sections.filter(({ runs: [run] }) => run.kind === "simulated") : [];
    const idle = runs.filter(({ runs: [run] }) => isFree(run, page.ops.findIndex(({ name }) => name === "X"))).map(({ heading }) => heading).join(", ");
    return element("div", { class: "card" }, summaryView(page),
      idle ? element("p", { class: "about" }, `${idle}: the extra work X takes no time; other costs, such as X=1, give it one.`) : null);
  }

  keep(section, before) {
    if (!before) return;
    const { range, limit, device } = before;
    if (range && section.timeline && (range.from > 0 || range.to < limit)) section.timeline.setRange(range);
    if (device !== undefined && section.hasPeaks() && device < section.section.runs[0].devices.length) section.choose(device, 0);
  }

  /** Zoom and device of the first run become part of the address. */
  keepView() {
    const [first] = this.sections;
    const note = () => {
      const { range, limit } = first.timeline ?? {};
      const whole = !range || (range.from <= 0 && range.to >= limit);
      Object.assign(this.state, { zoom: whole ? "" : `${Math.round(range.from)}-${Math.round(range.to)}`,
        device: first.chosenDevice === undefined || first.chosenDevice === first.fullestDevice() ? "" : String(first.chosenDevice) });
      keepAddress(this.state);
    };
    const later = () => {
      clearTimeout(this.noting);
      this.noting = setTimeout(note, 200);
    };
    first.timeline?.listeners.push(later);
    first.chose = later;
    note();
  }

  async sweep() {
    const request = { ...sweepRequest(this.state, ["all"], this.catalogue), all: true };
    const key = JSON.stringify(request);
    if (key !== this.swept) {
      this.say("simulating the catalogue ...", false);
      const answer = await this.side.ask(request);
      if (answer.error) return this.say(answer.error, true);
      this.swept = key;
      this.rows = rowsOfCsv(answer.csv);
    }
    this.say("", false);
    return this.all.show(this.rows, this.state.schedule);
  }

  async exampleText() {
    const answer = await this.simulator.ask({ ...requestOf(this.state, this.state.schedule, "schedule", ["document"], this.catalogue), format: "text" });
    if (answer.error) this.say(answer.error, true);
    return answer.document ?? "";
  }

  // Files

  listenForFiles() {
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", async (event) => {
      event.preventDefault();
      await this.takeFiles([...event.dataTransfer.files]);
      this.dropped = true;
    });
  }

  /** Takes each file for what it is; the traces among them are those of the ranks of one run. */
  async takeFiles(files) {
    const traces = [];
    for (const file of files) {
      try {
        const { name, text } = await textOf(file);
        if (kindOf(text) === "trace") traces.push([name, text]);
        else await this.takeFile(name, text);
      } catch (error) {
        return this.say(`${file.name}: cannot be read (${error.message})`, true);
      }
    }
    return traces.length > 0 ? this.takeTraces(traces) : undefined;
  }

  /** Takes a schedule, network, cluster or profile for what it is; whatever else is said to be unknown. */
  takeFile(name, text) {
    const kind = kindOf(text);
    if (kind === "schedule") return this.open({ own: text, ownName: name, schedule: OWN_FILE, view: "own" });
    if (kind === "") return this.say(`${name}: expected a schedule, a network (or config.json), a cluster, a profile, or traces of a run`, true);
    this.state.files = { ...this.state.files, [name]: text };
    return this.open({ model: kind === "profile" ? "profile" : "network", [kind]: name, view: "timeline" });
  }

  /** `[name, text]` of the ranks of a run: its times are the costs from now on, and it is shown beside its prediction. */
  async takeTraces(traces) {
    this.say("reading the run ...", false);
    const answer = await this.side.ask({ ask: "trace", traces: traces.map(([name]) => name), files: Object.fromEntries(traces), want: ["profile", "page", "schedule"] });
    if (answer.error) return this.say(answer.error, true);
    this.state.files = { ...this.state.files, [RUN_FILE]: JSON.stringify(answer.profile) };
    this.measured = { page: answer.page, profile: RUN_FILE };
    const [run] = answer.page.sections[0].runs;
    return this.openAnew({ model: "profile", profile: RUN_FILE, view: "timeline", devices: String(run.devices.length), microbatches: String(run.microbatches / run.updates),
      ...(answer.schedule ? { schedule: answer.schedule } : {}), chunks: "", zoom: "", device: "" });
  }
}

/** Whether actions of the kind `op` are there, and none takes time. */
function isFree(run, op) {
  const spans = run.rows.flatMap((row) => [...row.action].flatMap((action, i) => (run.actions[action][0] === op ? [row.end[i] - row.start[i]] : [])));
  return spans.length > 0 && spans.every((length) => length === 0);
}

async function startExplorer() {
  const page = document.getElementById("page");
  page.textContent = "Starting the simulator ...";
  const bytes = moduleBytes();
  const simulators = { simulator: new Simulator(bytes), side: new Simulator(bytes), planner: new Simulator(bytes) };
  const list = async (name) => (await simulators.simulator.ask({ ask: name }))[name];
  const catalogue = { schedules: await list("schedules"), networks: await list("networks"), clusters: await list("clusters"),
    schema: Object.fromEntries(Object.entries((await list("schema")).$defs).map(([name, { properties }]) => [name, properties])) };
  page.textContent = "";
  const explorer = new Explorer(catalogue, simulators);
  window.plumbline = { explorer };
  await explorer.changed();
}

if (document.getElementById("simulator")) {
  startExplorer().catch((error) => { document.getElementById("page").textContent = `The explorer cannot start in this browser: ${error.message}`; });
}
