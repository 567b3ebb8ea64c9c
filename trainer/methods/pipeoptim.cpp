#include "trainer/methods/kinds.hpp"
#include "trainer/methods/predict.hpp"

namespace plumb {
namespace {

/// PipeOptim: a forward reads what the weights are expected to be at its own backward, which reads the newest ones.
/// (Guan et al., arXiv 2312.00839)
class PipeOptim : public Correction {
 public:
  explicit PipeOptim(const CorrectionFacts& facts) : optimizer_(facts.setting.optimizer) {}

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    const std::int64_t steps = read.predicted.steps;
    if (read.op != Op::kF || steps == 0) return nullptr;
    if (made_of_ != read.version + 1 || steps_ != steps) {
      predict(holder.buffers.front(), static_cast<double>(steps), holder, optimizer_);
      made_of_ = read.version + 1;
      steps_ = steps;
    }
    return holder.buffers.front();
  }

  std::vector<std::int64_t*> notes() override { return {&made_of_, &steps_}; }

 private:
  OptimizerOptions optimizer_;
  std::int64_t made_of_ = 0;  ///< version + 1 that the buffer is a prediction from; 0: of none
  std::int64_t steps_ = 0;    ///< ahead of it
};

}  // namespace

std::unique_ptr<Correction> make_pipeoptim(const CorrectionFacts& facts) {
  expect_direction(facts);
  return std::make_unique<PipeOptim>(facts);
}

}  // namespace plumb
