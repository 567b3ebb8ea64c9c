#include <algorithm>
#include <vector>

#include "schedules/catalogue/synchronous/vocabulary_passes.hpp"

namespace plumb {
namespace {

/// One device's step. Symbols: p devices, the device r, m microbatches; a *turn* n is the head of microbatch n, which
/// all devices compute at once, and the passes of the embedding that are due meanwhile.
class InterlacedTurns {
 public:
  InterlacedTurns(const ScheduleParams& params, std::int32_t r, ListBuilder& list)
      : p_(params.num_devices),
        m_(params.num_microbatches),
        r_(r),
        passes_(params, r, HeadPasses::kAtOnce, list),
        list_(list) {}

  void write() {
    const std::int64_t warm = std::min(m_, p_ * 3 / 2 - r_);
    const std::int64_t first = std::min(m_, p_ - r_);
    for (std::int64_t k = 0; k <= r_; ++k) passes_.embed(k);
    for (std::int64_t k = 0; k < warm; ++k) {
      passes_.embed(r_ + 1 + k);
      passes_.forward(k);
    }
    for (std::int64_t n = 0; n < first; ++n) turn(n);
    const std::int64_t waited = std::max<std::int64_t>(0, warm - first - (p_ - r_ - 1) / 2);
    backwards(0, waited, m_, first);
    backwards(waited, m_, warm - waited, first);
    for (std::int64_t k = std::max<std::int64_t>(0, m_ + first - p_ - 1); k < m_; ++k) passes_.embed_backward(k);
    passes_.updates();
  }

 private:
  void turn(std::int64_t n) {
    passes_.score(n);
    passes_.loss(n);
    passes_.score_backward(n);
    if (n >= p_ - 1) passes_.embed(p_ * 3 / 2 + 1 + n - (p_ - 1));
    passes_.embed_backward(n - p_ - 1);
  }

  /// Backwards of [begin, end), each with the turn `ahead` after it and the forward `further` after it.
  void backwards(std::int64_t begin, std::int64_t end, std::int64_t further, std::int64_t ahead) {
    const bool forward_first = (p_ - r_) % 2 == 0;
    const std::int64_t embedded = m_ - p_ * 3 / 2 - 1 + p_ - 1 - ahead;
    const std::vector<std::int64_t> cuts{m_ - further, m_ - ahead, embedded, p_ - 1 - ahead, p_ + 1 - ahead};
    each_between(list_, begin, end, cuts, [&](std::int64_t i) {
      if (forward_first) passes_.forward(further + i);
      passes_.backward(i);
      if (!forward_first) passes_.forward(further + i);
      turn(ahead + i);
    });
  }

  std::int64_t p_;
  std::int64_t m_;
  std::int64_t r_;
  VocabularyPasses passes_;
  ListBuilder& list_;
};

}  // namespace

/// 1F1B whose embedding and head are divided over all devices as tensor ranks divide them: all devices compute the head
/// of a microbatch at once and wait for its collectives. Needs half as many microbatches again in flight: device d
/// keeps 3p/2 - d. The messages of the head stand for collectives: a runtime that sends in batches would hang on them.
/// (Baseline of Yeung et al., arXiv 2411.05288; the idea is that of nnScaler's interlaced pipeline, Lin et al., OSDI
/// 2024; order of the released code, github.com/sail-sg/VocabularyParallelism)
Schedule one_f_one_b_interlaced(const ScheduleParams& params) {
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = vocabulary_schedule("1f1b-interlaced", params, HeadPasses::kAtOnce, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(
        repeat_steps(params, updates, [&](ListBuilder& list) { InterlacedTurns(params, d, list).write(); }));
  }
  return schedule;
}

}  // namespace plumb
