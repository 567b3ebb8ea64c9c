#include "trainer/methods/predict.hpp"

#include <cmath>

#include "models/ground/error.hpp"

namespace plumb {

void predict(std::byte* to, double steps, const CorrectedHolder& holder, const OptimizerOptions& optimizer,
             MomentScale scale) {
  const HolderBlocks& blocks = holder.blocks;
  if (holder.updates_done == 0) return holder.arithmetic.copy(to, blocks.weights);  // nothing has a direction yet
  const double rate = holder.learning_rate * steps;
  if (optimizer.kind == OptimizerKind::kSgd) {
    return holder.arithmetic.apply(Combine{1, -rate}, {to, blocks.weights, blocks.state});
  }
  const double t = scale == MomentScale::kPowers ? static_cast<double>(holder.updates_done) : 1;
  const double first = 1 - std::pow(optimizer.beta1, t);
  const double second = 1 - std::pow(optimizer.beta2, t);
  holder.arithmetic.apply(AdamStep{rate / first, 1 / second, optimizer.epsilon},
                          {to, blocks.weights, blocks.state, holder.second_moments()});
}

void expect_direction(const CorrectionFacts& facts) {
  if (optimizer_state_count(facts.setting.optimizer) > 0) return;
  throw Error("method " + facts.method.name +
              ": sgd without momentum keeps no direction to predict from; expected "
              "momentum, adam or adamw");
}

}  // namespace plumb
