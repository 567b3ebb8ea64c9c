#pragma once

#include <cstdint>
#include <string_view>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// How the shares of the head are computed and put together.
enum class HeadPasses : std::uint8_t {
  kOneBarrier,   ///< S makes logits, local softmax and gradient of the input (F, I), T the gradient of the weight (W)
  kTwoBarriers,  ///< S makes logits and local softmax (F); T, after the sums of all shares are known, the rest (B)
  kAtOnce,       ///< S, the loss and T of a microbatch follow each other on all devices at once
};

/// The schedule without its lists: stage s < p of the layers, share s of the head (stage p + s) and of the embedding
/// (2p + s) are on device s; where all compute at once, the last device also has the stage of the loss (3p).
Schedule vocabulary_schedule(std::string_view name, const ScheduleParams& params, HeadPasses passes,
                             std::int64_t updates);

/// Writes the passes of one device by the numbers of their microbatches; those that do not exist are left out.
class VocabularyPasses {
 public:
  VocabularyPasses(const ScheduleParams& params, std::int32_t device, HeadPasses passes, ListBuilder& list)
      : p_(params.num_devices), m_(params.num_microbatches), device_(device), passes_(passes), list_(list) {}

  void forward(std::int64_t k) { add(0, Op::kF, k); }
  void backward(std::int64_t k) { add(0, Op::kB, k); }
  void embed(std::int64_t k) { add(2, Op::kF, k); }
  void embed_backward(std::int64_t k) { add(2, Op::kB, k); }
  void score(std::int64_t k);           ///< S
  void loss(std::int64_t k);            ///< puts the shares together; on the last device
  void score_backward(std::int64_t k);  ///< T
  void updates();

 private:
  void add(std::int32_t group, Op op, std::int64_t k) {
    if (k >= 0 && k < m_) list_.add(StageId{group * p_ + device_}, op, k);
  }

  std::int32_t p_;
  std::int64_t m_;
  std::int32_t device_;
  HeadPasses passes_;
  ListBuilder& list_;
};

/// `write(n)` for n from `begin` to `end` - 1, where only the numbers change but at `cuts`, where something begins or
/// ends.
template <class Write>
void each_between(ListBuilder& list, std::int64_t begin, std::int64_t end, std::vector<std::int64_t> cuts,
                  Write&& write) {
  cuts.push_back(end);
  std::ranges::sort(cuts);
  for (const std::int64_t cut : cuts) {
    const std::int64_t stop = std::clamp(cut, begin, end);
    list.each(stop - begin, [&] { write(begin); });
    begin = std::max(begin, stop);
  }
}

}  // namespace plumb
