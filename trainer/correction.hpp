#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "schedules/action.hpp"
#include "schedules/method_buffers.hpp"
#include "schedules/methods.hpp"
#include "schedules/schedule.hpp"
#include "trainer/backend.hpp"
#include "trainer/learning_rate.hpp"

namespace plumb {

/// A pass that is about to read weights.
struct WeightRead {
  Op op{};
  std::int32_t version = 0;          ///< by the weight policy
  std::int32_t forward_version = 0;  ///< that the forward of the microbatch read (by the policy)
  std::int64_t update = 0;           ///< of the document, that the gradient of the microbatch goes to
};

/// The holder that a correction works on, as it is at the moment.
struct CorrectedHolder {
  StageBackend& arithmetic;
  HolderBlocks blocks;       ///< newest weights, gradients, state of the optimizer
  std::int32_t version = 0;  ///< of the newest weights
  /// At an update: the weights of its forwards, for methods that look back.
  const std::byte* forward_weights = nullptr;
  std::span<std::byte* const> buffers = {};  ///< those of the correction, each as large as the weights
};

/// What the methods of a run work in; outlives the corrections.
struct CorrectionSetting {
  const Schedule& schedule;
  const OptimizerOptions& optimizer;
  const LearningRateOptions& learning_rate;
};

/// What a correction is made for.
struct CorrectionFacts {
  CorrectionSetting setting;
  const Method& method;  ///< of the schedule
  MethodPlace place;
};

/// The seam of the methods: what weights do F, B and R read, and what does the update do. One for each method and
/// holder; it sees all passes and updates of the holder in order. What it must remember is in its buffers and notes.
class Correction {
 public:
  virtual ~Correction() = default;
  /// The weights are initialized. Buffers are zeros.
  virtual void start(const CorrectedHolder&) {}
  /// The weights that the pass reads; null: those of `version`.
  virtual const std::byte* weights(const WeightRead&, const CorrectedHolder&) { return nullptr; }
  /// Changes the gradients, or how they are applied.
  virtual void before_update(UpdateStep&, const CorrectedHolder&) {}
  virtual void after_update(const UpdateStep&, const CorrectedHolder&) {}
  /// For checkpoints: what it remembers besides its buffers, in this order; all 0 at the beginning.
  virtual std::vector<std::int64_t*> notes() { return {}; }
};

/// The correction of a method (trainer/methods/table.cpp).
std::unique_ptr<Correction> make_correction(const CorrectionFacts& facts);

/// Number of an asynchronous update among those behind the synchronous phase; negative in the phase.
inline std::int64_t behind_phase(const Schedule& schedule, std::int64_t update) {
  return update - synchronous_updates(schedule);
}

}  // namespace plumb
