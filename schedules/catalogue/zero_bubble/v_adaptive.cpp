#include "schedules/catalogue/zero_bubble/v_adaptive.hpp"

#include <algorithm>

#include "schedules/catalogue/zero_bubble/v_block.hpp"

namespace plumb {
namespace {

constexpr std::int32_t kAdaptivePeriod = 6;

/// Slots of device 0: F0 at 0, the others at all distinct places.
std::vector<VPattern> first_patterns() {
  std::vector<VPattern> patterns;
  for (std::int32_t f1 = 1; f1 < kAdaptivePeriod; ++f1) {
    for (std::int32_t i1 = 1; i1 < kAdaptivePeriod; ++i1) {
      for (std::int32_t i0 = 1; i0 < kAdaptivePeriod; ++i0) {
        if (f1 != i1 && f1 != i0 && i1 != i0) patterns.push_back(with_weights({0, f1, i1, i0, 0, 0}));
      }
    }
  }
  return patterns;
}

/// The block that starts with `first`; F0 and I1 come `near` slots later on each of the next `turn` devices and `far`
/// on those after, F1 and I0 one slot earlier. Empty where passes collide.
std::optional<std::vector<VPattern>> block_of(const VPattern& first, std::int32_t near, std::int32_t far,
                                              std::int32_t turn, std::int32_t num_devices) {
  std::vector<VPattern> block{first};
  for (std::int32_t d = 0; d + 1 < num_devices; ++d) {
    const std::int32_t step = d < turn ? near : far;
    VPattern pattern{};
    std::uint32_t taken = 0;
    for (const VPass pass : {VPass::kF0, VPass::kF1, VPass::kI1, VPass::kI0}) {
      const std::int32_t slot =
          (block.back()[index(pass)] + (goes_down(pass) ? step : kAdaptivePeriod - 1)) % kAdaptivePeriod;
      if ((taken >> slot & 1U) != 0) return std::nullopt;
      taken |= 1U << slot;
      pattern[index(pass)] = slot;
    }
    block.push_back(with_weights(pattern));
  }
  return block;
}

class AdaptiveSearch {
 public:
  AdaptiveSearch(const PassCosts& costs, std::int64_t m, std::int64_t stashes)
      : p_(static_cast<std::int32_t>(costs.stages.size() / 2)),
        limit_(std::min(stashes, 2 * std::int64_t{p_})),
        unroller_(p_, m),
        timer_(costs, m) {
    for (std::size_t d = 0; d < costs.stages.size() / 2; ++d) {
      const Ticks work = costs.stages[d].time() + costs.stages[costs.stages.size() - 1 - d].time();
      least_span_ = std::max(least_span_, m * work);
    }
  }

  std::optional<std::vector<VWord>> run() {
    for (const VPattern& first : first_patterns()) {
      for (std::int32_t near = 1; near < kAdaptivePeriod; ++near) {
        for (std::int32_t far = 1; far <= near; ++far) {
          if (best_ && best_span_ == least_span_) return std::move(best_);
          try_turns(first, near, far);
        }
      }
    }
    return std::move(best_);
  }

 private:
  /// All places where the steps change, until memory does not suffice: later turns need more.
  void try_turns(const VPattern& first, std::int32_t near, std::int32_t far) {
    const std::int32_t turns = near == far ? 1 : std::max(1, p_ - 1);  // equal steps have no turn
    for (std::int32_t turn = 1; turn <= turns; ++turn) {
      const auto block = block_of(first, near, far, turn, p_);
      if (!block) continue;
      const auto outcome = unroller_.unroll(*block, limit_);
      if (outcome == BlockUnroller::Outcome::kTooMuchMemory) return;
      if (outcome == BlockUnroller::Outcome::kMade) consider();
    }
  }

  void consider() {
    if (!timer_.run(unroller_.words())) return;
    const Ticks span = timer_.longest_device_span();
    if (best_ && span >= best_span_) return;
    best_ = unroller_.words();
    best_span_ = span;
  }

  std::int32_t p_;
  std::int64_t limit_;
  BlockUnroller unroller_;
  WordTimer timer_;
  std::optional<std::vector<VWord>> best_;
  Ticks best_span_ = 0;
  Ticks least_span_ = 0;  ///< that of the busiest device without idle time
};

}  // namespace

std::optional<std::vector<VWord>> search_v_blocks(const PassCosts& costs, std::int64_t num_microbatches,
                                                  std::int64_t stashes) {
  return AdaptiveSearch(costs, num_microbatches, stashes).run();
}

}  // namespace plumb
