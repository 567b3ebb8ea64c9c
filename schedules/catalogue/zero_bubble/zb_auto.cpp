#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/catalogue/post_validation.hpp"
#include "schedules/catalogue/zero_bubble/zb_search.hpp"

namespace plumb {
namespace {

/// Writes the word of `stage`, microbatches in order within each letter, and its update.
void write_word(const OrderWord& word, StageId stage, ListBuilder& list) {
  constexpr std::array kOps{Op::kF, Op::kI, Op::kW};
  std::array<std::int64_t, kOps.size()> next{};
  for (const std::uint8_t kind : word) list.add(stage, kOps[kind], next[kind]++);
  list.add(stage, Op::kU, 0);
}

/// What an option says of a hyper-parameter; nothing where both values are to be tried.
std::optional<bool> hyper_parameter(std::string_view name, const ScheduleParams& params, const std::string& key) {
  const std::string value = choice(name, params, key, {"both", "yes", "no"});
  return value == "both" ? std::nullopt : std::optional(value == "yes");
}

/// The best order where device d holds at most `stashes` times what its F makes, beside what one I makes more than it
/// frees; 0: `params.memory_limit`, and the order is improved by default.
Schedule searched_order(std::string_view name, const ScheduleParams& params, std::int64_t stashes) {
  require_one_chunk(name, params);
  require_searchable(name, params, params.num_devices);
  PassCosts costs = pass_costs(params, params.num_devices);
  if (stashes > 0) assume_paper_stashes(costs);
  std::vector<std::int64_t> limits(costs.stages.size(), costs.limit);
  for (std::size_t d = 0; stashes > 0 && d < limits.size(); ++d) {
    const StagePasses& passes = costs.stages[d];
    limits[d] = stashes * passes.f.stash + std::max<std::int64_t>(0, passes.i.stash);
  }
  const SearchEffort effort = search_effort(name, params, stashes == 0, 3);  // whose options are refused first
  const auto order = search_zero_bubble(costs, limits, static_cast<std::int32_t>(params.num_microbatches),
                                        {.allow_gap = hyper_parameter(name, params, "gap"),
                                         .skip_forward = hyper_parameter(name, params, "skip"),
                                         .fill_small_gap = hyper_parameter(name, params, "fill")},
                                        effort);
  require(order.has_value(), name, "the memory limit must hold what the forward of one microbatch keeps");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule(name, params, 1, updates);
  for (std::size_t d = 0; d < order->words.size(); ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      write_word(order->words[d], StageId{static_cast<std::int32_t>(d)}, list);
    }));
  }
  add_span_bound(*order, costs, schedule);
  return with_validation(name, params, std::move(schedule));
}

}  // namespace

/// The automatic scheduler with the memory of 1F1B: device d keeps at most p activations (what F keeps, p times).
/// Where no stashes are given, I and W free one half of an activation each, as in the paper. The order is what the
/// released code finds; `improve=yes` continues from there.
/// (ZB-1p: Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 3;
/// schedules/catalogue/zero_bubble/zb_search.hpp)
///
///   p = 3, m = 4, F = I = W
///   d0: 0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3 0U0
///   d1: 1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3 1U0
///   d2: 2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3 2U0
Schedule zb_1p(const ScheduleParams& params) { return searched_order("zb-1p", params, params.num_devices); }

/// The automatic scheduler with twice the memory of 1F1B, where almost no idle time is left: at most 2p activations.
/// (ZB-2p: as ZB-1p)
///
///   p = 3, m = 4, F = I = W
///   d0: 0F0 0F1 0F2 0F3 0I0 0W0 0I1 0W1 0I2 0W2 0I3 0W3 0U0
///   d1: 1F0 1F1 1F2 1I0 1F3 1I1 1W0 1I2 1W1 1I3 1W2 1W3 1U0
///   d2: 2F0 2I0 2F1 2I1 2F2 2I2 2F3 2I3 2W0 2W1 2W2 2W3 2U0
Schedule zb_2p(const ScheduleParams& params) {
  return searched_order("zb-2p", params, 2 * std::int64_t{params.num_devices});
}

/// The automatic scheduler under `--memory-limit`, anything from one activation up; without one memory is no limit.
/// Where no stashes are given, an activation counts from its F to its W. Unless `improve=no`, orders of other kinds and
/// a local search follow, so that it is never longer than the released code's order. (Qi et al., arXiv 2401.10241,
/// section 3)
Schedule zb_auto(const ScheduleParams& params) { return searched_order("zb-auto", params, 0); }

}  // namespace plumb
