#include "tools/reports/report_csv.hpp"

#include <string_view>

#include "schedules/document/action_text.hpp"
#include "sim/timeline/timeline_io.hpp"

namespace plumb {

void csv_report(const Timeline& timeline, const TextSink& sink) {
  TextPieces out(sink);
  out.raw("device,lane,op,stage,microbatch,replica,start_ns,end_ns,idle_before_ns,cause,slice,overlaps_next,action\n");
  const auto number = [&out](std::int64_t value) {
    out.number(value);
    out.raw(",");
  };
  for (const Span& span : timeline.spans) {
    const Action& action = span.action;
    number(static_cast<std::int64_t>(span.device));
    out.raw(kLaneNames[static_cast<std::size_t>(span.lane)]);
    out.raw(",");
    out.raw(kOpNames[static_cast<std::size_t>(action.op)]);
    out.raw(",");
    number(static_cast<std::int64_t>(action.stage));
    number(static_cast<std::int64_t>(action.microbatch));
    number(static_cast<std::int64_t>(action.replica));
    number(to_ns(span.start, timeline.base));
    number(to_ns(span.end, timeline.base));
    number(to_ns(span.idle_before, timeline.base));
    if (span.idle_before > 0) out.raw(kIdleCauseNames[static_cast<std::size_t>(span.waited_for)]);
    out.raw(",");
    if (action.slice != Action::kAllSlices) out.number(action.slice);
    out.raw(action.overlaps_next != 0 ? ",1," : ",0,");
    append_text(out.pending(), action);
    out.raw("\n");
    out.hand_on_full();
  }
  out.hand_on();
}

}  // namespace plumb
