// A guided tour of eight steps: from GPipe to DualPipe and PipeMare. The figures in the texts are those of the runs shown.

const TOUR = [
  { title: "GPipe: all forwards, then all backwards", state: { schedule: "gpipe", devices: "4", microbatches: "4", F: "1", B: "2", I: "1", W: "1" },
    text: "A network is cut into four stages, one per device, and a batch into four microbatches. Device 1 can begin only when device 0 has handed over its first result, and at the end " +
      "the gradients come back the same way. The hatched time is the bubble: {bubble} of the makespan. For p devices and m microbatches its share is (p − 1)/(m + p − 1). " +
      "Every device holds the activations of all m microbatches at once: {peak}." },
  { title: "More microbatches, a smaller bubble, more memory", state: { schedule: "gpipe", devices: "4", microbatches: "16" },
    text: "With 16 microbatches instead of 4 the same ramps are shared by more work: the bubble falls to {bubble}. The price is memory: {peak} activations wait for their backward at the peak. " +
      "Move the slider of m and watch both." },
  { title: "1F1B: the same bubble with the memory of p", state: { schedule: "1f1b", against: "gpipe", devices: "4", microbatches: "16" },
    text: "As soon as a backward can run, 1F1B runs it, and then one forward and one backward in turn. The bubble stays {bubble}, but device 0 never holds more than {peak} activations, " +
      "as many as there are devices, however many microbatches there are. GPipe is shown below it for comparison." },
  { title: "Interleaved: several small stages per device", state: { schedule: "interleaved", against: "1f1b", devices: "4", microbatches: "16", chunks: "2" },
    text: "Each device holds two chunks of the model, so a microbatch visits it twice, and the ramps are half as long: the bubble falls to {bubble}. It sends twice as many messages and " +
      "holds more activations ({peak}). Set comm to 0.3 and see when it stops to pay." },
  { title: "Zero bubble: the weight gradient can wait", state: { schedule: "zb-h1", against: "1f1b", devices: "4", microbatches: "16" },
    text: "Nobody waits for the gradient of the weights. ZB-H1 splits a backward into the input gradient I, which the device before needs at once, and the weight gradient W, which fills the " +
      "ramp at the end. The bubble falls to {bubble} with the peak of 1F1B ({peak})." },
  { title: "ZB-V: two chunks in a V", state: { schedule: "zb-v", against: "v-half", devices: "4", microbatches: "16" },
    text: "A device holds an early and a late chunk, laid out as a V, so the last stage is on the first device and the loss is near. ZB-V has a bubble of {bubble} where F, I and W take equally " +
      "long, at the memory of 1F1B; V-Half, below, trades some bubble for half of that memory." },
  { title: "DualPipe: two streams in opposite directions", state: { schedule: "dualpipe", against: "", devices: "4", microbatches: "16" },
    text: "DualPipe feeds microbatches from both ends of the pipeline. Forwards of one stream overlap with backwards of the other, which hides messages between experts; every device holds two " +
      "copies of its parameters. Here the bubble is {bubble}, and the fullest device holds {peak} activations." },
  { title: "PipeMare: no flush, no bubble, old weights", state: { schedule: "pipemare", against: "1f1b", devices: "4", microbatches: "4", updates: "8" },
    text: "Asynchronous training does not wait for an update to be finished: in the steady state utilization is {utilization}. The price is that weights move on between the forward and the backward of a " +
      "microbatch. PipeMare keeps one copy of the weights and corrects for the delay by smaller learning rates and a correction of the discrepancy; PipeDream keeps a copy for every microbatch under way." },
];

/** The state in which a step begins: the same for everybody who opens its link. */
function tourState(step) {
  return { ...START, chunks: "", updates: "", options: {}, ...TOUR[step].state, tour: String(step + 1), view: "timeline" };
}

/** `text` with the figures of `run`. */
function withFigures(text, run) {
  const figures = run ? { bubble: percentText(run.bubbleRate ?? run.bubbleFraction), utilization: percentText(run.utilization),
    peak: numberText(Math.max(...run.devices.map((_, device) => heldStashes(run, device))), 3) } : {};
  return text.replace(/\{(\w+)\}/g, (_, name) => figures[name] ?? "…");
}

class TourView {
  /** `go(step)`: shows a step, from 0; null ends the tour. */
  constructor(go) {
    this.go = go;
    this.element = element("div", { class: "card tour", hidden: true, role: "region", "aria-label": "tour" });
  }

  /** Shows `step`, from 1, with the figures of `run`; an empty text hides the tour. */
  show(step, run) {
    const k = Number(step) - 1;
    this.element.hidden = !(k >= 0 && k < TOUR.length);
    if (this.element.hidden) return;
    const button = (title, to, disabled) => element("button", { type: "button", disabled, click: () => this.go(to) }, title);
    const focused = this.element.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.element.replaceChildren(element("h3", {}, `${k + 1} of ${TOUR.length}: ${TOUR[k].title}`), element("p", { "aria-live": "polite" }, withFigures(TOUR[k].text, run)),
      element("div", { class: "controls" }, button("back", k - 1, k === 0), button("next", k + 1, k + 1 === TOUR.length), button("end the tour", null, false)));
    if (focused) [...this.element.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
  }
}
