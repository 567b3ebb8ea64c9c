#include "models/ground/error.hpp"
#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// Nesterov's look-ahead with late gradients, the form of the AsyncPP paper: w' = w + d - rate (1 - m) g(w + d), with
/// d = m (w - w before). What is kept, and read by every pass, is the look-ahead y = w + d itself:
/// v' = m v + (1 - m) g;  y' = y - rate (m v' + (1 - m) g), which is the same at a constant rate.
/// (Ajanthan et al., AsyncPP, arXiv 2505.01099)
class Nesterov : public Correction {
 public:
  explicit Nesterov(double momentum) : momentum_(momentum) {}

  void before_update(UpdateStep& step, const CorrectedHolder&) override {
    step.gradient_scale *= 1 - momentum_;
    step.velocity_weight = momentum_;
    step.gradient_weight = 1;
  }

 private:
  double momentum_;
};

/// AsyncPP's momentum by stage: beta1 + tau (0.99 - beta1) / P, where tau is the mean delay of the stage's forwards in
/// updates (P - i of P stages, one microbatch per update). (arXiv 2505.01099, released code)
class AdaptiveMomentum : public Correction {
 public:
  AdaptiveMomentum(double beta1, double delay, std::int32_t stages)
      : beta1_(beta1 + delay * (0.99 - beta1) / static_cast<double>(stages)) {}

  void before_update(UpdateStep& step, const CorrectedHolder&) override { step.beta1 = beta1_; }

 private:
  double beta1_;
};

}  // namespace

std::unique_ptr<Correction> make_nesterov(const CorrectionFacts& facts) {
  const OptimizerOptions& optimizer = facts.setting.optimizer;
  if (optimizer.kind != OptimizerKind::kSgd || optimizer.momentum == 0) {
    throw Error(
        "method nesterov: looks ahead along the velocity of sgd; expected sgd with momentum, or the optimizer "
        "nadam without this method");
  }
  return std::make_unique<Nesterov>(optimizer.momentum);
}

std::unique_ptr<Correction> make_adaptive_momentum(const CorrectionFacts& facts) {
  const OptimizerOptions& optimizer = facts.setting.optimizer;
  if (optimizer.kind == OptimizerKind::kSgd) {
    throw Error("method adaptive-momentum: sets beta1; expected the optimizer adam, adamw or nadam");
  }
  return std::make_unique<AdaptiveMomentum>(optimizer.beta1, facts.place.forward, facts.setting.schedule.num_stages);
}

}  // namespace plumb
