// Where everything of a timeline stands: tracks (one per device and run) from top to bottom.

const AXIS_HEIGHT = 26;
const TRACK_HEIGHT_MOST = 30;
const TRACK_HEIGHT_LEAST = 8;
const PLOT_HEIGHT_WANTED = 380;

/**
 * Tracks of the shown runs. A track has the box of its compute row (`top`, `height`) and below it a thin strip for
 * transfers and collectives; `layers` lists the rows with their boxes.
 */
function layoutTracks(runs, shown) {
  const devices = Math.max(...runs.map((run) => run.devices.length));
  const strips = shown.map((r) => runs[r].rows.some((row) => row.lane !== LANE_COMPUTE));
  const wanted = PLOT_HEIGHT_WANTED / (devices * shown.length) * 0.8;
  const height = Math.round(Math.min(TRACK_HEIGHT_MOST, Math.max(TRACK_HEIGHT_LEAST, wanted)));
  const strip = Math.max(4, 2 * Math.round(height * 0.13));
  const space = Math.max(2, Math.round(height * 0.18));
  const tracks = [];
  let top = AXIS_HEIGHT + 6;
  for (let device = 0; device < devices; device += 1) {
    shown.forEach((r, k) => {
      const track = { run: runs[r], r, device, top, height, first: k === 0, stripTop: top + height + 1, strip };
      track.layers = runs[r].rows.filter((row) => row.device === device).map((row) => ({ row, ...rowBox(track, row) }));
      tracks.push(track);
      top += height + (strips[k] ? strip + 1 : 0) + (k + 1 < shown.length ? 2 : space);
    });
    if (shown.length > 1) top += space;
  }
  return { tracks, bottom: top };
}

/** Box of a row inside its track: compute as a whole, activations above gradients in the strip. */
function rowBox(track, row) {
  if (row.lane === LANE_COMPUTE) return { top: track.top, height: track.height };
  const half = track.strip / 2;
  const op = row.action.length > 0 ? track.run.actions[row.action[0]][0] : 0;
  if (row.lane === LANE_TRANSFER) return { top: track.stripTop + (op === OP_SEND_B ? half : 0), height: half };
  return { top: track.stripTop, height: track.strip };
}

const OP_SEND_B = 10;

/** The layers of a track by box: its compute rows together (of an overlapped pair one half is in another row), others alone. */
function sharedBoxes(track) {
  const compute = track.layers.filter(({ row }) => row.lane === LANE_COMPUTE);
  const others = track.layers.filter(({ row }) => row.lane !== LANE_COMPUTE).map((layer) => [layer]);
  return compute.length > 0 ? [compute, ...others] : others;
}

/** Box of one span; the halves of an overlapped pair share the height. */
function spanBox(layer, i) {
  const part = layer.row.part ? layer.row.part[i] : 0;
  if (part === 0) return { top: layer.top, height: layer.height };
  const half = layer.height / 2;
  return { top: layer.top + (part === 2 ? half + 0.5 : 0), height: half - 0.5 };
}

/** What lies under a point: a span, a gap, or nothing but the track. */
function hitTest(tracks, y, time) {
  for (const track of tracks) {
    if (y < track.top || y >= track.stripTop + track.strip) continue;
    for (const layer of track.layers) {
      const i = intervalAt(layer.row, time);
      if (i < 0) continue;
      const box = spanBox(layer, i);
      if (y >= box.top && y < box.top + box.height) return { track, layer, row: layer.row, i };
    }
    const gaps = track.run.gaps[track.device];
    const gap = gaps && y < track.top + track.height ? intervalAt(gaps, time) : -1;
    return { track, gap };
  }
  return null;
}
