// Building elements, and colours that follow the theme.

/** Makes an element: `element("p", {class: "note"}, "text", child)`. Attributes that are functions become listeners. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/** The value of a custom property of the page's theme, e.g. `themed("--ink")`; read once until `forgetTheme`. */
const themeCache = new Map();
/** Patterns in colours of the theme. */
const hatchCache = new Map();
function themed(name) {
  if (!themeCache.has(name)) {
    themeCache.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  }
  return themeCache.get(name);
}

/** To be called whenever the theme changes, before anything is painted again. */
function forgetTheme() {
  themeCache.clear();
  hatchCache.clear();
}

/** `#rrggbb` as three numbers. */
function rgbOf(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** `colour` mixed with white; tells the chunks and replicas of a device apart. */
function shaded(colour, level) {
  const share = level === 0 ? 0 : Math.min(0.12 + 0.18 * level, 0.66); // as tools/reports/fill_colours.cpp
  const parts = rgbOf(colour).map((value) => Math.round(value * (1 - share) + 255 * share));
  return "#" + parts.map((value) => value.toString(16).padStart(2, "0")).join("");
}

const DARK_INK = "#101821";

/** Relative luminance (WCAG 2.2). */
function luminance(colour) {
  const [r, g, b] = rgbOf(colour).map((byte) => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Whether white text reads better than dark text on `colour`. */
function wantsLightText(colour) {
  return 1.05 / (luminance(colour) + 0.05) > (luminance(colour) + 0.05) / (luminance(DARK_INK) + 0.05);
}

/** The fill of two actions that overlap: one above the other, as the timeline paints them. */
function pairFill(upper, lower) { return `linear-gradient(${upper} 0 50%, ${lower} 50% 100%)`; }

/** A legend of `[colour, name]` pairs. */
function legend(entries) {
  return element("ul", { class: "legend" }, entries.map(([colour, name]) =>
    element("li", {}, element("span", { class: "swatch", style: `background:${colour}` }), name)));
}

/** Makes the heads of a table sort its rows by what `value(row, column)` says: numbers or texts; a second click turns the order
 * round. Rows of class `second` stay behind the row before them. */
function sortable(table, value) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.textContent === "") return;
    head.tabIndex = 0;
    head.classList.add("sorts");
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const groups = [];
      for (const row of body.rows) (row.classList.contains("second") ? groups[groups.length - 1] : groups[groups.push([]) - 1]).push(row);
      const keyed = groups.map((rows) => [value(rows[0], column), rows]);
      const order = ([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
      keyed.sort((a, b) => (Number.isNaN(a[0]) - Number.isNaN(b[0])) || (up ? order(a, b) : order(b, a)));
      body.append(...keyed.flatMap(([, rows]) => rows));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
  return table;
}

/** Buttons of which one is pressed; `choose(i)` is called with the one that was clicked. */
function choice(label, names, chosen, choose) {
  const buttons = names.map((name, i) => element("button", {
    type: "button",
    "aria-pressed": String(i === chosen),
    click: () => {
      buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === i)));
      choose(i);
    },
  }, name));
  return element("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}
