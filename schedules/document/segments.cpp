#include "schedules/document/segments.hpp"

#include <algorithm>

namespace plumb {
namespace {

std::string text_of(const Recompute& rule) {
  return "recompute of stages " + std::to_string(rule.first_stage) + " to " + std::to_string(rule.last_stage);
}

bool has_stash_moves(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& action) {
      return is_move(action.op) && static_cast<std::int32_t>(action.microbatch) >= 0;
    });
  });
}

}  // namespace

std::vector<SegmentPlace> segment_places(const Schedule& schedule) {
  std::vector<SegmentPlace> places;
  for (const Recompute& rule : schedule.recompute) {
    if (!rule.segment || rule.first_stage >= rule.last_stage) continue;
    places.resize(static_cast<std::size_t>(schedule.num_stages));
    for (std::int32_t stage = rule.first_stage; stage <= rule.last_stage; ++stage) {
      places[static_cast<std::size_t>(stage)] = {stage > rule.first_stage, stage < rule.last_stage};
    }
  }
  return places;
}

std::string segment_fault(const Schedule& schedule) {
  bool any = false;
  for (std::size_t i = 0; i < schedule.recompute.size(); ++i) {
    const Recompute& rule = schedule.recompute[i];
    if (!rule.segment) continue;
    any = true;
    if (rule.except_last_microbatch || !rule.microbatches.empty()) {
      return text_of(rule) + ": a segment replays all microbatches; expected \"microbatches\": \"all\"";
    }
    for (std::size_t j = 0; j < schedule.recompute.size(); ++j) {
      const Recompute& other = schedule.recompute[j];
      const bool apart = other.last_stage < rule.first_stage || rule.last_stage < other.first_stage;
      if (i != j && !apart) return text_of(rule) + ": a segment stands alone; expected no other rule for its stages";
    }
  }
  if (!any) return "";
  if (!is_chain(schedule)) return "recompute of segments: expected a chain of stages";
  if (schedule.forward_only) return "recompute of segments: expected the mode training";
  if (has_stash_moves(schedule)) return "recompute of segments: expected no EVICT or LOAD of a stash";
  return "";
}

}  // namespace plumb
