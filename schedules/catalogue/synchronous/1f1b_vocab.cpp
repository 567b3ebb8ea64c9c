#include <algorithm>
#include <vector>

#include "schedules/catalogue/synchronous/vocabulary_passes.hpp"

namespace plumb {
namespace {

/// One device's step. Symbols: p devices, the device r, m microbatches, b barriers; a *turn* n is T of microbatch
/// n - 1, S of n, and the passes of the embedding that are due meanwhile. Turns take place on all devices at about the
/// same time, while forwards go down the pipeline and backwards up.
class VocabularyTurns {
 public:
  VocabularyTurns(const ScheduleParams& params, std::int32_t r, std::int64_t barriers, ListBuilder& list)
      : p_(params.num_devices),
        m_(params.num_microbatches),
        r_(r),
        b_(barriers),
        passes_(params, r, barriers == 1 ? HeadPasses::kOneBarrier : HeadPasses::kTwoBarriers, list),
        list_(list) {}

  void write() {
    for (std::int64_t k = 0; k <= r_; ++k) passes_.embed(k);
    for (std::int64_t k = 0; k < p_ - r_; ++k) {
      passes_.embed(r_ + 1 + k);
      passes_.forward(k);
    }
    for (std::int64_t n = 0; n < b_; ++n) {
      turn(n);
      if (n == 0 && b_ == 2) passes_.embed(p_ + 1);
      passes_.forward(p_ - r_ + n);
    }
    const std::int64_t waited = turns_before_backward(r_);
    for (std::int64_t n = b_; n < b_ + waited; ++n) turn(n);
    steady(b_ + waited);
    for (std::int64_t k = m_ - 1 - turns_before_backward(0) + waited; k < m_; ++k) passes_.embed_backward(k);
    passes_.updates();
  }

 private:
  /// Turns of device r between its last forward of the warm-up and its first backward, where B takes twice as long as
  /// F and a turn no longer than F.
  std::int64_t turns_before_backward(std::int64_t r) const {
    const std::int64_t above = p_ - 1 - r;
    return above == 0 ? 0 : above - (above - 1) / 3;
  }

  /// Where a turn behind the backward would not end before S of all devices must: it comes behind the forward.
  bool turns_behind_forward() const { return (p_ - 1 - r_) % 3 == 0 && r_ < p_ - 1; }

  void turn(std::int64_t n) {
    passes_.score_backward(n - 1);
    passes_.score(n);
    const std::int64_t since = n - turns_before_backward(0);
    if (since >= b_ - 1) passes_.embed(p_ + 1 + since);
    passes_.embed_backward(since - b_ - 1);
  }

  /// A backward each with a turn, from turn `first` on, and a forward as long as there are any.
  void steady(std::int64_t first) {
    const std::int64_t warm = p_ - r_ + b_;
    const std::int64_t shift = first - turns_before_backward(0);
    const std::vector<std::int64_t> cuts{m_ - warm,           m_ - first,     m_ - first + 1,
                                         m_ - p_ - 1 - shift, b_ - 1 - shift, b_ + 1 - shift};
    each_between(list_, 0, m_, cuts, [&](std::int64_t i) {
      passes_.backward(i);
      if (!turns_behind_forward()) turn(first + i);
      passes_.forward(warm + i);
      if (turns_behind_forward()) turn(first + i);
    });
  }

  std::int64_t p_;
  std::int64_t m_;
  std::int64_t r_;
  std::int64_t b_;
  VocabularyPasses passes_;
  ListBuilder& list_;
};

}  // namespace

/// 1F1B whose embedding and head are divided over all devices, so that no device has more to do or to keep than the
/// others. Every device computes a share of the head of every microbatch: S after the last forward, T a turn later,
/// when the sums over all shares have arrived. As many turns as there are barriers lie between the last forward of a
/// microbatch and its first backward; device d keeps p - d + barriers microbatches. The step takes m(F + B + S + T) +
/// (p - 1)(F + B) where B = 2F and S + T is at most F, with one barrier less T. (Yeung, Qi, Lin, Wan: Balancing
/// Pipeline Parallelism with Vocabulary Parallelism, arXiv 2411.05288; order of the released code,
/// github.com/sail-sg/VocabularyParallelism)
///
/// T only waits for the S of its own device. While the pipeline fills it may run before S of all devices, which
/// shortens no step.
///
///   p = 2, m = 3, barriers=1; 2 and 3 are shares of the head, 4 and 5 of the embedding, updates left out
///   d0: 4F0 4F1 0F0 4F2 0F1 2F0 2I0 0F2 2W0 2F1 2I1 0B0 2W1 2F2 2I2 0B1 2W2 4B0 0B2 4B1 4B2
///   d1: 5F0 5F1 5F2 1F0 3F0 3I0 1F1 1B0 3W0 3F1 3I1 1F2 1B1 3W1 3F2 3I2 1B2 3W2 5B0 5B1 5B2
Schedule one_f_one_b_vocab(const ScheduleParams& params) {
  const std::int64_t barriers = choice("1f1b-vocab", params, "barriers", {"1", "2"}) == "1" ? 1 : 2;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = vocabulary_schedule("1f1b-vocab", params,
                                          barriers == 1 ? HeadPasses::kOneBarrier : HeadPasses::kTwoBarriers, updates);
  schedule.parameters["barriers"] = barriers;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(
        repeat_steps(params, updates, [&](ListBuilder& list) { VocabularyTurns(params, d, barriers, list).write(); }));
  }
  return schedule;
}

}  // namespace plumb
