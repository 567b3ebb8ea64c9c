// Opens the explorer as a link to the tour, and says when the first timeline stood there and what a change took:
//   node results/journeys/open_page.mjs EXPLORER.HTML
import { pathToFileURL } from "node:url";

import { Browser, findChromium, until } from "../../tests/browser/browser.mjs";

const browser = new Browser(findChromium());
const tab = await browser.tab();
const ready = () => tab.evaluate("!!window.plumbline?.explorer && !plumbline.explorer.busy && plumbline.sections?.length > 0");
const began = performance.now();
await tab.open(`${pathToFileURL(process.argv[2]).href}#tour=1`);
await until(ready, "the first timeline");
console.log(`first timeline of the tour ${((performance.now() - began) / 1000).toFixed(1)} s after the page was opened`);
console.log(await tab.evaluate("document.querySelector('.tour').innerText.split('\\n').slice(0, 1).join()"));
const slider = performance.now();
await tab.evaluate(`(() => {
  const field = document.querySelector('[data-name="microbatches"]');
  field.value = "32";
  field.dispatchEvent(new Event("input", { bubbles: true }));
})()`);
await until(async () => (await tab.evaluate("plumbline.sections[0].section.runs[0].microbatches")) === 32, "the change to be drawn");
console.log(`a change of m drawn after ${((performance.now() - slider) / 1000).toFixed(2)} s`);
await browser.close();
