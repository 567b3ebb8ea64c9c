#pragma once

#include <memory>
#include <vector>

#include "trainer/memory/arena.hpp"
#include "trainer/methods/correction.hpp"

namespace plumb {

/// The corrections of one holder, each with its share of the holder's buffers.
class CorrectionChain {
 public:
  CorrectionChain() = default;
  /// The schedule's methods at `place`. The last blocks of `buffers` are theirs; they must stay where they are.
  CorrectionChain(const CorrectionSetting& setting, const MethodPlace& place, const std::vector<Block>& buffers);

  // As in `Correction`, of all in order. Passes: the first one that has something to say.
  void start(const CorrectedHolder& holder);
  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder);
  bool exchange(Exchange step, std::span<std::byte> values, const CorrectedHolder& holder);
  /// Returns the product of all.
  double rate_factor(std::int64_t update) const;
  void before_update(UpdateStep& step, const CorrectedHolder& holder);
  void after_update(const UpdateStep& step, const CorrectedHolder& holder);
  bool carries_gradients(std::int64_t update) const;
  std::vector<std::int64_t*> notes();

 private:
  struct Link {
    std::unique_ptr<Correction> correction;
    std::vector<std::byte*> buffers;
  };
  std::vector<Link> links_;
};

}  // namespace plumb
