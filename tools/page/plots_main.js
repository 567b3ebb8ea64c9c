// The page of diagrams: cards with a diagram (or one of several to choose from) and a table.

/** Longer cells are sentences, and their columns are set as text. */
const LONGEST_FIGURE = 48;

function plainTable(table) {
  const classes = table.head.map((_, column) =>
    table.rows.some((row) => (row[column] ?? "").length > LONGEST_FIGURE) ? "prose" : null);
  return element("div", { class: "scrolling" }, element("table", { class: "plain-table" },
    element("thead", {}, element("tr", {},
      table.head.map((text, column) => element("th", { scope: "col", class: classes[column] }, text)))),
    element("tbody", {}, table.rows.map((row) => element("tr", {},
      row.map((text, column) => element("td", { class: classes[column] }, text)))))));
}

class PlotCard {
  constructor(card) {
    this.card = card;
    this.chosen = 0;
    this.hidden = new Set();
    this.body = element("div", {});
    const names = card.choices.map(({ name }) => name);
    this.element = element("div", { class: "card plot-card" },
      element("div", { class: "card-head" }, element("h3", {}, card.title),
        names.length > 1 ? element("div", { class: "controls" }, choice(card.choiceLabel, names, 0, (i) => this.choose(i))) : null),
      card.note ? element("p", { class: "note" }, card.note) : null,
      this.body);
    if (card.choices.length > 0) this.show();
  }

  choose(i) {
    this.chosen = i;
    this.show();
  }

  show() {
    const { plot, table } = this.card.choices[this.chosen];
    this.view?.destroy();
    this.view = plot ? new PlotView(plot, this.hidden) : null;
    this.body.replaceChildren(...[this.view?.element, table ? plainTable(table) : null].filter(Boolean));
    this.view?.draw();
  }

  repaint() { this.view?.draw(); }
}

function start() {
  const page = JSON.parse(document.getElementById("data").textContent);
  const cards = page.cards.map((card) => new PlotCard(card));
  const repaint = () => {
    forgetTheme();
    cards.forEach((card) => card.repaint());
  };
  frame(page, [], repaint, ...cards.map((card) => card.element));
  cards.forEach((card) => card.repaint());
  window.plumbline = { page, cards };
}

start();
