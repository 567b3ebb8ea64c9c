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
    this.width = element("input", { type: "number", min: 6, max: 120, step: 0.5, placeholder: "cm", "data-name": "picture-width", "aria-label": "width of pictures in cm", title: "width of PDF, SVG and TikZ in cm, 6 to 120; text has the same size in all" });
    this.caption = element("input", { placeholder: "caption", size: 18, "data-name": "picture-caption", "aria-label": "caption of pictures", title: "stands under the picture (PDF, SVG)" });
    const link = element("button", { type: "button", title: "the address of exactly this state", click: () => navigator.clipboard?.writeText(location.href).catch(() => {}) }, "copy link");
    this.command = element("div", {});
    this.element = element("div", { class: "card export" }, element("div", { class: "controls" }, element("span", { class: "dim" }, "take away:"), png, buttons, link, this.error), element("div", { class: "controls" }, element("span", { class: "dim" }, "pictures for a paper:"), this.width, this.caption), this.command);
  }

  /** Fields of a request for a picture. */
  style(part) {
    const fields = {};
    if (["pdf", "svg", "tikz"].includes(part) && this.width.value !== "") fields.width = Number(this.width.value);
    if (["pdf", "svg"].includes(part) && this.caption.value !== "") fields.caption = this.caption.value;
    return fields;
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
