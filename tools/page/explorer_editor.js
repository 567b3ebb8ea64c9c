// An own schedule: its text, what is wrong with it at which line, and its run.

/** The line of `text` (from 1) that a finding is about, or 0. */
function lineOf(text, finding) {
  const named = /:(\d+)(?::\d+)?: /.exec(finding);
  if (named) return Number(named[1]);
  const device = /device (\d+)/.exec(finding);
  if (!device) return 0;
  return text.split("\n").findIndex((line) => line.trim().startsWith(`d${device[1]}:`)) + 1;
}

class EditorView {
  /** `check(text, name)` answers what `validate` says; `take(text, name)` shows the schedule; `example()` is a text to start from. */
  constructor({ check, take, example }) {
    Object.assign(this, { check, take });
    this.lines = element("pre", { class: "line-numbers", "aria-hidden": "true" });
    this.area = element("textarea", { spellcheck: "false", rows: 12, wrap: "off", "aria-label": "text of the schedule: a line per device, such as d0: 0F0 0F1 0B0 0B1",
      input: () => this.changed(), scroll: () => { this.lines.scrollTop = this.area.scrollTop; } });
    this.findings = element("ul", { class: "findings", "aria-live": "polite" });
    this.element = element("div", { class: "card" }, element("div", { class: "card-head" }, element("h3", {}, "Own schedule"),
      element("p", { class: "hint" }, "a line per device: d0: 0F0 0F1 0B0 0B1 · a file can be dropped on the page"),
      element("div", { class: "controls" },
        element("button", { type: "button", click: async () => this.fill(await example(), "own.txt") }, "start from the chosen schedule"),
        element("button", { type: "button", click: () => this.take(this.area.value, this.name) }, "simulate it"))),
      element("div", { class: "editor" }, this.lines, this.area), this.findings);
    this.name = "own.txt";
  }

  /** Replaces the text; `name` tells its format by its extension. */
  fill(text, name) {
    this.name = name;
    this.area.value = text;
    return this.changed();
  }

  async changed() {
    const text = this.area.value;
    const many = text.split("\n").length;
    this.lines.textContent = Array.from({ length: many }, (_, i) => i + 1).join("\n");
    if (text.trim() === "") return this.findings.replaceChildren();
    const answer = await this.check(text, this.name);
    if (text !== this.area.value) return undefined; // somebody typed meanwhile
    const found = answer.error ? answer.error.split("\n") : answer.findings ?? [];
    this.element.classList.toggle("wrong", found.length > 0);
    const lines = found.length === 0 ? [element("li", { class: "good" }, (answer.text ?? "valid").trim())] : found.map((finding) => this.findingLine(text, finding));
    return this.findings.replaceChildren(...lines);
  }

  findingLine(text, finding) {
    const line = lineOf(text, finding);
    if (line === 0) return element("li", {}, finding);
    return element("li", {}, element("button", { type: "button", class: "plain link", click: () => this.select(line) }, `line ${line}`), ` ${finding}`);
  }

  select(line) {
    const lines = this.area.value.split("\n");
    const from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(from, from + lines[line - 1].length);
  }
}
