#include "sim/plan_search/holder_bounds.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/plan_search/layer_sums.hpp"
#include "sim/plan_search/plan_bounds.hpp"

namespace plumb {
namespace {

std::int64_t most_turns(std::int64_t microbatches, std::int64_t holders) {
  return (microbatches + holders - 1) / holders;
}

/// What is counted: for a bound only what is certain.
struct Counted {
  bool as_scheduled = false;   ///< microbatches in flight as `dapple` has them, and messages of every turn
  bool between_nodes = false;  ///< messages take what they take there
  std::int32_t grain = 1;      ///< stages have a multiple of so many holders
  double room = 1;             ///< share of the memory that is used
  bool messages = true;        ///< messages take memory
};

class Holders {
 public:
  Holders(const LayerPrices& prices, std::int64_t microbatches, const Counted& counted)
      : sums_(prices, microbatches),
        counted_(counted),
        microbatches_(microbatches),
        places_(static_cast<std::int32_t>(prices.speed.size())),
        room_(counted.room == 1 ? sums_.room_bytes
                                : static_cast<std::int64_t>(counted.room * static_cast<double>(sums_.room_bytes))) {
    const std::size_t layers = sums_.layers();
    for (std::size_t k = 0; k <= layers; ++k) {
      const bool is_cut = k > 0 && k < layers;
      down_bytes_.push_back(is_cut ? prices.memory[k - 1].output_bytes : 0);
      down_.push_back(is_cut ? sums_.message(down_bytes_.back(), counted.between_nodes).all : 0);
      up_.push_back(is_cut ? sums_.message(prices.memory[k].input_grad_bytes, counted.between_nodes).all : 0);
    }
    if (!counted.messages) down_bytes_.assign(down_bytes_.size(), 0);
  }

  HoldersBound run() {
    const StepRange range =
        least_step(sums_.forward.back() + sums_.backward.back(), [&](Ticks step) { return possible(step); });
    HoldersBound answer{.bound = sums_.in_time(range.impossible)};
    if (range.possible == 0) return answer;
    possible(range.possible);
    for (std::size_t end = sums_.layers(); end > 0; end = from_[end]) {
      answer.partition.bounds.insert(answer.partition.bounds.begin(), end);
      answer.replicas.insert(answer.replicas.begin(), fewest_[end] - fewest_[from_[end]]);
    }
    answer.partition.bounds.insert(answer.partition.bounds.begin(), 0);
    return answer;
  }

 private:
  /// The stage [begin, end) before it is known how many hold it.
  struct Stage {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::int64_t most_kept = 0;  ///< stashes, beside what else it needs; 0: not even one
    Ticks turn = 0;
    Ticks life = 0;
    Ticks before = 0;
    Ticks back = 0;
    std::int64_t gradients = 0;
  };

  Stage stage(std::size_t begin, std::size_t end, std::int64_t workspace) const {
    const auto part = [&](const std::vector<std::int64_t>& sums) { return sums[end] - sums[begin]; };
    const std::int64_t kept = part(sums_.kept);
    const std::int64_t messages = down_bytes_[begin] + down_bytes_[end];
    const std::int64_t beside = workspace + (counted_.as_scheduled ? 3 : 1) * messages;  // those that wait, too
    const std::int64_t room = room_ - part(sums_.held) - beside;
    Stage stage{.begin = begin, .end = end, .gradients = part(sums_.gradients)};
    stage.most_kept = kept == 0 ? (room < 0 ? 0 : microbatches_) : std::max<std::int64_t>(0, room / kept);
    stage.turn = part(sums_.forward) + part(sums_.backward);
    stage.life = sums_.forward.back() - sums_.forward[begin] + sums_.backward.back() - sums_.backward[begin] +
                 down_[end] + up_[end];
    stage.before = sums_.forward[begin] + down_[begin];
    stage.back = sums_.backward[begin] + up_[begin];
    return stage;
  }

  Ticks step_of(const Stage& stage, std::int32_t count) const {
    const std::int64_t turns = most_turns(microbatches_, count);
    std::int64_t kept = stage.most_kept;
    Ticks turn = stage.turn;
    if (counted_.as_scheduled) {
      kept = std::min<std::int64_t>(kept, most_turns(places_ - fewest_[stage.begin], count));
      const Ticks messages = down_[stage.begin] + up_[stage.begin] + down_[stage.end] + up_[stage.end];
      turn = std::max(turn, messages / 2);
    }
    const Ticks busy = std::max(turns * turn, most_turns(turns, kept) * stage.life);
    return stage.before + busy + std::max(stage.back, sums_.reduction(stage.gradients, count));
  }

  /// The fewest holders by which it can be done within `step`; nothing: none of `most` are enough.
  std::optional<std::int32_t> holders(const Stage& stage, std::int32_t most, Ticks step) const {
    if (stage.most_kept == 0) return std::nullopt;
    // Fewer cannot even compute all.
    const std::int64_t needed = std::min<std::int64_t>(most, (microbatches_ * stage.turn - 1) / step);
    const std::int32_t first =
        std::max(counted_.grain, static_cast<std::int32_t>(needed) / counted_.grain * counted_.grain);
    for (std::int32_t count = first; count <= most; count += counted_.grain) {
      if (step_of(stage, count) <= step) return count;
    }
    return std::nullopt;
  }

  /// Fills `fewest_` and `from_`.
  bool possible(Ticks step) {
    const std::size_t layers = sums_.layers();
    fewest_.assign(layers + 1, places_ + 1);
    from_.assign(layers + 1, 0);
    fewest_[0] = 0;
    for (std::size_t end = 1; end <= layers; ++end) {
      std::int64_t workspace = 0;
      for (std::size_t begin = end; begin-- > 0;) {
        if (sums_.held[end] - sums_.held[begin] > sums_.room_bytes) break;
        if (begin + 1 < end) {
          workspace = std::max(workspace, down_bytes_[begin + 1] + (begin + 2 < end ? down_bytes_[begin + 2] : 0));
        }
        const std::int32_t most = std::min(places_, fewest_[end] - 1) - fewest_[begin];
        if (most < 1) continue;
        const auto count = holders(stage(begin, end, workspace), most, step);
        if (!count) continue;
        fewest_[end] = fewest_[begin] + *count;
        from_[end] = begin;
      }
    }
    return fewest_[layers] <= places_;
  }

  LayerSums sums_;
  Counted counted_;
  std::int64_t microbatches_;
  std::int32_t places_;
  std::int64_t room_;
  std::vector<std::int64_t> down_bytes_;  ///< by cut
  std::vector<Ticks> down_;               ///< the least that its message takes
  std::vector<Ticks> up_;
  std::vector<std::int32_t> fewest_;  ///< places, by layers
  std::vector<std::size_t> from_;     ///< where the last stage of those begins
};

/// The same as if stages took no more than is certain. `dapple` has backwards in one. A layer that holds nothing of its
/// own in some stages has no gradients there.
LayerPrices sums_of_least(LayerPrices prices) {
  for (std::size_t k = 0; k < prices.least.size(); ++k) {
    const LayerLeast& least = prices.least[k];
    const LayerMessages& messages = prices.messages[k];
    prices.times.push_back({.f = least.alone.f, .b = least.alone.b, .i = least.alone.b, .w = 0});
    prices.memory.push_back({.gradient_bytes = least.held_bytes > 0 ? messages.gradient_bytes : 0,
                             .output_bytes = messages.output_bytes,
                             .input_grad_bytes = messages.input_grad_bytes});
    prices.held_bytes[k] = least.held_bytes;
    prices.kept_bytes[k] = least.kept_bytes;
  }
  return prices;
}

PipelinePlan plan_with_holders(const UndividedSetup& setup, const HoldersBound& holders) {
  PipelinePlan plan{.parallelism = setup.parallelism,
                    .microbatches = setup.microbatches,
                    .schedule = "dapple",
                    .partition = holders.partition,
                    .replicas = holders.replicas};
  plan.places = std::accumulate(plan.replicas.begin(), plan.replicas.end(), 0);
  plan.order.resize(static_cast<std::size_t>(plan.places));
  std::iota(plan.order.begin(), plan.order.end(), 0);
  return plan;
}

}  // namespace

HoldersBound holders_bound(const LayerPrices& prices, std::int64_t microbatches) {
  if (!prices.times.empty()) return Holders(prices, microbatches, {}).run();
  if (prices.least.empty() || prices.messages.empty()) return {};
  return Holders(sums_of_least(prices), microbatches, {.messages = false}).run();
}

std::vector<HoldersBound> holder_estimates(const LayerPrices& prices, std::int64_t microbatches) {
  std::vector<HoldersBound> found;
  const std::int32_t nodes = prices.times.empty() ? 0 : prices.node.back() + 1;
  for (std::int32_t grain = 1; grain <= nodes; grain += std::max(1, nodes - 1)) {
    for (const bool between_nodes : {false, true}) {
      for (const double room : {1.0, 0.9}) {
        found.push_back(Holders(prices, microbatches, {true, between_nodes, grain, room}).run());
        if (found.back().replicas.empty()) found.pop_back();
      }
    }
  }
  return found;
}

std::vector<PipelinePlan> replicated_plans(const std::vector<UndividedSetup>& setups) {
  std::vector<PipelinePlan> plans;
  for (const UndividedSetup& setup : setups) {
    if (setup.prices->times.empty()) continue;
    const HoldersBound holders = holders_bound(*setup.prices, setup.microbatches);
    if (!holders.replicas.empty()) plans.push_back(plan_with_holders(setup, holders));
    for (const HoldersBound& estimate : holder_estimates(*setup.prices, setup.microbatches)) {
      plans.push_back(plan_with_holders(setup, estimate));
    }
  }
  return plans;
}

Ticks least_replicated(const std::vector<UndividedSetup>& setups, Ticks best) {
  std::vector<std::pair<Ticks, const UndividedSetup*>> order;
  for (const UndividedSetup& setup : setups) {
    order.emplace_back(replicated_bound(*setup.prices, setup.microbatches), &setup);
  }
  std::ranges::sort(order);
  for (const auto& [bound, setup] : order) {  // the exact ones take long, and few decide
    if (bound >= best) break;
    best = std::min(best, std::max(bound, holders_bound(*setup->prices, setup->microbatches).bound));
  }
  return best;
}

}  // namespace plumb
