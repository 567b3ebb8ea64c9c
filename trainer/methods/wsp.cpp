#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// HetPipe's wave synchronous parallel: at the end of a wave a virtual worker gives the others what its own updates
/// have changed since the last one, and takes the sum of theirs, D waves late: nobody's update is lost or averaged
/// away.
///
/// Buffers: the weights when something was given last; with D > 0 also what was given in the last D + 1 waves, because
/// the worker's own part of a sum is in its weights already. (Park et al., HetPipe, arXiv 2005.14038, section 5)
class WaveSynchronous : public Correction {
 public:
  explicit WaveSynchronous(std::int32_t distance) : distance_(distance) {}

  void start(const CorrectedHolder& holder) override {
    holder.arithmetic.copy(holder.buffers.front(), holder.blocks.weights);
  }

  bool exchange(Exchange step, std::span<std::byte> values, const CorrectedHolder& holder) override {
    step == Exchange::kGive ? give(values.data(), holder) : take(values.data(), holder);
    return true;
  }

  std::vector<std::int64_t*> notes() override { return {&given_}; }

 private:
  void give(std::byte* change, const CorrectedHolder& holder) {
    std::byte* given_from = holder.buffers.front();
    holder.arithmetic.apply(Combine{1, -1}, {change, holder.blocks.weights, given_from});
    if (distance_ == 0) return;
    holder.arithmetic.copy(kept(given_, holder), change);
    holder.arithmetic.copy(given_from, holder.blocks.weights);
    ++given_;
  }

  void take(std::byte* sum, const CorrectedHolder& holder) {
    std::byte* weights = holder.blocks.weights;
    std::byte* given_from = holder.buffers.front();
    if (distance_ == 0) {
      holder.arithmetic.apply(Combine{1, 1}, {weights, given_from, sum});
      return holder.arithmetic.copy(given_from, weights);
    }
    holder.arithmetic.apply(Combine{1, -1}, {sum, sum, kept(given_ - 1 - distance_, holder)});
    holder.arithmetic.apply(Combine{1, 1}, {weights, weights, sum});
    holder.arithmetic.apply(Combine{1, 1}, {given_from, given_from, sum});
  }

  std::byte* kept(std::int64_t wave, const CorrectedHolder& holder) const {
    return holder.buffers[1 + static_cast<std::size_t>(wave % (distance_ + 1))];
  }

  std::int64_t distance_;
  std::int64_t given_ = 0;  ///< waves, with D > 0
};

}  // namespace

std::unique_ptr<Correction> make_wsp(const CorrectionFacts& facts) {
  return std::make_unique<WaveSynchronous>(facts.setting.schedule.weights.sync_distance);
}

}  // namespace plumb
