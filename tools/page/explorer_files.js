// Files that a reader opens or drops: told apart by what is in them.

const RUN_FILE = "run-profile.json"; // the profile that is made of traces

const parsed = (text) => {
  try { return JSON.parse(text); } catch { return null; }
};

/** The text of a file, unpacked where gzip has packed it, and its name without `.gz`. */
async function textOf(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) return { name: file.name, text: await file.text() };
  const stream = file.stream().pipeThrough(new DecompressionStream("gzip"));
  return { name: file.name.replace(/\.gz$/, ""), text: await new Response(stream).text() };
}

function isProfile(text) { return /"format"\s*:\s*"plumbline-(run-)?profile"/.test(text.slice(0, 400)); }

/** "schedule", "profile", "cluster", "network", "trace", or "" for what cannot be told. */
function kindOf(text) {
  if (isProfile(text)) return "profile";
  const document = parsed(text);
  if (document === null) return "schedule";
  const kind = String(document.format ?? "");
  if (kind === "plumbline-schedule") return "schedule";
  if (kind === "plumbline-cluster" || document.devices_per_node) return "cluster";
  if (kind === "plumbline-network" || document.hidden_size || document.n_embd) return "network";
  if (kind === "plumbline-timeline" || document.traceEvents || document.schemaVersion || Array.isArray(document)) return "trace";
  return "";
}
