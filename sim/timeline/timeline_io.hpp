#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "models/ground/text_pieces.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

// The timeline document (JSON, version 1; keys and their meaning: TIMELINE_DOCUMENT.md).
//
// Times are whole nanoseconds. Where a tick is less than a nanosecond they are rounded so that sums still hold: of
// every device busy + idle is the makespan, and the causes add up to idle.

/// Names of `Lane`s in documents.
inline constexpr std::array<std::string_view, 3> kLaneNames{"compute", "transfer", "collective"};

/// Writes the document piece by piece, so that millions of spans need no memory of their own. A summary has no spans
/// and no memory curve. `training`: an object of what a run says besides its times (losses), as text; empty: none.
void write_timeline_json(const Timeline& timeline, bool summary, const TextSink& sink, std::string_view training = {});

/// The whole document as one text.
std::string timeline_to_json(const Timeline& timeline, bool summary = false);

/// Whether a text begins as a timeline document does.
bool is_timeline(std::string_view text);

/// Reads a document. Throws `Error` with line and column for broken JSON, with the path of the value for wrong types,
/// unknown keys (what `training` holds is not looked at) and values out of range, and when busy + idle is not the
/// makespan, causes do not add up to idle, or spans or memory points are not in order. The timebase is nanoseconds.
Timeline timeline_from_json(std::string text, const std::string& file_name);

}  // namespace plumb
