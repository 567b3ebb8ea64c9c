#include <algorithm>
#include <cmath>

#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// PipeMare T1: a stage's learning rate is divided by tau^p, with p = 1 - min(k / K, 1), where tau is the mean delay of
/// its forwards in updates, and k counts its updates after the synchronous phase. Delays below 1 do not raise the
/// rate. (Yang et al., arXiv 1910.05124, section 3.1)
class LearningRateRescheduling : public Correction {
 public:
  LearningRateRescheduling(const Schedule& schedule, double tau, double updates)
      : schedule_(schedule), tau_(std::max(tau, 1.0)), updates_(updates) {}

  double rate_factor(std::int64_t update) const override {
    const std::int64_t k = updates_after_phase(schedule_, update);
    if (k < 0) return 1;
    const double power = updates_ == 0 ? 1.0 : 1.0 - std::min(static_cast<double>(k) / updates_, 1.0);
    return 1 / std::pow(tau_, power);
  }

 private:
  const Schedule& schedule_;
  double tau_;
  double updates_;  ///< K; 0: never ends
};

}  // namespace

std::unique_ptr<Correction> make_t1(const CorrectionFacts& facts) {
  const Schedule& schedule = facts.setting.schedule;
  const std::int64_t all = schedule.num_microbatches / schedule.per_update(facts.place.stage);
  const double quarter = std::ceil(static_cast<double>(updates_after_phase(schedule, all)) / 4);
  return std::make_unique<LearningRateRescheduling>(schedule, facts.place.forward,
                                                    parameter(facts.method, "K").value_or(std::max(quarter, 1.0)));
}

}  // namespace plumb
