// Numbers as people read them. Times are nanoseconds, sizes are bytes.

const TIME_UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function timeUnit(ns) {
  return TIME_UNITS.find(([, size]) => Math.abs(ns) >= size) ?? TIME_UNITS[3];
}

/** Up to `digits` significant digits, no exponent, no trailing zeros. */
function numberText(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const decimals = Math.min(12, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  const text = value.toFixed(decimals);
  return decimals > 0 ? text.replace(/\.?0+$/, "") : text;
}

function timeText(ns, digits = 4) {
  const [unit, size] = timeUnit(ns);
  return `${numberText(ns / size, digits)} ${unit}`;
}

/** Times of an axis, all in one unit and with as many decimals as their distance asks for. */
function timeTexts(times) {
  const step = times.length > 1 ? times[1] - times[0] : 1;
  const [unit, size] = timeUnit(Math.max(Math.abs(times[times.length - 1] ?? 0), step));
  let digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  if (Math.abs(Number((step / size).toFixed(digits)) - step / size) > 1e-6 * (step / size)) digits += 1; // steps of 2.5
  return times.map((time) => `${(time / size).toFixed(digits)} ${unit}`);
}

function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function percentText(share, digits = 1) {
  return `${(100 * share).toFixed(digits)} %`;
}

/** A relative difference with its sign: `+1.2 %`. */
function differenceText(share) {
  if (!Number.isFinite(share)) return "–";
  const text = (100 * Math.abs(share)).toFixed(1);
  return `${text === "0.0" ? "±" : share > 0 ? "+" : "−"}${text} %`;
}

/** A difference of shares with its sign: `+1.2 points`. */
function pointsText(share) {
  const text = (100 * Math.abs(share)).toFixed(1);
  return `${text === "0.0" ? "±" : share < 0 ? "−" : "+"}${text} points`;
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let power = 0;
  let value = bytes;
  while (Math.abs(value) >= 1024 && power < units.length - 1) {
    value /= 1024;
    power += 1;
  }
  return `${numberText(value, value >= 1000 ? 4 : 3)} ${units[power]}`;
}

/** `1 device`, `2 devices`. */
function counted(number, one, several = `${one}s`) {
  return `${numberText(number)} ${number === 1 ? one : several}`;
}

/** `4 devices`, or where runs differ `4 against 6 devices`. */
function ofRuns(runs, numberOf, one, several) {
  const [first, ...others] = runs.map(numberOf);
  const differ = others.some((number) => number !== first);
  return `${differ ? `${numberText(first)} against ` : ""}${counted(differ ? others[0] : first, one, several)}`;
}

/** A large count with an SI prefix: `12.3 k`. */
function countText(value) {
  const prefixes = ["", " k", " M", " G", " T"];
  let power = 0;
  while (value >= 1e4 && power < prefixes.length - 1) {
    value /= 1000;
    power += 1;
  }
  return numberText(value) + prefixes[power];
}

/** The smallest of 1, 2, 5 times a power of ten that is at least `step`. */
function niceStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= step * 0.999);
}

/** Whole numbers as ranges: `0-3, 7`. */
function rangesText(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) end += 1;
    parts.push(end === i ? `${numbers[i]}` : `${numbers[i]}–${numbers[end]}`);
    i = end + 1;
  }
  return parts.join(", ");
}
