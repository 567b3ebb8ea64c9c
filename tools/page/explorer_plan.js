// The fastest configuration for a cluster, searched in the page.

class PlanView {
  /** `simulator`: one of its own, as a search takes seconds; `changed()`: a field of the state has a new value;
   * `open(document)` shows the best plan's schedule. */
  constructor(state, catalogue, { simulator, changed }, open) {
    Object.assign(this, { state, simulator, changed, open });
    const names = (list) => list.filter(({ name }) => name !== "host").map(({ name }) => name);
    this.network = this.picked("network", names(catalogue.networks), state.network);
    this.cluster = this.typed("cluster", { list: "plan-clusters" }, state.cluster);
    this.clusters = element("datalist", { id: "plan-clusters" }, names(catalogue.clusters).map((value) => element("option", { value })));
    this.batch = this.typed("batch", { type: "number", min: 1 });
    this.runtime = this.picked("runtime", ["none", "megatron", "pytorch", "torchtitan", "deepspeed"]);
    this.limit = this.typed("seconds", { type: "number", min: 1 });
    this.go = element("button", { type: "button", click: () => (this.running ? this.stop() : this.search()) }, "search");
    this.answer = element("div", { "aria-live": "polite" });
    this.element = element("div", { class: "card" }, element("div", { class: "card-head" }, element("h3", {}, "Plan: the fastest configuration that fits"),
      element("p", { class: "hint" }, "every candidate is simulated here, in this page; a lower bound tells how much better any plan could be")),
      element("div", { class: "plan-fields" }, labelled("network", this.network), labelled("cluster", [this.cluster, this.clusters], "a name, or one with its size: h100-8x8 is eight nodes of eight"), labelled("global batch", this.batch, "samples per optimizer update"),
        labelled("runtime", this.runtime, "the system that will run the plan"), labelled("seconds at most", this.limit), this.go), this.answer);
  }

  /** The value of a field, or `usual` while nobody has set it. */
  value(name, usual = "") { return this.state[`plan.${name}`] || usual; }

  keep(name) {
    return (event) => {
      this.state[`plan.${name}`] = event.target.value.trim();
      this.changed();
    };
  }

  picked(name, values, usual) {
    return element("select", { "data-name": `plan.${name}`, change: this.keep(name) },
      values.map((value) => element("option", { value, selected: value === this.value(name, usual) }, value)));
  }

  typed(name, attributes, usual) {
    return element("input", { "data-name": `plan.${name}`, value: this.value(name, usual), change: this.keep(name), ...attributes });
  }

  async search() {
    this.running = true;
    this.go.textContent = "stop";
    const begun = performance.now();
    const clock = setInterval(() => this.answer.replaceChildren(`searching, ${Math.round((performance.now() - begun) / 1000)} s`), 500);
    const request = { ask: "plan", network: this.network.value, cluster: this.cluster.value, batch: Number(this.batch.value), "time-limit": Number(this.limit.value), want: ["text", "document"] };
    if (this.runtime.value !== "none") request.runtime = this.runtime.value;
    const answer = await this.simulator.ask(request);
    clearInterval(clock);
    this.running = false;
    this.go.textContent = "search";
    this.show(answer);
  }

  stop() { this.simulator.cancel(); }

  show(answer) {
    const words = answer.cancelled ? "stopped" : answer.error ?? answer.text ?? answer.findings.join("\n");
    this.answer.replaceChildren(...[
      answer.document ? element("button", { type: "button", click: () => this.open(JSON.stringify(answer.document), answer) }, "show its schedule") : null,
      element("pre", { class: answer.error && !answer.cancelled ? "refusal" : "answer" }, words),
      answer.command ? commandLine(answer.command) : null].filter(Boolean));
  }
}
