// Peak memory of every device by class, and what is alive at the peak of the chosen one.

const TENSORS_SHOWN = 12;

function peakParts(page, run, device) {
  return run.devices[device].peakByClass.map((bytes, c) => [page.classes[c].colour, page.classes[c].title, bytes])
    .filter(([, , bytes]) => bytes > 0);
}

/** The verdict about a device, as the tables have it. */
function needText(need, text) {
  return !need || need.limit === 0 ? "" : `${need.verdict}: ${text(need.bytes)} of ${text(need.limit)}`;
}

/** What does not fit, of the device that needs most; empty where all of them fit. */
function excessText(run) {
  const excess = run.devices.map(({ need }) => (need && need.limit > 0 ? need.bytes - need.limit : 0));
  const above = excess.filter((bytes) => bytes > 0).length;
  if (above === 0) return "";
  const worst = excess.indexOf(Math.max(...excess));
  const { bytes, limit } = run.devices[worst].need;
  const text = amountText(run);
  const verdict = run.devices[worst].need.verdict === "tight" ? "Tight, and more memory is expected to be needed than there is" : "Does not fit in memory";
  return `${verdict}: device ${worst} needs ${text(bytes)}, ${text(bytes - limit)} above its ` +
    `${text(limit)}${above > 1 ? `; ${above} of ${run.devices.length} devices need more than they have` : ""}.`;
}

function peakRow(page, section, device, r, whole, choose) {
  const run = section.runs[r];
  const { peak, need } = run.devices[device];
  const text = amountText(run);
  const several = section.runs.length > 1;
  const button = element("button", {
    type: "button", class: "plain", "aria-label": `show memory of device ${device}, ${section.names[r]}`,
  }, several ? section.names[r] : `device ${device}`);
  const first = section.runs.findIndex((one) => device < one.devices.length) === r;
  return element("tr", { class: first ? "" : "second", "data-device": device, "data-run": r, click: () => choose(device, r) },
    element("th", { scope: "row" }, !several ? button : first ? `device ${device}` : ""),
    several ? element("td", { class: "run" }, button) : null,
    element("td", { class: "wide" }, partsBar(peakParts(page, run, device), whole, text)),
    element("td", { class: "number" }, text(need ? need.bytes : peak)),
    run.inStashes ? null : element("td", { class: "number dim", title: "of 1/p of the model" }, counted(heldStashes(run, device), "stash", "stashes")),
    need ? element("td", { class: `number ${need.limit > 0 && need.bytes > need.limit ? "excess" : "dim"}`, title: need.verdict }, needText(need, text)) : null);
}

function peakTable(page, section, choose) {
  const whole = Math.max(...section.runs.flatMap((run) => run.devices.map((device) => device.peak)), 1);
  const rows = [];
  for (let device = 0; device < deviceCount(section); device += 1) {
    section.runs.forEach((run, r) => { if (device < run.devices.length) rows.push(peakRow(page, section, device, r, whole, choose)); });
  }
  return barsTable("peaks", rows);
}

/** Tensors alive at the peak, largest first; the long tail in one line. */
function tensorTable(page, run, device) {
  const tensors = run.devices[device].tensors
    .map((tensor) => ({ ...tensor, total: tensor.bytes * Math.max(tensor.microbatches.length, 1) }))
    .sort((a, b) => b.total - a.total);
  if (tensors.length === 0) return null;
  const tail = tensors.slice(TENSORS_SHOWN);
  const row = (tensor) => element("tr", {},
    element("th", { scope: "row" }, element("span", { class: "swatch", style: `background:${page.classes[tensor.class].colour}` }), tensor.name),
    element("td", {}, `stage ${tensor.stage}`),
    element("td", {}, rangesText(tensor.microbatches)),
    element("td", { class: "number", "data-value": tensor.bytes }, bytesText(tensor.bytes)),
    element("td", { class: "number", "data-value": tensor.total }, bytesText(tensor.total)));
  const rest = tail.length === 0 ? null : element("tr", {}, element("th", { scope: "row" }, `${tail.length} smaller tensors`),
    element("td", {}), element("td", {}), element("td", {}),
    element("td", { class: "number" }, bytesText(tail.reduce((sum, tensor) => sum + tensor.total, 0))));
  return sortable(element("table", { class: "tensors" },
    element("thead", {}, element("tr", {}, ["tensor at the peak", "", "microbatches", "per microbatch", "total"].map((name, k) =>
      element("th", { scope: "col", class: k > 2 ? "number" : "" }, name)))),
    element("tbody", {}, tensors.slice(0, TENSORS_SHOWN).map(row), rest)), (of, column) => (column > 2 ? Number(of.cells[column].dataset.value) : of.cells[column].textContent));
}
