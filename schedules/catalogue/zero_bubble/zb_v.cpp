#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "schedules/catalogue/zero_bubble/post_validation.hpp"
#include "schedules/catalogue/zero_bubble/v_order.hpp"
#include "schedules/catalogue/zero_bubble/zb_v_search.hpp"

namespace plumb {
namespace {

/// Writes one device's step of the rule for n = max(m, 2p - 1) microbatches without what lies after m. Loops are
/// folded where nothing is left out.
class RuleWriter {
 public:
  RuleWriter(ListBuilder& list, std::int32_t device, std::int32_t num_devices, std::int64_t m)
      : list_(list),
        down_{device},
        up_{2 * num_devices - 1 - device},
        p_(num_devices),
        d_(device),
        m_(m),
        n_(std::max<std::int64_t>(m, 2 * std::int64_t{num_devices} - 1)) {}

  void write() {
    const std::int64_t early = 2 * (p_ - d_) - 1;  // F of the first stage before that of the second
    const std::int64_t filled = 2 * p_ - 1 - d_;   // and before the first I of the first stage
    const std::int64_t steady = n_ - filled;
    const std::int64_t last = p_ - d_ - 1;  // turns of the steady loop without a forward of the first stage
    each(early, [&](std::int64_t k) { add(down_, Op::kF, k); });
    each(d_, [&](std::int64_t k) {
      add(up_, Op::kF, k);
      add(down_, Op::kF, early + k);
    });
    each(p_ - d_, [&](std::int64_t k) { turn(d_ + k, k); });
    each(steady, [&](std::int64_t k) {
      add(down_, Op::kF, filled + k);
      backward(down_, k);
      turn(p_ + k, p_ - d_ + k);
    });
    each(last, [&](std::int64_t k) {
      backward(down_, steady + k);
      turn(p_ + steady + k, p_ - d_ + steady + k);
    });
    each(d_, [&](std::int64_t k) {
      add(down_, Op::kI, n_ - p_ + k);
      add(up_, Op::kI, n_ - d_ + k);
    });
    each(p_ - d_, [&](std::int64_t k) {
      add(down_, Op::kI, n_ - p_ + d_ + k);
      add(down_, Op::kW, n_ - p_ + k);
    });
    each(d_, [&](std::int64_t k) { add(up_, Op::kW, n_ - d_ + k); });
    each(d_, [&](std::int64_t k) { add(down_, Op::kW, n_ - d_ + k); });
    list_.add(down_, Op::kU, 0);
    list_.add(up_, Op::kU, 0);
  }

 private:
  template <class Body>
  void each(std::int64_t count, Body&& body) {
    if (n_ == m_) {
      list_.each(count, [&] { body(0); });
    } else {
      for (std::int64_t k = 0; k < count; ++k) body(k);
    }
  }
  void add(StageId stage, Op op, std::int64_t microbatch) {
    if (microbatch < m_) list_.add(stage, op, microbatch);
  }
  void backward(StageId stage, std::int64_t microbatch) {
    add(stage, Op::kI, microbatch);
    add(stage, Op::kW, microbatch);
  }
  /// F, I and W of the second stage.
  void turn(std::int64_t forward, std::int64_t back) {
    add(up_, Op::kF, forward);
    backward(up_, back);
  }

  ListBuilder& list_;
  StageId down_;
  StageId up_;
  std::int64_t p_;
  std::int64_t d_;
  std::int64_t m_;
  std::int64_t n_;
};

Schedule by_rule(const ScheduleParams& params) {
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = v_placed_schedule("zb-v", params, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      RuleWriter(list, d, params.num_devices, params.num_microbatches).write();
    }));
  }
  return schedule;
}

Schedule by_search(const ScheduleParams& params) {
  const std::int32_t num_stages = 2 * params.num_devices;
  require_searchable("zb-v", params, num_stages);
  PassCosts costs = pass_costs(params, num_stages);
  if (params.memory_limit <= 0) {
    assume_paper_stashes(costs);
    std::int64_t largest = 0;
    for (const StagePasses& stage : costs.stages) largest = std::max(largest, stage.f.stash);
    costs.limit = num_stages * largest;
  }
  const auto order =
      search_zb_v(costs, static_cast<std::int32_t>(params.num_microbatches), search_effort("zb-v", params, true, 6));
  require(order.has_value(), "zb-v", "the search finds no order within the memory limit; see 'v-auto' for less memory");
  Schedule schedule = v_schedule("zb-v", params, v_words(order->words));
  add_span_bound(*order, costs, schedule);
  return schedule;
}

}  // namespace

/// Two stages per device in a V, so that forward and backward of a microbatch begin and end on device 0: no idle time
/// between a device's first and last action with equal passes and m >= 2p - 1, in the memory of 1F1B (2p stashes of
/// half a device on every device). Any p and m. `order=rule` is the hand-written order (also PyTorch's ZBVZeroBubble);
/// `order=search` the heuristic for the given costs within `--memory-limit` (default 2p times what F keeps), improved
/// and with a lower bound on its span as `schedules/catalogue/searched/best_order.hpp` says.
/// (ZB-V: Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241v1, section 6, and its released code)
///
///   p = 2, m = 4 (stages 0 and 3 on d0; stages 1 and 2 on d1)
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3 1U0 2U0
Schedule zb_v(const ScheduleParams& params) {
  require_v_chunks("zb-v", params);
  const bool rule = choice("zb-v", params, "order", {"rule", "search"}) == "rule";
  for (const char* option : {"improve", "proof"}) {
    require(!rule || !params.options.contains(option), "zb-v",
            "option " + std::string(option) + " belongs to order=search");
  }
  return with_validation("zb-v", params, rule ? by_rule(params) : by_search(params));
}

}  // namespace plumb
