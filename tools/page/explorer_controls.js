// The controls, made from the catalogues that the simulator itself has.

const MODELS = ["units", "network", "profile"];

/** Options of a job that have a control of their own, or that only change the tables of the program. */
const FORM_OPTIONS = ["schedule", "devices", "microbatches", "chunks", "updates", "opt", "cost", "network", "cluster", "profile", "partition", "memory-limit",
  "tp", "cp", "ep", "dp", "zero", "microbatch-size", "recompute", "runtime", "job", "job-set", "job-args", "order", "peak", "critical-path", "delays", "what-if", "width", "caption"];

/** A labelled control; `note` explains it under the pointer. */
function labelled(text, control, note = "") {
  return element("label", { class: "field", title: note }, element("span", {}, text), control);
}

class Controls {
  /** `changed(name)` is called after `state[name]` has a new value, `takeFiles(files)` when some are opened. */
  constructor(state, catalogue, changed, takeFiles) {
    Object.assign(this, { state, catalogue, changed, takeFiles, folded: new Map() });
    this.element = element("form", { class: "card controls-form", "aria-label": "what to simulate", submit: (event) => event.preventDefault() });
    this.build();
  }

  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    if (name === "schedule") Object.assign(this.state, { options: {}, chunks: "", updates: "" });
    if (name === "schedule" || name === "model") this.build();
    this.changed(name);
  }

  build() {
    const focused = document.activeElement?.dataset?.name;
    this.element.replaceChildren(...[
      this.group("Schedule", this.scheduleFields()),
      this.group("Costs", this.costFields()),
      this.group("Files", [element("input", { type: "file", multiple: true, "aria-label": "open files", "data-name": "open-files", change: (event) => this.takeFiles(event.target.files) }),
        element("p", { class: "about" }, "a schedule, network, cluster, profile, or the traces of a run; or drop them on the page")]),
    ]);
    if (focused) this.element.querySelector(`[data-name="${focused}"]`)?.focus();
  }

  /** Groups can be folded; on a narrow page, where they stand above the drawing, those that are not needed at first are. */
  group(title, fields) {
    const open = this.folded.get(title) ?? (matchMedia("(min-width: 901px)").matches || (title === "Schedule" && this.state.tour === ""));
    return element("details", { class: "group", open, toggle: (event) => this.folded.set(title, event.target.open) }, element("summary", {}, title), fields);
  }

  spec() { return this.catalogue.schedules.find(({ name }) => name === this.state.schedule); }

  scheduleFields() {
    const spec = this.spec();
    return [
      labelled("schedule", this.scheduleChoice("schedule", this.state.own === "" ? [] : [OWN_FILE])),
      element("p", { class: "about" }, spec ? `${spec.summary} (${spec.source.split(",")[0]}, ${spec.year})${spec.needs ? `; needs ${spec.needs}` : ""}` : "your own schedule, see 'own schedule'"),
      spec?.option_list.map((option) => this.optionField(option)) ?? [],
      spec ? [
        this.slider("devices", "devices p", 1, 32, 1, "pipeline devices"),
        this.slider("microbatches", "microbatches m", 1, 128, 1, "microbatches per update"),
        this.slider("chunks", "chunks v", 1, 8, 1, "stages per device; empty: what the schedule does by itself"),
        spec.synchronous ? null : this.slider("updates", "updates", 1, 32, 1, "optimizer updates that are simulated; empty: enough for a steady state"),
      ] : [],
      labelled("next to it", this.scheduleChoice("against", this.state.own === "" ? [""] : ["", OWN_FILE]), "a second schedule of the same size and costs"),
    ];
  }

  costFields() {
    const fields = this.state.model === "units" ? this.unitFields() : this.state.model === "profile" ? this.profileFields() : this.modelFields();
    return [...fields, moreOptions(this.catalogue.schema.simulate, FORM_OPTIONS, "more.", this.state, () => this.changed("more"))];
  }

  scheduleChoice(name, before) {
    const titles = { "": "–", [OWN_FILE]: "own schedule" };
    const option = (value) => element("option", { value, selected: this.state[name] === value }, titles[value] ?? value);
    const some = (synchronous) => this.catalogue.schedules.filter((spec) => spec.synchronous === synchronous && !spec.alias_of).map((spec) => option(spec.name));
    const select = element("select", { "data-name": name, change: (event) => this.set(name, event.target.value) }, before.map(option),
      element("optgroup", { label: "synchronous" }, some(true)), element("optgroup", { label: "asynchronous" }, some(false)));
    return select;
  }

  optionField({ name, values, meaning, default: usual }) {
    const now = this.state.options[name] ?? "";
    const set = (event) => {
      this.state.options[name] = event.target.value === usual ? "" : event.target.value;
      this.changed("options");
    };
    const picks = /^[a-z0-9-]+(\|[a-z0-9-]+)+$/.test(values) ? values.split("|") : null;
    const control = picks
      ? element("select", { "data-name": `opt.${name}`, change: set }, picks.map((value) => element("option", { value, selected: value === (now || usual) }, value)))
      : element("input", { "data-name": `opt.${name}`, value: now, placeholder: usual, change: set, size: 10 });
    return labelled(name, control, `${meaning} (${values}; default: ${usual})`);
  }

  /** A number with a slider; `most` bounds only the slider. An empty number is left to the program. */
  slider(name, title, least, most, step, note = "") {
    const now = this.state[name];
    const number = element("input", { type: "number", min: least, step, value: now, "data-name": name, "aria-label": title });
    const range = element("input", { type: "range", min: least, max: most, step, value: now === "" ? least : now, "aria-label": `${title}, slider`, tabindex: "-1" });
    number.addEventListener("input", () => {
      if (number.value !== "") range.value = number.value;
      this.set(name, number.value);
    });
    range.addEventListener("input", () => {
      number.value = range.value;
      this.set(name, range.value);
    });
    return element("div", { class: "field", title: note }, element("span", {}, title), range, number);
  }

  modelChoice() {
    return choice("costs", ["units", "network", "profile"], Math.max(MODELS.indexOf(this.state.model), 0), (i) => this.set("model", MODELS[i]));
  }

  unitFields() {
    const notes = { F: "forward of a device's share of the model", B: "backward, where it is one action", I: "input gradient, where the backward is split",
      W: "weight gradient, where the backward is split", comm: "message from stage to stage" };
    return [this.modelChoice(), COST_KEYS.map((key) => this.slider(key, key, 0, 4, 0.1, `${notes[key]}, in units (1 unit = 1 ms)`)),
      this.text("other", "other costs", "X=1,U=0.5", "of other actions: R recompute, U update, X extra work, AR reduction of gradients, EVICT and LOAD; FB of an overlapped pair"),
      this.text("memory-limit", "memory limit", "stashes", "of every device, in stashes: the activations of one microbatch for 1/p of the model")];
  }

  profileFields() {
    const profiles = Object.keys(this.state.files).filter((name) => isProfile(this.state.files[name]));
    const names = profiles.includes(this.state.profile) ? profiles : [this.state.profile, ...profiles];
    return [this.modelChoice(),
      labelled("profile", element("select", { "data-name": "profile", change: (event) => this.set("profile", event.target.value) },
        names.map((value) => element("option", { value, selected: value === this.state.profile }, value || "none yet")))),
      element("p", { class: "about" }, "measured by plumbline profile, or read from the traces of a real run: open its files, rank0.json.gz and so on, all at once"),
      this.text("memory-limit", "memory limit", "of the device", "of every device, such as 40GiB")];
  }

  modelFields() {
    const named = (list, name) => [
      element("input", { "data-name": name, value: this.state[name], list: `known-${name}s`, change: (event) => this.set(name, event.target.value.trim()) }),
      element("datalist", { id: `known-${name}s` }, [...Object.keys(this.state.files), ...list.map((one) => one.name)].map((value) => element("option", { value })))];
    return [this.modelChoice(),
      labelled("network", named(this.catalogue.networks, "network")), labelled("cluster", named(this.catalogue.clusters.filter(({ name }) => name !== "host"), "cluster"), "a name, or one with its size: h100-8x8 is eight nodes of eight"),
      element("div", { class: "degrees" }, ["tp", "cp", "ep", "dp", "zero"].map((name) => this.count(name))),
      this.slider("microbatch-size", "samples per microbatch", 1, 16, 1),
      labelled("recompute", element("select", { "data-name": "recompute", change: (event) => this.set("recompute", event.target.value) },
        ["", "selective", "full"].map((value) => element("option", { value, selected: this.state.recompute === value }, value || "none")))),
      labelled("runtime", element("select", { "data-name": "runtime", change: (event) => this.set("runtime", event.target.value) },
        ["", ...systemsOf(this.catalogue.schema.simulate.runtime)].map((value) => element("option", { value, selected: this.state.runtime === value }, value || "ideal")))),
      this.text("partition", "layers", "balanced", "how layers are split into stages: balanced, equal, or 3,4,4,3"),
      this.text("memory-limit", "memory limit", "of the device", "of every device, such as 40GiB")];
  }

  count(name) {
    return labelled(name, element("input", { type: "number", min: name === "zero" ? 0 : 1, max: name === "zero" ? 3 : 512, value: this.state[name], "data-name": name,
      input: (event) => this.set(name, event.target.value) }), name === "zero" ? "ZeRO stage" : `${name.toUpperCase()} degree`);
  }

  text(name, title, placeholder, note) {
    return labelled(title, element("input", { value: this.state[name], placeholder, "data-name": name, change: (event) => this.set(name, event.target.value.trim()) }), note);
  }
}
