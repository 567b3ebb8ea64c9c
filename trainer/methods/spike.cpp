#include <cmath>

#include "models/ground/error.hpp"
#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// Spike compensation: w <- w - rate (a v + b g) with a = m^D, b = (1 - m^D) / (1 - m), where D is the mean delay of
/// the stage's forwards in updates: a late gradient has at once the weight that it would have by now. (Kosson et al.,
/// Pipelined Backpropagation at Scale, arXiv 2003.11666)
class SpikeCompensation : public Correction {
 public:
  SpikeCompensation(double momentum, double delay)
      : velocity_(std::pow(momentum, delay)), gradient_((1 - velocity_) / (1 - momentum)) {}

  void before_update(UpdateStep& step, const CorrectedHolder&) override {
    step.velocity_weight = velocity_;
    step.gradient_weight = gradient_;
  }

 private:
  double velocity_;
  double gradient_;
};

}  // namespace

std::unique_ptr<Correction> make_spike(const CorrectionFacts& facts) {
  const OptimizerOptions& optimizer = facts.setting.optimizer;
  if (optimizer.kind != OptimizerKind::kSgd || optimizer.momentum == 0 || optimizer.momentum == 1) {
    throw Error("method spike: weighs velocity and gradient of sgd; expected sgd with a momentum above 0 and below 1");
  }
  return std::make_unique<SpikeCompensation>(optimizer.momentum, facts.place.forward);
}

}  // namespace plumb
