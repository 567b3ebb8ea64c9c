#include <cmath>

#include "trainer/methods/kinds.hpp"
#include "trainer/methods/predict.hpp"

namespace plumb {
namespace {

/// FTPipe's multi-step Nesterov prediction: a forward reads the weights after the n updates that its stage will make
/// before its backward, each with the momentum alone: SGD w - rate (beta + ... + beta^n) v; Adam step by step, with
/// moments that decay and corrections that go on. (Eliad et al., FTPipe, ATC 2021, from the released code)
class MultiStepNesterov : public Correction {
 public:
  explicit MultiStepNesterov(const CorrectionSetting& setting) : setting_(setting) {}

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    const std::int64_t steps = read.update - read.version;
    if (read.op != Op::kF || steps <= 0) return nullptr;
    if (made_of_ != read.version + 1 || steps_ != steps) {
      look_ahead(holder.buffers.front(), steps, holder);
      made_of_ = read.version + 1;
      steps_ = steps;
    }
    return holder.buffers.front();
  }

  std::vector<std::int64_t*> notes() override { return {&made_of_, &steps_}; }

 private:
  void look_ahead(std::byte* to, std::int64_t steps, const CorrectedHolder& holder) const {
    const OptimizerOptions& optimizer = setting_.optimizer;
    if (holder.updates_done == 0) return holder.arithmetic.copy(to, holder.blocks.weights);
    if (optimizer.kind == OptimizerKind::kSgd) {
      const double beta = optimizer.momentum;
      double sum = 0;
      for (std::int64_t q = 1; q <= steps; ++q) sum += std::pow(beta, static_cast<double>(q));
      return predict(to, sum, holder, optimizer);
    }
    const std::byte* from = holder.blocks.weights;
    for (std::int64_t q = 1; q <= steps; ++q, from = to) adam_step(to, from, q, holder);
  }

  /// Step q, at the learning rate that the schedule of the run has for it.
  void adam_step(std::byte* to, const std::byte* from, std::int64_t q, const CorrectedHolder& holder) const {
    const OptimizerOptions& optimizer = setting_.optimizer;
    const double t = static_cast<double>(holder.updates_done + q);
    const double now = learning_rate(setting_.learning_rate, holder.updates_done);
    const double then = learning_rate(setting_.learning_rate, holder.updates_done + q - 1);
    const double rate = now == 0 ? then : then * holder.learning_rate / now;
    const double first = std::pow(optimizer.beta1, static_cast<double>(q)) / (1 - std::pow(optimizer.beta1, t));
    const bool decoupled = optimizer.kind != OptimizerKind::kAdam;
    holder.arithmetic.apply(AdamStep{rate * first, 1 / (1 - std::pow(optimizer.beta2, t)), optimizer.epsilon,
                                     decoupled ? 1 - rate * optimizer.weight_decay : 1},
                            {to, from, holder.blocks.state, holder.second_moments()});
  }

  CorrectionSetting setting_;
  std::int64_t made_of_ = 0;  ///< version + 1 that the buffer is a prediction from; 0: of none
  std::int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<Correction> make_msnag(const CorrectionFacts& facts) {
  expect_direction(facts);
  return std::make_unique<MultiStepNesterov>(facts.setting);
}

}  // namespace plumb
