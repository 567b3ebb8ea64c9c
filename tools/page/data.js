// The embedded JSON (tools/reports/page_data.cpp) as arrays that drawing can walk.

const LANE_COMPUTE = 0;
const LANE_TRANSFER = 1;
const STASHES = "stashes"; // a class of memory beside those in bytes
const OP_LAST_OF_MICROBATCH = 4; // F B I W R name a microbatch in the compute lane

/** Running sums of differences. */
function summed(differences) {
  const sums = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < differences.length; i += 1) sums[i] = sum += differences[i];
  return sums;
}

function added(starts, lengths) {
  return starts.map((start, i) => start + lengths[i]);
}

/** Index of the first interval of `row` that ends after `time`. */
function firstEndingAfter(row, time) {
  let low = 0;
  let high = row.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Index of the interval of `row` that holds `time`, or -1. */
function intervalAt(row, time) {
  const i = firstEndingAfter(row, time);
  return i < row.start.length && row.start[i] <= time ? i : -1;
}

function decodeRow(row, first) {
  const start = summed(row.start);
  return {
    device: row.device,
    lane: row.lane,
    overflow: row.overflow,
    first,
    action: Int32Array.from(row.action),
    microbatch: Int32Array.from(row.microbatch),
    start,
    end: added(start, row.length),
    part: row.part ? Uint8Array.from(row.part) : null,
    source: Int32Array.from(row.source, (back, i) => (back === 0 ? -1 : first + i - back)),
  };
}

function decodeGaps(gaps) {
  const start = summed(gaps.start);
  return { start, end: added(start, gaps.length), cause: Uint8Array.from(gaps.cause) };
}

/** Shade of every action: chunks and replicas of a device in order. */
function actionLevels(run) {
  const held = new Map();
  for (const row of run.rows) {
    if (row.lane !== LANE_COMPUTE) continue;
    for (const a of new Set(row.action)) {
      const [, stage, replica] = run.actions[a];
      if (!held.has(row.device)) held.set(row.device, new Map());
      held.get(row.device).set(replica * 1e6 + stage, 0);
    }
  }
  const level = new Map();
  for (const keys of held.values()) {
    [...keys.keys()].sort((a, b) => a - b).forEach((key, i) => level.set(key, i));
  }
  return run.actions.map(([op, stage, replica]) => (op <= 3 ? level.get(replica * 1e6 + stage) ?? 0 : 0));
}

/** How many times 1/p of the model a stash of one stage belongs to. */
function stashShare(run) {
  if (run.stashes) return run.stashes.share;
  const stages = Math.max(0, ...run.actions.map(([, stage]) => stage + 1));
  return stages > run.devices.length ? run.devices.length / stages : 1;
}

/** Stashes of 1/p of the model that a device holds at its peak: the unit of all tables, whatever the number of stages. */
function heldStashes(run, device) { return run.devices[device].peakActivations * stashShare(run); }

/** Text of an amount of the run's memory. */
function amountText(run) { return run.inStashes ? (amount) => counted(amount, "stash", "stashes") : bytesText; }

/** Where bytes are not known, memory is counted in stashes: fills in what views read. `held` is the class of stashes. */
function countInStashes(run, held) {
  const { limit, devices } = run.stashes;
  run.inStashes = true;
  run.memory = devices.map((points) => ({ time: summed(points.time), class: points.time.map(() => held), bytes: points.amount }));
  run.devices.forEach((device, d) => {
    device.peak = heldStashes(run, d);
    device.peakByClass[held] = device.peak;
    if (limit !== null) device.need = { bytes: device.peak, limit, verdict: device.peak > limit ? "does not fit" : "fits" };
  });
}

function decodeRun(run, page) {
  let first = 0;
  run.rows = run.rows.map((row) => {
    const decoded = decodeRow(row, first);
    first += decoded.start.length;
    return decoded;
  });
  run.spanCount = first;
  run.gaps = (run.gaps ?? []).map(decodeGaps);
  run.memory = run.memory.map((points) => ({ ...points, time: summed(points.time) }));
  if (run.stashes && run.devices.every((device) => device.peak === 0)) countInStashes(run, page.classes.findIndex(({ name }) => name === STASHES));
  run.levels = actionLevels(run);
  run.colours = run.actions.map(([op], i) => shaded(page.ops[op].colour, run.levels[i]));
  return run;
}

/** Whether devices take from each other in `run`. */
function isSlowed(run) { return run.devices.some((device) => device.slowed > 0); }

/** Makes the page's data ready in place and returns it. */
function decode(page) {
  if (!page.classes.some(({ name }) => name === STASHES)) page.classes.push({ name: STASHES, title: "stashes of 1/p of the model", colour: page.classes[4].colour });
  for (const section of page.sections) {
    section.runs.forEach((run) => decodeRun(run, page));
    section.heading = section.choice ? `${section.title}, ${section.choice}` : section.title;
    section.names = runNames(section.runs);
    const kinds = section.runs.map((run) => run.kind);
    section.order = kinds.join() === "simulated,measured" ? [1, 0] : section.runs.map((_, r) => r);
  }
  return page;
}

/** How many devices the run of a section with most of them has. */
function deviceCount(section) { return Math.max(...section.runs.map((run) => run.devices.length)); }

/** What tells the runs of a section apart. */
function runNames(runs) {
  if (runs.length < 2) return [runs[0].kind];
  if (runs[0].kind !== runs[1].kind) return runs.map((run) => run.kind);
  if (runs[0].schedule !== runs[1].schedule) return runs.map((run) => run.schedule);
  return ["first", "second"];
}

/** Where the span with number `index` stands: its row and place in the row. */
function locate(run, index) {
  let low = 0;
  let high = run.rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (run.rows[middle].first <= index) low = middle;
    else high = middle - 1;
  }
  return { row: run.rows[low], i: index - run.rows[low].first };
}

/** Numbers of all spans of a microbatch, by start. Built once, on first use. */
function spansOfMicrobatch(run, microbatch) {
  if (!run.byMicrobatch) {
    run.byMicrobatch = new Map();
    for (const row of run.rows) {
      row.microbatch.forEach((m, i) => {
        if (!namesMicrobatch(run, row, i)) return;
        if (!run.byMicrobatch.has(m)) run.byMicrobatch.set(m, []);
        run.byMicrobatch.get(m).push(row.first + i);
      });
    }
  }
  return run.byMicrobatch.get(microbatch) ?? [];
}

function namesMicrobatch(run, row, i) {
  const op = run.actions[row.action[i]][0];
  return row.microbatch[i] >= 0 && (op <= OP_LAST_OF_MICROBATCH || row.lane === LANE_TRANSFER);
}

function actionKey(run, row, i) {
  return `${run.actions[row.action[i]].join()}:${row.microbatch[i]}`;
}

/** Number of the span of `run` that executed the same action, or -1. */
function sameAction(run, key) {
  if (!run.byAction) {
    run.byAction = new Map();
    for (const row of run.rows) {
      for (let i = 0; i < row.start.length; i += 1) run.byAction.set(actionKey(run, row, i), row.first + i);
    }
  }
  return run.byAction.get(key) ?? -1;
}

/** The action's text: `[replica:]stage OP [microbatch][.slice][>where]`. */
function actionText(ops, run, row, i) {
  const [op, stage, replica, slice, where, merged] = run.actions[row.action[i]];
  const microbatch = row.microbatch[i];
  let text = `${replica ? `${replica}:` : ""}${stage}${ops[op].name}`;
  if (microbatch >= 0) text += microbatch;
  for (let k = 1; k <= merged; k += 1) text += `+${microbatch + k}`;
  if (slice >= 0) text += `.${slice}`;
  if (where >= 0) text += `>${where}`;
  return text;
}
