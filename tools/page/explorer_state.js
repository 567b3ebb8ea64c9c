// What the explorer shows, as fields of requests (tools/ask/REQUESTS.md), and the same in the page's address.

const OWN_FILE = "own";
const COST_KEYS = ["F", "B", "I", "W", "comm"];
const START = {
  schedule: "1f1b", against: "", devices: "4", microbatches: "8", chunks: "", updates: "", model: "units",
  F: "1", B: "2", I: "1", W: "1", comm: "0", other: "", "memory-limit": "",
  network: "llama3-8b", cluster: "h100", tp: "1", cp: "1", ep: "1", dp: "1", zero: "0", "microbatch-size": "1", recompute: "", runtime: "", partition: "",
  profile: "", view: "timeline", tour: "", zoom: "", device: "",
};
/** Options of the jobs and of the questions that the controls do not have one by one: "more.precision", "plan.batch". */
const IS_OPTION = /^(more|plan|search|campaign)\./;

/** The state that an address differs from: that of the step of the tour that it names, or the one to start with. */
function baseOf(tour) {
  const step = Number(tour) - 1;
  return step in TOUR ? tourState(step) : START;
}

/** The state that the address has. */
function stateOfAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const state = { ...baseOf(fields.get("tour")), options: {}, own: "", ownName: "own.txt", files: {} };
  for (const [name, value] of fields) {
    if (name.startsWith("opt.")) state.options[name.slice(4)] = value;
    else if (name === "own" || name === "ownName" || name in START || IS_OPTION.test(name)) state[name] = value;
  }
  return state;
}

/** What differs from `baseOf`, as the part of the address behind `#`. */
function addressOf(state) {
  const fields = new URLSearchParams();
  const base = { ...baseOf(state.tour), tour: "" };
  for (const name of Object.keys(START)) if (state[name] !== base[name]) fields.set(name, state[name]);
  for (const name of Object.keys(state)) if (IS_OPTION.test(name) && state[name] !== "") fields.set(name, state[name]);
  for (const [name, value] of Object.entries(state.options)) if (value !== "") fields.set(`opt.${name}`, value);
  if (state.own !== "") fields.set("own", state.own);
  if (state.own !== "" && state.ownName !== "own.txt") fields.set("ownName", state.ownName);
  return fields.toString();
}

/** Replaces the address without a step in the browser's history. */
function keepAddress(state) {
  const hash = addressOf(state);
  history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
}

/** The part of the time axis that the address names, `{from, to}` in ns, or null for all of it. */
function zoomOf(state) {
  const [from, to] = state.zoom.split("-").map(Number);
  return state.zoom !== "" && from >= 0 && to > from ? { from, to } : null;
}

/** Fields of costs and degrees, the same for every schedule, and of more options that the question with these `properties` has. */
function costFields(state, properties) {
  const fields = optionFields(state, "more.", properties);
  if (state.model === "units") {
    const costs = COST_KEYS.filter((key) => state[key] !== "" && !(key === "comm" && Number(state.comm) === 0)).map((key) => `${key}=${state[key]}`);
    fields.cost = [...costs, state.other].filter((one) => one !== "").join(",");
  } else if (state.model === "profile") {
    fields.profile = state.profile;
  } else {
    for (const name of ["network", "cluster", "recompute", "runtime", "partition"]) if (state[name] !== "" && name in properties) fields[name] = state[name];
    for (const name of ["tp", "cp", "ep", "dp"]) if (Number(state[name]) > 1) fields[name] = Number(state[name]);
    if (state["microbatch-size"] !== "") fields["microbatch-size"] = Number(state["microbatch-size"]);
    if (Number(state.zero) > 0) fields.zero = Number(state.zero);
  }
  if (state["memory-limit"] !== "") fields["memory-limit"] = state["memory-limit"];
  return fields;
}

/** Placements with a number of stages per device that can be chosen. */
const CHUNKED = ["looped", "zigzag"];

/** A request about one schedule; `ask` is what to ask. */
function requestOf(state, schedule, ask, want, catalogue) {
  const spec = catalogue.schedules.find(({ name }) => name === schedule);
  const request = { ask, schedule, want };
  if (schedule === OWN_FILE) {
    request.schedule = state.ownName;
    request.files = { ...state.files, [state.ownName]: state.own };
  } else {
    request.devices = Number(state.devices);
    request.microbatches = Number(state.microbatches);
    if (state.chunks !== "" && (schedule === state.schedule || CHUNKED.includes(spec?.placement))) request.chunks = Number(state.chunks);
    if (state.updates !== "") request.updates = Number(state.updates);
    const options = Object.entries(state.options).filter(([, value]) => value !== "").map(([name, value]) => `${name}=${value}`);
    if (options.length > 0 && schedule === state.schedule) request.opt = options;
    request.files = state.files;
  }
  if (ask === "simulate") Object.assign(request, costFields(state, catalogue.schema.simulate));
  return request;
}

/** The request of the whole catalogue, or of `schedules`. */
function sweepRequest(state, schedules, catalogue) {
  const { "memory-limit": limit, ...costs } = costFields(state, catalogue.schema.sweep);
  const request = { ask: "sweep", schedules, devices: state.devices, microbatches: state.microbatches, want: ["csv"], files: state.files, ...costs };
  if (state.chunks !== "") request.chunks = state.chunks;
  if (limit) request["memory-limit"] = limit;
  return request;
}
