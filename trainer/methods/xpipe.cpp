#include <array>

#include "trainer/methods/kinds.hpp"
#include "trainer/methods/predict.hpp"

namespace plumb {
namespace {

/// XPipe: the first microbatch of an update predicts, once for forwards and once for backwards, and the others read
/// what it has predicted. Adam's moments with constant corrections. (Guan et al., arXiv 1911.04610)
class XPipe : public Correction {
 public:
  explicit XPipe(const CorrectionFacts& facts) : optimizer_(facts.setting.optimizer) {
    const Prediction& ahead = facts.setting.schedule.weights.prediction;
    steps_ = {ahead.forward[index(facts.place.stage)], ahead.backward[index(facts.place.stage)]};
  }

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    const std::size_t which = read.op == Op::kF ? 0 : 1;
    if (steps_[which] == 0) return nullptr;
    std::byte* buffer = which == 0 ? holder.buffers.front() : holder.buffers.back();
    if (made_for_[which] != read.update + 1) {
      predict(buffer, static_cast<double>(steps_[which]), holder, optimizer_, MomentScale::kConstants);
      made_for_[which] = read.update + 1;
    }
    return buffer;
  }

  std::vector<std::int64_t*> notes() override { return {&made_for_[0], &made_for_[1]}; }

 private:
  OptimizerOptions optimizer_;
  std::array<std::int64_t, 2> steps_{};     ///< steps of forwards and backwards
  std::array<std::int64_t, 2> made_for_{};  ///< update + 1 whose microbatches read the buffer; 0: none
};

}  // namespace

std::unique_ptr<Correction> make_xpipe(const CorrectionFacts& facts) {
  expect_direction(facts);
  return std::make_unique<XPipe>(facts);
}

}  // namespace plumb
