#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "schedules/document/action.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/versions/method_buffers.hpp"
#include "schedules/versions/predicted_reads.hpp"
#include "trainer/numbers/learning_rate.hpp"
#include "trainer/stages/backend.hpp"

namespace plumb {

/// A pass that is about to read weights.
struct WeightRead {
  Op op{};
  std::int32_t version = 0;          ///< by the weight policy
  std::int32_t forward_version = 0;  ///< version that the forward of the microbatch read (by the policy)
  std::int64_t update = 0;           ///< update of the document that the gradient of the microbatch goes to
  PredictedRead predicted = {};      ///< prediction of methods that look ahead
};

/// By stage: a buffer of one copy of it that its other copies on the device use, too.
using SharedBuffers = std::map<StageId, std::byte*>;

/// The current state of the holder that a correction works on.
struct CorrectedHolder {
  StageBackend& arithmetic;
  HolderBlocks blocks;  ///< newest weights, gradients, state of the optimizer
  std::int64_t weight_bytes = 0;
  std::int64_t updates_done = 0;
  double learning_rate = 0;  ///< learning rate of the next update, by all methods
  SharedBuffers& shared;     ///< buffers that the copies of a stage on the device share
  /// At an update: the weights of its forwards, for methods that look back.
  const std::byte* forward_weights = nullptr;
  std::span<std::byte* const> buffers = {};  ///< buffers of the correction, each as large as the weights

  /// Returns the second moments of Adam and kin.
  const std::byte* second_moments() const { return blocks.state + weight_bytes; }
};

/// The two steps of SYNC_WEIGHTS: what the holder gives to the others, and what it does with the sum.
enum class Exchange : std::uint8_t { kGive, kTake };

/// What the methods of a run work in; outlives the corrections.
struct CorrectionSetting {
  const Schedule& schedule;
  const OptimizerOptions& optimizer;
  const LearningRateOptions& learning_rate;
};

/// What a correction is made for.
struct CorrectionFacts {
  CorrectionSetting setting;
  const Method& method;  ///< method of the schedule
  MethodPlace place;
};

/// The interface of a method: which weights F, B and R read, and what the update does. There is one for each method and
/// holder (a stage on a device); it sees all passes and updates of the holder in order. Its state is in its buffers and
/// notes.
class Correction {
 public:
  virtual ~Correction() = default;
  /// The weights are initialized. Buffers are zeros.
  virtual void start(const CorrectedHolder&) {}
  /// Returns the weights that the pass reads; null: those of `version`.
  virtual const std::byte* weights(const WeightRead&, const CorrectedHolder&) { return nullptr; }
  /// Returns the factor of the learning rate in the update that follows `update` others.
  virtual double rate_factor(std::int64_t /*update*/) const { return 1; }
  /// Changes the gradients, or how they are applied.
  virtual void before_update(UpdateStep&, const CorrectedHolder&) {}
  virtual void after_update(const UpdateStep&, const CorrectedHolder&) {}
  /// The gradients of the update that follows `update` others are part of those of the one after it, too.
  virtual bool carries_gradients(std::int64_t /*update*/) const { return false; }
  /// SYNC_WEIGHTS: fills `values` to be summed over the holders, or takes the sum. False when the method does not take
  /// part; the weights become their mean then.
  virtual bool exchange(Exchange, std::span<std::byte> /*values*/, const CorrectedHolder&) { return false; }
  /// Returns, for checkpoints, what it remembers besides its buffers, in this order; all 0 at the beginning.
  virtual std::vector<std::int64_t*> notes() { return {}; }
};

/// Returns the correction of a method (trainer/methods/table.cpp).
std::unique_ptr<Correction> make_correction(const CorrectionFacts& facts);

/// Returns the number of an asynchronous update among those after the synchronous phase; negative in the phase.
inline std::int64_t updates_after_phase(const Schedule& schedule, std::int64_t update) {
  return update - synchronous_updates(schedule);
}

}  // namespace plumb
