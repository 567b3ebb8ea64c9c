// What a reader can take out of a page: the picture that is shown, its actions as a table, a link to exactly this view.

/** Hands `content` to the reader as a file. */
function download(name, content, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A canvas with the timeline as it is shown, on the colour of its card. */
function timelinePicture(timeline) {
  const { canvas } = timeline;
  const picture = element("canvas", { width: canvas.width, height: canvas.height });
  const context = picture.getContext("2d");
  context.fillStyle = themed("--card");
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(canvas, 0, 0);
  return picture;
}

/** A row per action and message of every run of the section; times in ns. */
function spansCsv(page, section) {
  const rows = ["run,device,lane,action,start_ns,end_ns"];
  section.runs.forEach((run, r) => run.rows.forEach((row) => row.start.forEach((start, i) =>
    rows.push([section.names[r], row.device, row.lane === LANE_COMPUTE ? "compute" : row.lane === LANE_TRANSFER ? "transfer" : "collective",
      actionText(page.ops, run, row, i), start, row.end[i]].join()))));
  return `${rows.join("\n")}\n`;
}

/** Buttons of a section. */
function takeAway(section) {
  const { page, timeline } = section;
  const name = section.section.heading.replace(/[^\w.-]+/g, "-");
  const copied = element("button", { type: "button", title: "the address of exactly this view", click: () => {
    navigator.clipboard?.writeText(location.href).catch(() => {});
    copied.textContent = "copied";
    setTimeout(() => { copied.textContent = "link"; }, 1500);
  } }, "link");
  return [element("button", { type: "button", title: "the timeline as it is shown", click: () => timelinePicture(timeline).toBlob((blob) => download(`${name}.png`, blob, "image/png")) }, "PNG"),
    element("button", { type: "button", title: "a row per action", click: () => download(`${name}.csv`, spansCsv(page, section.section), "text/csv") }, "CSV"), copied];
}

/** A field that finds an action by its text, such as 3F4; the same text again finds the next one. */
function findField(timeline) {
  let last = "";
  let number = 0;
  const field = element("input", { type: "search", size: 9, placeholder: "find: 3F4", "aria-label": "find an action by its text, such as 3F4", title: "stage, action, microbatch: 3F4; then Enter",
    keydown: (event) => {
      if (event.key !== "Enter") return;
      const words = field.value.trim();
      number = words === last ? number + 1 : 0;
      last = words;
      field.setAttribute("aria-invalid", String(words !== "" && !timeline.find(words, number)));
    } });
  return field;
}
