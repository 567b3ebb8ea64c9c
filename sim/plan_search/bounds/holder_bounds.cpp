#include "sim/plan_search/bounds/holder_bounds.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/plan_search/bounds/layer_sums.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"

namespace plumb {
namespace {

std::int64_t most_turns(std::int64_t microbatches, std::int64_t holders) {
  return (microbatches + holders - 1) / holders;
}

/// Places of two kinds (statement 3): the fastest ones, and all others, seen as the fastest and roomiest of those.
struct UnlikePlaces {
  std::int32_t fast = 0;
  std::int32_t slow = 0;
  double slowdown = 1;         ///< time of a slow place over that of a fast one
  std::int64_t slow_room = 0;  ///< bytes on the roomiest slow place
  bool apart = true;           ///< no node has both kinds
};

UnlikePlaces unlike_places(const LayerPrices& prices) {
  UnlikePlaces unlike;
  const double fast = std::ranges::max(prices.speed);
  double slow = 0;
  bool limited = true;
  std::vector<std::array<bool, 2>> in_node(prices.speed.size());
  for (std::size_t place = 0; place < prices.speed.size(); ++place) {
    const bool is_fast = prices.speed[place] == fast;
    ++(is_fast ? unlike.fast : unlike.slow);
    in_node[static_cast<std::size_t>(prices.node[place])][is_fast ? 1 : 0] = true;
    if (is_fast) continue;
    slow = std::max(slow, prices.speed[place]);
    limited = limited && prices.usable_bytes[place] > 0;
    unlike.slow_room = std::max(unlike.slow_room, prices.usable_bytes[place]);
  }
  if (!limited) unlike.slow_room = std::numeric_limits<std::int64_t>::max();
  if (slow > 0) unlike.slowdown = fast / slow;
  unlike.apart = std::ranges::none_of(in_node, [](const auto& kinds) { return kinds[0] && kinds[1]; });
  return unlike;
}

/// What is counted: the defaults for a bound, which counts only what is certain; the rest for estimates.
struct Counted {
  bool as_scheduled = false;   ///< count microbatches in flight as `dapple` has them, and messages of every turn
  bool between_nodes = false;  ///< messages go between nodes
  std::int32_t grain = 1;      ///< stages have a multiple of so many holders
  double room = 1;             ///< share of the memory that is used
  bool messages = true;        ///< messages take memory
};

/// The statements of `holders_bound`.
class Holders {
 public:
  Holders(const LayerPrices& prices, std::int64_t microbatches, const Counted& counted)
      : sums_(prices, microbatches),
        counted_(counted),
        microbatches_(microbatches),
        places_(static_cast<std::int32_t>(prices.speed.size())),
        unlike_(unlike_places(prices)),
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

  /// Statement 4 with 3; 0 where all places are alike or the program would be too large.
  Ticks unlike_bound() const {
    constexpr std::int64_t kMostWays = 1024;
    if (unlike_.slow == 0 || (unlike_.fast + 1) * static_cast<std::int64_t>(unlike_.slow + 1) > kMostWays) return 0;
    const Ticks base = sums_.forward.back() + sums_.backward.back();
    return sums_.in_time(least_step(base, [&](Ticks step) { return possible_unlike(step); }).impossible);
  }

 private:
  /// The stage of layers [begin, end), whatever its holders.
  struct Stage {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::int64_t most_kept = 0;       ///< n: stashes that fit into the roomiest place; 0: not even one
    std::int64_t most_kept_slow = 0;  ///< stashes that fit into the roomiest slow place
    Ticks turn = 0;                   ///< F + B
    Ticks life = 0;                   ///< l
    Ticks before = 0;                 ///< E
    Ticks back = 0;                   ///< Z
    std::int64_t gradients = 0;
  };

  /// Statements 1 and 2 as 3 has them: the least step with `fast + slow` holders.
  Ticks unlike_step(const Stage& stage, std::int32_t fast, std::int32_t slow) const {
    const std::int64_t count = fast + slow;
    const bool all_take = microbatches_ % count > fast;
    const std::int64_t turns = slow == 0 ? 0 : all_take ? most_turns(microbatches_, count) : microbatches_ / count;
    const auto as_work = [&](Ticks work) {
      return static_cast<Ticks>(static_cast<double>(work) * unlike_.slowdown * (1 - 1e-9));
    };
    Ticks busy = 0;
    if (turns > 0) {
      const Ticks life = stage.life - stage.turn + as_work(stage.turn);
      busy = std::max(turns * as_work(stage.turn), most_turns(turns, stage.most_kept_slow) * life);
    }
    if (fast > 0) {
      const std::int64_t most = most_turns(microbatches_, count);
      busy = std::max({busy, most * stage.turn, most_turns(most, stage.most_kept) * stage.life});
    }
    const bool between_nodes = fast > 0 && slow > 0 && unlike_.apart;
    return stage.before + busy + std::max(stage.back, sums_.reduction(stage.gradients, count, between_nodes));
  }

  /// Finds the fewest slow holders with which a stage can be done within `step`, by the number of fast ones; more than
  /// there are where no number is enough.
  std::vector<std::int32_t> fewest_slow(const Stage& stage, Ticks step) const {
    std::vector<std::int32_t> fewest(static_cast<std::size_t>(unlike_.fast) + 1, unlike_.slow + 1);
    for (std::int32_t fast = 0; fast <= unlike_.fast; ++fast) {
      if (fast > 0 && stage.most_kept == 0) continue;
      for (std::int32_t slow = fast == 0 ? 1 : 0; slow <= unlike_.slow; ++slow) {
        if (slow > 0 && stage.most_kept_slow == 0) break;
        if (unlike_step(stage, fast, slow) > step) continue;
        fewest[static_cast<std::size_t>(fast)] = slow;
        break;
      }
    }
    return fewest;
  }

  /// Statement 4 with 3: whether some cut gives each stage enough holders.
  bool possible_unlike(Ticks step) const {
    const std::size_t layers = sums_.layers();
    const auto all_fast = static_cast<std::size_t>(unlike_.fast);
    // Fewest slow places for the first layers, by their number and by the number of fast places they may use.
    std::vector<std::vector<std::int32_t>> used(layers + 1, std::vector<std::int32_t>(all_fast + 1, unlike_.slow + 1));
    used[0].assign(all_fast + 1, 0);
    for (std::size_t end = 1; end <= layers; ++end) {
      std::int64_t workspace = 0;
      for (std::size_t begin = end; begin-- > 0;) {
        workspace = std::max(workspace, workspace_before(begin, end));
        const std::vector<std::int32_t> needed = fewest_slow(stage(begin, end, workspace), step);
        for (std::size_t fast = 0; fast <= all_fast; ++fast) {
          for (std::size_t of_stage = 0; of_stage <= fast; ++of_stage) {
            const std::int32_t slow = used[begin][fast - of_stage] + needed[of_stage];
            used[end][fast] = std::min(used[end][fast], slow);
          }
        }
      }
    }
    return used[layers][all_fast] <= unlike_.slow;
  }

  /// Returns the bytes that layer `begin` and the next one hand on inside the stage [begin, end).
  std::int64_t workspace_before(std::size_t begin, std::size_t end) const {
    if (begin + 1 >= end) return 0;
    return down_bytes_[begin + 1] + (begin + 2 < end ? down_bytes_[begin + 2] : 0);
  }

  Stage stage(std::size_t begin, std::size_t end, std::int64_t workspace) const {
    const auto part = [&](const std::vector<std::int64_t>& sums) { return sums[end] - sums[begin]; };
    const std::int64_t kept = part(sums_.kept);
    const std::int64_t messages = down_bytes_[begin] + down_bytes_[end];
    const std::int64_t beside = workspace + (counted_.as_scheduled ? 3 : 1) * messages;  // waiting ones, too
    const auto most_kept = [&](std::int64_t all) -> std::int64_t {
      const std::int64_t room = all - part(sums_.held) - beside;
      if (room < 0) return 0;
      return kept == 0 ? microbatches_ : room / kept;
    };
    Stage stage{.begin = begin, .end = end, .gradients = part(sums_.gradients)};
    stage.most_kept = most_kept(room_);
    stage.most_kept_slow = most_kept(unlike_.slow_room);
    stage.turn = part(sums_.forward) + part(sums_.backward);
    stage.life = sums_.forward.back() - sums_.forward[begin] + sums_.backward.back() - sums_.backward[begin] +
                 down_[end] + up_[end];
    stage.before = sums_.forward[begin] + down_[begin];
    stage.back = sums_.backward[begin] + up_[begin];
    return stage;
  }

  /// Statements 1 and 2: the least step with `count` holders.
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

  /// Finds the fewest holders with which a stage can be done within `step`; nothing where `most` are not enough.
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

  /// Statement 4: whether some cut gives each stage enough holders. Fills `fewest_` and `from_`.
  bool possible(Ticks step) {
    const std::size_t layers = sums_.layers();
    fewest_.assign(layers + 1, places_ + 1);
    from_.assign(layers + 1, 0);
    fewest_[0] = 0;
    for (std::size_t end = 1; end <= layers; ++end) {
      std::int64_t workspace = 0;
      for (std::size_t begin = end; begin-- > 0;) {
        if (sums_.held[end] - sums_.held[begin] > sums_.room_bytes) break;
        workspace = std::max(workspace, workspace_before(begin, end));
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
  UnlikePlaces unlike_;
  std::int64_t room_;
  std::vector<std::int64_t> down_bytes_;  ///< bytes of a forward's message, by cut
  std::vector<Ticks> down_;               ///< least time of a forward's message, by cut
  std::vector<Ticks> up_;                 ///< least time of a gradient's message, by cut
  std::vector<std::int32_t> fewest_;      ///< fewest places for the first k layers
  std::vector<std::size_t> from_;         ///< first layer of the last stage of these
};

/// Makes prices of stages that take only what is certain of their layers. `dapple` has whole backwards. A layer that
/// holds nothing of its own in some stages has no gradients there.
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
  const auto bound = [&](const LayerPrices& of, const Counted& counted) {
    Holders holders(of, microbatches, counted);
    HoldersBound found = holders.run();
    found.bound = std::max(found.bound, holders.unlike_bound());
    return found;
  };
  if (!prices.times.empty()) return bound(prices, {});
  if (prices.least.empty() || prices.messages.empty()) return {};
  return bound(sums_of_least(prices), {.messages = false});
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
  for (const auto& [bound, setup] : order) {  // `holders_bound` takes long, and few setups decide
    if (bound >= best) break;
    best = std::min(best, std::max(bound, holders_bound(*setup->prices, setup->microbatches).bound));
  }
  return best;
}

}  // namespace plumb
