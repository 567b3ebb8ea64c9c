// What can be taken away: pictures, documents, and the command line that gives the same.

/** A command with a button that copies it. */
function commandLine(command) {
  const copy = element("button", { type: "button", click: async () => {
    await navigator.clipboard?.writeText(command).catch(() => {});
    copy.textContent = "copied";
    setTimeout(() => { copy.textContent = "copy"; }, 1500);
  } }, "copy");
  return element("p", { class: "command" }, element("code", {}, command), copy);
}

const EXPORTS = [
  ["PDF", "pdf", "pdf", "application/pdf"], ["SVG", "svg", "svg", "image/svg+xml"], ["page", "html", "html", "text/html"], ["CSV", "csv", "csv", "text/csv"], ["JSON", "timeline", "json", "application/json"],
  ["TikZ", "tikz", "tex", "text/plain"], ["Perfetto trace", "trace", "trace.json", "application/json"], ["schedule", "document", "schedule.json", "application/json"],
];

class ExportView {
  /** `ask(want)` answers for the run that is shown; `timeline()` is its view. */
  constructor({ ask, timeline }) {
    this.ask = ask;
    this.error = element("span", { class: "refusal" });
    const buttons = EXPORTS.map(([title, part, ending, type]) => element("button", { type: "button", click: () => this.take(ask, part, ending, type) }, title));
    const png = element("button", { type: "button", click: () => this.png(timeline()) }, "PNG");
    const link = element("button", { type: "button", title: "the address of exactly this state", click: () => navigator.clipboard?.writeText(location.href).catch(() => {}) }, "copy link");
    this.command = element("div", {});
    this.element = element("div", { class: "card export" }, element("div", { class: "controls" }, element("span", { class: "dim" }, "take away:"), png, buttons, link, this.error), this.command);
  }

  png(timeline) { if (timeline) timelinePicture(timeline).toBlob((blob) => download("plumbline.png", blob, "image/png")); }

  async take(ask, part, ending, type) {
    const answer = await ask(part);
    this.error.textContent = answer.error ?? "";
    if (answer.error) return;
    const content = typeof answer[part] === "string" ? answer[part] : JSON.stringify(answer[part], null, 1);
    download(`plumbline.${ending}`, content, type);
  }

  show(command) { this.command.replaceChildren(command ? commandLine(command) : ""); }
}
