#include "schedules/versions/predicted_reads.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "schedules/document/methods.hpp"
#include "schedules/versions/prediction.hpp"

namespace plumb {
namespace {

using PartKey = std::pair<std::int32_t, std::int32_t>;  // microbatch and slice

/// Of the first part that it works on.
PartKey part_key_of(const Action& action) {
  return {static_cast<std::int32_t>(action.microbatch), static_cast<std::int32_t>(action.slice)};
}

/// Calls `visit` with every microbatch of a merged action.
template <class Visit>
void for_each_key(const Action& action, Visit&& visit) {
  PartKey key = part_key_of(action);
  for (std::int32_t i = 0; i <= action.merged; ++i, ++key.first) visit(key);
}

/// The backwards of a holder in order, and the updates that stand before each.
struct Backwards {
  std::map<PartKey, std::size_t> number;
  std::vector<std::int32_t> updates_before;
  std::int32_t updates = 0;  ///< in the whole document

  std::int32_t version_at(std::int64_t backward) const {
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(0, backward));
    return at < updates_before.size() ? updates_before[at] : updates;
  }
};

class PredictionReader {
 public:
  PredictionReader(const Schedule& schedule, const Program& program, bool as_published)
      : ahead_(schedule.weights.prediction),
        program_(program),
        as_published_(as_published),
        backwards_(program.holders.size()),
        made_(program.holders.size()) {
    for (InstrIndex at = 0; at < program.size(); ++at) note(at);
  }

  std::vector<PredictedRead> reads() {
    std::vector<PredictedRead> all(program_.size());
    for (InstrIndex at = 0; at < program_.size(); ++at) {
      const Op op = action(at).op;
      if (op == Op::kF) all[at] = of_forward(at);
      if (op == Op::kR || op == Op::kW || is_backward(op)) all[at] = of_backward(at);
    }
    return all;
  }

 private:
  struct Made {
    std::map<PartKey, PredictedRead> by_part;              ///< what the forward of each reads
    std::pair<std::int32_t, std::int32_t> newest{-1, -1};  ///< version and steps of the newest prediction
    std::int32_t count = 0;
  };

  const Action& action(InstrIndex at) const { return program_.instrs[at].action; }
  std::uint32_t holder(InstrIndex at) const { return program_.rows[program_.instrs[at].row].holder; }

  void note(InstrIndex at) {
    Backwards& of = backwards_[holder(at)];
    if (action(at).op == Op::kU) ++of.updates;
    if (!is_backward(action(at).op)) return;
    for_each_key(action(at), [&](const PartKey& key) { of.number.emplace(key, of.updates_before.size()); });
    of.updates_before.push_back(of.updates);
  }

  std::int32_t steps(InstrIndex at, std::int32_t published, std::int32_t to_own_backward) const {
    if (as_published_) return published;
    const Backwards& of = backwards_[holder(at)];
    const auto own = static_cast<std::int64_t>(of.number.at(part_key_of(action(at))));
    return std::max(0, of.version_at(own + published - to_own_backward) - program_.version_read[at]);
  }

  PredictedRead of_forward(InstrIndex at) {
    const auto stage = static_cast<std::int32_t>(action(at).stage);
    const std::int32_t published = ahead_.forward[index(action(at).stage)];
    PredictedRead read{.steps = steps(at, published, own_backward_steps(program_.num_stages, stage))};
    Made& made = made_[holder(at)];
    const std::pair from{program_.version_read[at], read.steps};
    if (from != made.newest) ++made.count;
    made.newest = from;
    read.number = made.count - 1;
    for_each_key(action(at), [&](const PartKey& key) { made.by_part[key] = read; });
    return read;
  }

  PredictedRead of_backward(InstrIndex at) {
    PredictedRead read = made_[holder(at)].by_part.at(part_key_of(action(at)));
    if (!ahead_.backward.empty() && action(at).op != Op::kW) {
      read.steps = steps(at, ahead_.backward[index(action(at).stage)], 0);
    }
    return read;
  }

  const Prediction& ahead_;
  const Program& program_;
  bool as_published_;
  std::vector<Backwards> backwards_;  ///< by holder
  std::vector<Made> made_;
};

}  // namespace

std::vector<PredictedRead> predicted_reads(const Schedule& schedule, const Program& program) {
  if (schedule.weights.prediction.forward.empty() || schedule.weights.prediction.once_per_update) return {};
  const auto predicts = [](const Method& method) { return method_spec(method.name).scope.predicts; };
  const auto method = std::ranges::find_if(schedule.weights.methods, predicts);
  if (method == schedule.weights.methods.end() || program.version_read.empty()) return {};
  return PredictionReader(schedule, program, *parameter(*method, "published") == 1).reads();
}

}  // namespace plumb
