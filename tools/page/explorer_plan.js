// The fastest configuration for a cluster, searched in the page.

class PlanView {
  /** `simulator`: one of its own, as a search takes seconds; `open(document)` shows the best plan's schedule. */
  constructor(state, catalogue, simulator, open) {
    Object.assign(this, { state, simulator, open });
    const names = (list) => list.filter(({ name }) => name !== "host").map(({ name }) => name);
    this.network = this.picked(names(catalogue.networks), state.network);
    this.cluster = element("input", { value: state.cluster, list: "plan-clusters" });
    this.clusters = element("datalist", { id: "plan-clusters" }, names(catalogue.clusters).map((value) => element("option", { value })));
    this.batch = element("input", { type: "number", min: 1, value: 64 });
    this.runtime = this.picked(["none", "megatron", "pytorch", "torchtitan", "deepspeed"], "none");
    this.limit = element("input", { type: "number", min: 1, value: 30 });
    this.go = element("button", { type: "button", click: () => (this.running ? this.stop() : this.search()) }, "search");
    this.answer = element("div", { "aria-live": "polite" });
    this.element = element("div", { class: "card" }, element("div", { class: "card-head" }, element("h3", {}, "Plan: the fastest configuration that fits"),
      element("p", { class: "hint" }, "every candidate is simulated here, in this page; a lower bound tells how much better any plan could be")),
      element("div", { class: "plan-fields" }, labelled("network", this.network), labelled("cluster", [this.cluster, this.clusters], "a name, or one with its size: h100-8x8 is eight nodes of eight"), labelled("global batch", this.batch, "samples per optimizer update"),
        labelled("runtime", this.runtime, "the system that will run the plan"), labelled("seconds at most", this.limit), this.go), this.answer);
  }

  picked(values, chosen) {
    return element("select", {}, values.map((value) => element("option", { value, selected: value === chosen }, value)));
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
