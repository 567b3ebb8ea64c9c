#include <cstddef>

#include "models/ground/error.hpp"
#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

/// ACCO: of two updates the first is tentative. It gives the weights that gradients are computed with while the second
/// one's are reduced, and is then taken back: the second update starts from the weights and the state of the optimizer
/// before both, with the gradients of both. (Nabli et al., ACCO, arXiv 2406.02613, and its released code)
///
///     tentative   w' = step(w, state, mean of g1);  state as before
///     true        w, state = step(w before w', state, mean of g1 and g2)
///
/// Buffers: the true weights, and what the optimizer keeps, up to two numbers for each weight.
class Acco : public Correction {
 public:
  explicit Acco(const CorrectionSetting& setting)
      : setting_(setting), kept_(optimizer_state_count(setting.optimizer)) {}

  void before_update(UpdateStep& step, const CorrectedHolder& holder) override {
    step.update = holder.updates_done / 2;
    step.learning_rate = learning_rate(setting_.learning_rate, step.update);
    if (is_tentative(holder.updates_done)) {
      holder.arithmetic.copy(holder.buffers.front(), holder.blocks.weights);
      for_each_moment(holder, [&](std::byte* kept, std::byte* moment) { holder.arithmetic.copy(kept, moment); });
    } else {
      holder.arithmetic.copy(holder.blocks.weights, holder.buffers.front());
      step.gradient_scale /= 2;
    }
  }

  void after_update(const UpdateStep&, const CorrectedHolder& holder) override {
    if (!is_tentative(holder.updates_done - 1)) return;
    for_each_moment(holder, [&](std::byte* kept, std::byte* moment) { holder.arithmetic.copy(moment, kept); });
  }

  bool carries_gradients(std::int64_t update) const override { return is_tentative(update); }

 private:
  static bool is_tentative(std::int64_t update) { return update % 2 == 0; }

  template <class Copy>
  void for_each_moment(const CorrectedHolder& holder, Copy&& copy) const {
    for (std::int64_t i = 0; i < kept_; ++i) {
      copy(holder.buffers[static_cast<std::size_t>(1 + i)], holder.blocks.state + i * holder.weight_bytes);
    }
  }

  CorrectionSetting setting_;
  std::int64_t kept_;
};

}  // namespace

std::unique_ptr<Correction> make_acco(const CorrectionFacts& facts) {
  const Schedule& schedule = facts.setting.schedule;
  const std::int64_t updates = schedule.num_microbatches / schedule.per_update(facts.place.stage);
  if (updates % 2 == 0) return std::make_unique<Acco>(facts.setting);
  throw Error("method acco: " + std::to_string(updates) +
              " updates; expected an even number, of which every second one is tentative");
}

}  // namespace plumb
