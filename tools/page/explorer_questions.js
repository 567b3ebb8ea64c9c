// Questions that take seconds, each with a simulator of its own: the fastest plan, the best order, a job while nodes fail.

/** A control of the field `key` of the state for one option of a request; `set(text)` takes its new value, "" for none. */
function optionControl(key, schema, value, set) {
  const types = [schema.type].flat();
  if (types.includes("boolean")) return element("input", { type: "checkbox", "data-name": key, checked: value !== "", change: (event) => set(event.target.checked ? "true" : "") });
  const number = types.includes("integer");
  return element("input", { type: number ? "number" : "text", min: number ? schema.minimum : null, max: number ? schema.maximum : null, value, "data-name": key,
    change: (event) => set(event.target.value.trim()) });
}

/** A text of the state as the value of an option. */
function optionValue(schema, text) {
  const types = [schema?.type ?? "string"].flat();
  if (types.includes("boolean")) return true;
  return types.includes("array") ? text.split(/\s+/) : text;
}

const DOCUMENT_FIELDS = ["version", "ask", "files", "want"];

/** Fields for the options of `properties` that `shown` does not name, behind a line that opens them. */
function moreOptions(properties, shown, prefix, state, changed) {
  const names = Object.keys(properties).filter((name) => !shown.includes(name) && !DOCUMENT_FIELDS.includes(name));
  const given = names.filter((name) => state[prefix + name]);
  return element("details", { class: "more", open: given.length > 0 }, element("summary", {}, "more options"), names.map((name) =>
    labelled(name, optionControl(prefix + name, properties[name], state[prefix + name] ?? "", (text) => {
      state[prefix + name] = text;
      changed();
    }), properties[name].description)));
}

/** Values of the fields of the state that begin with `prefix`, as fields of a request that has `properties`. */
function optionFields(state, prefix, properties) {
  const given = Object.keys(state).filter((key) => key.startsWith(prefix) && state[key] !== "" && key.slice(prefix.length) in properties);
  return Object.fromEntries(given.map((key) => key.slice(prefix.length)).map((name) => [name, optionValue(properties[name], state[prefix + name])]));
}

class QuestionView {
  /** `asked` describes the question (`planQuestion` and its kind); `properties`: its fields, by the schema of requests;
   * `simulator`: one of its own; `changed()`: a field of the state has a new value; `open(fields)` shows a schedule. */
  constructor(asked, state, properties, { simulator, changed, open }) {
    Object.assign(this, { asked, state, properties, simulator, changed, open });
    this.prefix = `${asked.ask}.`;
    this.go = element("button", { type: "submit" }, asked.go);
    this.answer = element("div", { "aria-live": "polite" });
    this.fields = element("form", { class: "plan-fields", submit: (event) => {
      event.preventDefault();
      return this.running ? this.simulator.cancel() : this.search();
    } });
    this.element = element("div", { class: "card" }, element("div", { class: "card-head" }, element("h3", {}, asked.title), element("p", { class: "hint" }, asked.hint)), this.fields, this.answer);
    this.build();
  }

  /** Makes the fields anew, from the state. */
  build() {
    const shown = [...this.asked.rows.map(({ option }) => option), ...this.asked.hidden];
    this.fields.replaceChildren(...this.rows().map((row) => this.row(row)), this.go,
      moreOptions(this.properties, shown, this.prefix, this.state, () => this.changed()));
  }

  rows() { return this.asked.rows.filter(({ when }) => !when || when(this.state)); }

  /** The value of an option: what the reader gave, or what the row gives without that. */
  value({ option, usual }) { return this.state[this.prefix + option] || (typeof usual === "function" ? usual(this.state) : usual ?? ""); }

  row(row) {
    const key = this.prefix + row.option;
    const set = (event) => {
      this.state[key] = event.target.value.trim();
      this.changed();
      if (row.option === "layouts") this.build();
    };
    const value = this.value(row);
    if (row.values) {
      return labelled(row.title, element("select", { "data-name": key, change: set },
        row.values.map((one) => element("option", { value: one, selected: one === value }, one || row.none))), row.note);
    }
    const list = row.list ? element("datalist", { id: `${key}-names` }, row.list.map((one) => element("option", { value: one }))) : null;
    return labelled(row.title, [element("input", { "data-name": key, value, placeholder: row.none, type: row.type ?? "text", min: row.type ? 1 : null, list: list ? list.id : null, change: set }), list].filter(Boolean), row.note);
  }

  request() {
    const request = { ask: this.asked.ask, want: this.asked.want, files: this.state.files, ...this.asked.fields(this.state), ...optionFields(this.state, this.prefix, this.properties) };
    for (const row of this.rows()) {
      const value = this.value(row);
      if (value !== "") request[row.option] = optionValue(this.properties[row.option], value);
    }
    return request;
  }

  async search() {
    this.running = true;
    this.go.textContent = "stop";
    const begun = performance.now();
    const clock = setInterval(() => this.answer.replaceChildren(`${this.asked.working}, ${Math.round((performance.now() - begun) / 1000)} s`), 500);
    const answer = await this.simulator.ask(this.request());
    clearInterval(clock);
    this.running = false;
    this.go.textContent = this.asked.go;
    this.show(answer);
  }

  show(answer) {
    const words = answer.cancelled ? "stopped" : answer.error ? pageWords(answer.error) : answer.text ?? answer.findings.join("\n");
    this.answer.replaceChildren(...[
      answer.document ? element("button", { type: "button", click: () => this.open(this.asked.opens(answer.document, this.state)) }, "show its schedule") : null,
      element("pre", { class: answer.error && !answer.cancelled ? "refusal" : "answer" }, words),
      answer.command ? commandLine(answer.command) : null,
      answer.html ? element("iframe", { class: "answer-page", title: this.asked.title, srcdoc: answer.html,
        load: ({ target }) => { target.style.height = `${target.contentDocument.documentElement.scrollHeight + 4}px`; } }) : null].filter(Boolean));
  }
}

const CLUSTER_NOTE = "a name, or one with its size: h100-8x8 is eight nodes of eight";

/** The names that an option takes, by its schema. */
const namesOfOption = ({ examples }) => examples ?? [];

/** The systems that an option takes; "plumbline" and "none" are what holds without one. */
const systemsOf = (property) => namesOfOption(property).filter((name) => name !== "plumbline" && name !== "none");

/** Names of a list of the catalogue; what is known only on the reader's machine is left out. */
const namesOf = (list) => list.map(({ name }) => name).filter((name) => name !== "host");

function planQuestion(catalogue) {
  return {
    ask: "plan", go: "search", working: "searching", want: ["text", "document"], hidden: ["from", "job-set", "job-args"],
    title: "Plan: the fastest configuration that fits", hint: "every candidate is simulated here, in this page; a lower bound tells how much better any plan could be",
    rows: [
      { option: "network", title: "network", values: namesOf(catalogue.networks), usual: (state) => state.network },
      { option: "cluster", title: "cluster", list: namesOf(catalogue.clusters), usual: (state) => state.cluster, note: CLUSTER_NOTE },
      { option: "batch", title: "global batch", type: "number", usual: "64", note: "samples per optimizer update" },
      { option: "runtime", title: "runtime", none: "none", note: "the system that will run it", values: ["", ...systemsOf(catalogue.schema.plan.runtime)] },
      { option: "time-limit", title: "seconds at most", type: "number", usual: "30" },
    ],
    fields: () => ({}),
    opens: (document) => ({ own: JSON.stringify(document), ownName: "plan.json", schedule: OWN_FILE, view: "timeline" }),
  };
}

/** Costs, size and memory limit are those of the controls. */
function searchQuestion(catalogue) {
  return {
    ask: "search", go: "search", working: "searching", want: ["text", "document"],
    hidden: Object.keys(catalogue.schema.simulate),
    title: "Best order: for the devices, microbatches, costs and memory limit of the controls",
    hint: "all schedules that fit, orders that repeat, branch and bound, and steps from the best; a bound tells how much better any order could be",
    rows: [
      { option: "placement", title: "placement", values: ["", "straight", "v"], none: "both", note: "straight: one stage per device; v: two, down the devices and back" },
      { option: "backward", title: "backward", values: ["", "whole", "split"], none: "both", note: "whole, or split into input and weight gradients" },
      { option: "simulations", title: "simulations", type: "number", usual: "2000", note: "of the steps from the best orders" },
    ],
    fields: (state) => ({ devices: Number(state.devices), microbatches: Number(state.microbatches), ...costFields(state, catalogue.schema.search) }),
    opens: (document, state) => ({ own: JSON.stringify(document), ownName: "best-order.json", schedule: OWN_FILE, view: "timeline",
      against: state.schedule === OWN_FILE ? state.against : state.schedule }),
  };
}

/** The schedule and its microbatches are those of the controls; steps follow from a network, or from a table. */
function campaignQuestion(catalogue) {
  const properties = catalogue.schema.campaign;
  const simulated = (state) => !state["campaign.layouts"];
  return {
    ask: "campaign", go: "play", working: "playing", want: ["text", "html"],
    hidden: ["schedule", "microbatches", "opt", "cost", "per-stage", "memory", "profile"],
    title: "Failures: a job over days while nodes fail and go",
    hint: "by the rules of published systems; a node holds one stage of the chosen schedule",
    rows: [
      { option: "network", title: "network", values: namesOf(catalogue.networks), usual: (state) => state.network, when: simulated },
      { option: "cluster", title: "cluster", list: namesOf(catalogue.clusters), usual: (state) => state.cluster, note: CLUSTER_NOTE, when: simulated },
      { option: "layouts", title: "steps of", values: ["", ...namesOfOption(properties.layouts)], none: "the simulator", note: "measured steps of published systems instead of the schedule on this network" },
      { option: "trace", title: "nodes of", values: ["", ...namesOfOption(properties.trace)], none: "random failures", note: "a record of when nodes came and went" },
      { option: "mtbf", title: "hours to failure", none: "24", note: "without a record: mean hours until a node fails; a new node replaces it. 2..32: a table over 2, 4, ... 32" },
      { option: "nodes", title: "nodes", none: "8", note: "without a record: number of nodes at first; several as above" },
      { option: "hours", title: "hours", none: "as recorded", note: "several as above" },
      { option: "price", title: "price", none: "of a node and hour", note: "in any money" },
    ],
    fields: (state) => {
      const random = state["campaign.trace"] || state["campaign.market"] ? {} : { mtbf: "24", nodes: "8" };
      if (state["campaign.layouts"]) return random;
      const { schedule, opt, files } = requestOf(state, state.schedule, "campaign", [], catalogue);
      const { dp, profile, ...costs } = state.model === "network" ? costFields(state, properties) : {}; // copies of the pipeline are for the rules to choose
      return { ...random, ...costs, schedule, files, microbatches: Number(state.microbatches), ...(opt ? { opt } : {}) };
    },
    opens: () => ({}),
  };
}
