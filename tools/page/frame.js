// What all pages have around their content.

const LOGO = '<svg viewBox="0 0 32 32" width="30" height="30" aria-hidden="true"><path d="M16 2v15" stroke="currentColor" ' +
  'stroke-width="1.6"/><path d="M10.5 15h11l-2.2 6.2L16 30l-3.3-8.8z" fill="var(--accent)"/></svg>';

/** Light, dark, or what the system says. */
function themeChoice(repaint) {
  const themes = ["auto", "light", "dark"];
  return choice("theme", themes, 0, (i) => {
    if (i === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[i];
    repaint();
  });
}

/** Paper is white. */
function printLight(repaint) {
  let before;
  window.addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    repaint();
  });
  window.addEventListener("afterprint", () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    repaint();
  });
}

/** Fills the page: title, controls, content. `repaint` is called whenever the theme changes. */
function frame(page, controls, repaint, ...content) {
  document.title = `${page.title} – Plumbline`;
  const logo = element("span", { class: "logo" });
  logo.innerHTML = LOGO;
  document.getElementById("page").append(
    element("header", { class: "top" }, logo,
      element("div", {}, element("h1", {}, page.title), page.note ? element("p", { class: "note" }, page.note) : null),
      element("div", { class: "controls" }, controls, themeChoice(repaint))),
    ...content.filter((part) => part !== null),
    element("footer", {}, "Made by Plumbline."));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  printLight(repaint);
}
