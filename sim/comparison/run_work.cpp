#include "sim/comparison/run_work.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

using SpanList = std::vector<const Span*>;

/// The backward of a microbatch through a stage, on a device.
using BackwardKey = std::tuple<DeviceId, ReplicaId, StageId, MicrobatchId, std::int16_t>;

BackwardKey backward_of(const Span& span) {
  const Action& action = span.action;
  return {span.device, action.replica, action.stage, action.microbatch, action.slice};
}

bool is_backward_work(const Span& span) {
  const Op op = span.action.op;
  return span.lane == Lane::kCompute && (is_backward(op) || op == Op::kW || op == Op::kR);
}

/// The actions that both sides made of one backward.
struct Backward {
  SpanList predicted;
  SpanList measured;
};

/// Finds the backwards that both sides cut otherwise; nothing where something is left that is none.
std::optional<std::map<BackwardKey, Backward>> backwards_cut_otherwise(const Alignment& alignment) {
  std::map<BackwardKey, Backward> backwards;
  const auto add = [&](const SpanList& spans, SpanList Backward::*side) {
    for (const Span* span : spans) {
      if (!is_backward_work(*span)) return false;
      (backwards[backward_of(*span)].*side).push_back(span);
    }
    return true;
  };
  if (!add(alignment.only_predicted, &Backward::predicted)) return std::nullopt;
  if (!add(alignment.only_measured, &Backward::measured)) return std::nullopt;
  for (const SpanMatch& match : alignment.matches) {
    if (!is_backward_work(*match.predicted)) continue;
    const auto found = backwards.find(backward_of(*match.predicted));
    if (found == backwards.end()) continue;
    found->second.predicted.push_back(match.predicted);
    found->second.measured.push_back(match.measured);
  }
  for (auto& [key, backward] : backwards) {
    if (backward.predicted.empty() || backward.measured.empty()) return std::nullopt;
    std::ranges::sort(backward.predicted, {}, &Span::start);
    std::ranges::sort(backward.measured, {}, &Span::start);
  }
  return backwards;
}

Ticks length_of(const Span& span) { return span.end - span.start; }

Ticks sum_of(const SpanList& spans) {
  Ticks sum = 0;
  for (const Span* span : spans) sum += length_of(*span);
  return sum;
}

/// Returns the span in which work that was done one after the other has come as far as `done`, and the moment of that.
/// At the seam of two spans it is the end of the first one, or if it `begins` there, the start of the second one.
std::pair<const Span*, Ticks> place_of(const SpanList& spans, Ticks done, bool begins) {
  for (const Span* span : spans) {
    const Ticks length = length_of(*span);
    if (begins ? done < length : done <= length) return {span, span->start + done};
    done -= length;
  }
  return {spans.back(), spans.back()->end};
}

/// Returns the span at whose end the run had what the action gives to other stages.
const Span* giver_of(const Span& predicted, const SpanList& measured, const Span* last) {
  if (!is_backward(predicted.action.op)) return last;
  const auto found = std::ranges::find_if(measured, [](const Span* span) { return is_backward(span->action.op); });
  return found == measured.end() ? last : *found;
}

void add_cut(const Backward& backward, std::map<const Span*, RunWork>& works) {
  const Ticks predicted = std::max<Ticks>(sum_of(backward.predicted), 1);
  const auto scale = static_cast<double>(sum_of(backward.measured)) / static_cast<double>(predicted);
  Ticks done = 0;
  Ticks begin = 0;
  for (const Span* span : backward.predicted) {
    done += length_of(*span);
    const Ticks end = std::llround(static_cast<double>(done) * scale);
    const auto [first, start] = place_of(backward.measured, begin, true);
    const auto [last, stop] = place_of(backward.measured, end, false);
    works[span] = {first, start, std::max(start, stop), end - begin, giver_of(*span, backward.measured, last)};
    begin = end;
  }
}

}  // namespace

RunWork same_action(const Span& span) { return {&span, span.start, span.end, length_of(span), &span}; }

std::optional<std::vector<RunWork>> run_work(std::span<const Span* const> members, const Alignment& alignment) {
  if (alignment.matches.empty()) return std::nullopt;
  const auto backwards = backwards_cut_otherwise(alignment);
  if (!backwards) return std::nullopt;
  std::map<const Span*, RunWork> works;
  for (const auto& [predicted, measured] : alignment.matches) {
    works[predicted] = same_action(*measured);
  }
  for (const auto& [key, backward] : *backwards) add_cut(backward, works);
  std::vector<RunWork> found;
  found.reserve(members.size());
  for (const Span* member : members) {
    const auto work = works.find(member);
    found.push_back(work == works.end() ? RunWork{} : work->second);
  }
  return found;
}

}  // namespace plumb
