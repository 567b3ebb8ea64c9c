#include <algorithm>
#include <array>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/zero_bubble/v_block.hpp"

namespace plumb {
namespace {

/// What a pass adds to the stash.
std::int64_t change_of(VPass pass) { return is_forward(pass) ? 1 : is_weight(pass) ? -1 : 0; }

/// Phases of all passes modulo 6, W right after its I. Three backwards of neighbouring devices take nine slots.
std::vector<VPattern> one_f_one_b_block(std::int32_t p) {
  constexpr std::int32_t kPeriod = 6;
  std::vector<VPattern> block(as_index(p));
  std::int32_t slot = 0;
  std::int32_t turn = (3 - (p + 2) % 3) % 3;
  const auto backward = [&](std::int32_t d, VPass pass) {
    block[as_index(d)][index(pass)] = slot % kPeriod;
    block[as_index(d)][index(weight_of(pass))] = (slot + 1) % kPeriod;
    slot += 2;
    if (++turn < 3) return;
    turn = 0;
    slot += 3;
  };
  for (std::int32_t d = 0; d < p; ++d) block[as_index(d)][index(VPass::kF0)] = ++slot % kPeriod;
  for (std::int32_t d = p - 1; d >= 0; --d) block[as_index(d)][index(VPass::kF1)] = ++slot % kPeriod;
  slot += p % 3 == 0 ? 4 : 1;
  for (std::int32_t d = 0; d < p; ++d) backward(d, VPass::kI1);
  for (std::int32_t d = p - 1; d >= 0; --d) backward(d, VPass::kI0);
  return block;
}

/// The block repeated in a grid of slots, whose passes then move to earlier idle slots in the order of the grid.
class OneFOneBGrid {
 public:
  OneFOneBGrid(const std::vector<VPattern>& block, std::int64_t m)
      : p_(static_cast<std::int32_t>(block.size())), m_(m) {
    const std::vector<VPattern> first = first_slots(block);
    constexpr std::int32_t kPeriod = 6;
    std::int64_t length = 0;
    for (const VPattern& slots : first) {
      length = std::max<std::int64_t>(length, *std::max_element(slots.begin(), slots.end()) + kPeriod * (m - 1) + 2);
    }
    rows_.assign(block.size(), std::vector<std::int8_t>(as_index(length), kEmpty));
    for (std::size_t d = 0; d < block.size(); ++d) {
      for (std::size_t pass = 0; pass < kVPassCount; ++pass) {
        for (std::int64_t k = 0; k < m; ++k)
          rows_[d][as_index(first[d][pass] + kPeriod * k)] = static_cast<std::int8_t>(pass);
      }
    }
    done_.assign(kVPassCount * block.size() * as_index(m), -1);
    counts_.resize(block.size());
  }

  std::vector<VWord> words() {
    count_stashes();
    for (std::int64_t slot = 0; slot < std::ssize(rows_.front()); ++slot) {
      for (std::int32_t d = 0; d < p_; ++d) {
        if (rows_[as_index(d)][as_index(slot)] != kEmpty) visit(d, slot);
      }
    }
    std::vector<VWord> words;
    for (const auto& row : rows_) {
      auto& word = words.emplace_back();
      for (const std::int8_t content : row) {
        if (content != kEmpty) word.push_back(static_cast<VPass>(content));
      }
    }
    return words;
  }

 private:
  static constexpr std::int8_t kEmpty = -1;

  std::int64_t& done(VPass pass, std::int32_t d, std::int64_t microbatch) {
    return done_[as_index((static_cast<std::int64_t>(pass) * p_ + d) * m_ + microbatch)];
  }

  /// Stashes after every slot, and the largest number.
  void count_stashes() {
    for (const auto& row : rows_) {
      auto& curve = stashes_.emplace_back();
      std::int64_t now = 0;
      for (const std::int8_t content : row) {
        if (content != kEmpty) now += change_of(static_cast<VPass>(content));
        curve.push_back(now);
        peak_ = std::max(peak_, now);
      }
    }
  }

  /// The last slot of what the pass needs; -1: nothing.
  std::int64_t needed(VPass pass, std::int32_t d, std::int64_t microbatch) {
    std::int64_t slot = microbatch > 0 ? done(pass, d, microbatch - 1) : -1;
    const bool remote = (goes_down(pass) && d > 0) || (goes_up(pass) && d + 1 < p_);
    const std::int32_t source = !remote ? d : goes_down(pass) ? d - 1 : d + 1;
    if (is_weight(pass)) {
      slot = std::max(slot, done(VPass{static_cast<std::uint8_t>(index(pass) - 2)}, d, microbatch));
    } else if (pass == VPass::kF0 || pass == VPass::kF1) {
      const VPass made_by = remote ? pass : VPass::kF0;
      if (remote || pass == VPass::kF1) slot = std::max(slot, done(made_by, source, microbatch));
    } else if (!remote && pass == VPass::kI1) {
      slot = std::max(slot, done(VPass::kF1, d, microbatch));
    } else {  // a gradient leaves with its W
      slot = std::max(slot, done(remote ? weight_of(pass) : VPass::kW1, source, microbatch));
    }
    return slot;
  }

  void visit(std::int32_t d, std::int64_t slot) {
    const auto pass = VPass{static_cast<std::uint8_t>(rows_[as_index(d)][as_index(slot)])};
    const std::int64_t microbatch = counts_[as_index(d)][index(pass)]++;
    const std::int64_t to = free_slot(pass, d, needed(pass, d, microbatch) + 1, slot);
    done(pass, d, microbatch) = to;
    if (to == slot) return;
    std::swap(rows_[as_index(d)][as_index(to)], rows_[as_index(d)][as_index(slot)]);
    const std::int64_t change = change_of(pass);
    for (std::int64_t i = to; i < slot; ++i) stashes_[as_index(d)][as_index(i)] += change;
  }

  /// The first slot from `first` where the pass (I: with its W after it) may run without a higher peak, else `own`.
  std::int64_t free_slot(VPass pass, std::int32_t d, std::int64_t first, std::int64_t own) const {
    const auto& row = rows_[as_index(d)];
    const bool pair = !is_forward(pass) && !is_weight(pass);
    std::int64_t slot = first;
    if (is_forward(pass)) {
      slot = own;
      while (slot > first && stashes_[as_index(d)][as_index(slot - 1)] < peak_) --slot;
    }
    while (slot < own && (row[as_index(slot)] != kEmpty || (pair && row[as_index(slot + 1)] != kEmpty))) ++slot;
    return slot;
  }

  std::int32_t p_;
  std::int64_t m_;
  std::vector<std::vector<std::int8_t>> rows_;
  std::vector<std::vector<std::int64_t>> stashes_;
  std::int64_t peak_ = 0;
  std::vector<std::int64_t> done_;  ///< slot by pass, device, microbatch
  std::vector<std::array<std::int64_t, kVPassCount>> counts_;
};

}  // namespace

/// 1F1B over the V placement, with full backwards: two thirds of the memory of 1F1B (3, 6, 11 and 22 microbatches for
/// 4, 8, 16 and 32 devices; twice that many stashes). The order does not look at costs. Any p and m.
/// (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, and its released code)
///
///   p = 2, m = 3 (stages 0 and 3 on d0; stages 1 and 2 on d1)
///   d0: 0F0 0F1 0F2 3F0 3B0 3F1 3B1 0B0 3F2 3B2 0B1 0B2 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2B0 1B0 1F2 2F2 2B1 1B1 2B2 1B2 1U0 2U0
Schedule one_f_one_b_v(const ScheduleParams& params) {
  require_v_chunks("1f1b-v", params);
  require_searchable("1f1b-v", params, 2 * params.num_devices);
  OneFOneBGrid grid(one_f_one_b_block(params.num_devices), params.num_microbatches);
  return v_schedule("1f1b-v", params, grid.words(), true);
}

}  // namespace plumb
