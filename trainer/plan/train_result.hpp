#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/document/action.hpp"
#include "sim/timeline/timeline.hpp"
#include "trainer/numbers/initial_weights.hpp"

namespace plumb {

/// How well the held-out data are predicted.
struct Evaluation {
  std::int64_t update = 0;  ///< updates that every stage had done
  double loss = 0;          ///< mean over the targets that count
  double accuracy = 0;      ///< share of the targets that are predicted: of samples (images) or of tokens (sequences)
  std::int64_t targets = 0;
};

/// Which version of a stage's weights an action read.
struct VersionRead {
  Action action;
  std::int32_t version = 0;

  friend bool operator==(const VersionRead&, const VersionRead&) = default;
};

/// One of several jobs that were trained over the same stages.
struct JobResult {
  std::vector<double> losses;  ///< mean over its microbatches, by update
  NamedValues parameters;      ///< what it has trained, when asked for
};

/// What a training run has computed and what was observed of it.
struct TrainResult {
  /// The last run of the document; no value when it was resumed in its middle.
  std::optional<Timeline> timeline;
  std::vector<Ticks> document_times;               ///< of every whole run of the document, by its devices here
  std::vector<double> losses;                      ///< mean over the microbatches, by update
  std::vector<std::vector<VersionRead>> versions;  ///< by device, in order, of the last run of the document
  std::vector<Evaluation> evaluations;             ///< in order, when asked for
  std::uint64_t weights_hash = 0;  ///< hash of the final weights by name: equal for equal bits, however cut
  NamedValues parameters;          ///< final weights, of the first job, when asked for
  std::vector<JobResult> jobs;     ///< empty where there is one
  NamedValues gradients;           ///< summed gradient of the last update, when asked for
  /// False when the schedule has methods and is too short to become steady: their delays are then means over all of
  /// its updates and depend on how many there are.
  bool steady_delays = true;
  std::int64_t updates_skipped = 0;      ///< because some gradient was not finite
  std::int64_t updates_rolled_back = 0;  ///< by stage: made again, or taken back, by V
};

}  // namespace plumb
