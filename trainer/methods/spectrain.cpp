#include "trainer/methods/kinds.hpp"
#include "trainer/methods/predict.hpp"

namespace plumb {
namespace {

/// SpecTrain as published: forward and backward read what the weights are expected to be at one moment, when the
/// microbatch is back at stage 0. One buffer, made again whenever the weights or the distance are others.
/// (Chen et al., arXiv 1809.02839)
class SpecTrain : public Correction {
 public:
  explicit SpecTrain(const CorrectionFacts& facts) : optimizer_(facts.setting.optimizer) {}

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    const std::int64_t steps = read.predicted.steps;
    if (steps == 0) return nullptr;
    std::byte* buffer = holder.buffers.front();
    if (made_of_ != read.version + 1 || steps_ != steps) {
      predict(buffer, static_cast<double>(steps), holder, optimizer_);
      made_of_ = read.version + 1;
      steps_ = steps;
    }
    return buffer;
  }

  std::vector<std::int64_t*> notes() override { return {&made_of_, &steps_}; }

 private:
  OptimizerOptions optimizer_;
  std::int64_t made_of_ = 0;  ///< version + 1 of the weights that the buffer is a prediction from; 0: of none
  std::int64_t steps_ = 0;    ///< ahead of them
};

/// SpecTrain as released: a backward reads the prediction that its forward read. As many buffers as predictions that
/// are read at once; prediction n has number n modulo theirs.
class ReleasedSpecTrain : public Correction {
 public:
  explicit ReleasedSpecTrain(const CorrectionFacts& facts)
      : optimizer_(facts.setting.optimizer), made_(static_cast<std::size_t>(facts.place.predictions), 0) {}

  const std::byte* weights(const WeightRead& read, const CorrectedHolder& holder) override {
    const std::int64_t steps = read.predicted.steps;
    if (steps == 0) return nullptr;
    const auto slot = static_cast<std::size_t>(read.predicted.number) % holder.buffers.size();
    if (read.op == Op::kF && made_[slot] != read.predicted.number + 1) {
      predict(holder.buffers[slot], static_cast<double>(steps), holder, optimizer_);
      made_[slot] = read.predicted.number + 1;
    }
    return holder.buffers[slot];
  }

  std::vector<std::int64_t*> notes() override {
    std::vector<std::int64_t*> notes;
    for (std::int64_t& number : made_) notes.push_back(&number);
    return notes;
  }

 private:
  OptimizerOptions optimizer_;
  std::vector<std::int64_t> made_;  ///< by buffer: number of the prediction + 1; 0: none
};

}  // namespace

std::unique_ptr<Correction> make_spectrain(const CorrectionFacts& facts) {
  expect_direction(facts);
  if (facts.setting.schedule.weights.prediction.backward.empty()) return std::make_unique<ReleasedSpecTrain>(facts);
  return std::make_unique<SpecTrain>(facts);
}

}  // namespace plumb
