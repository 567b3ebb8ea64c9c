#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/timeline/timeline.hpp"
#include "trainer/data/training_data.hpp"
#include "trainer/numbers/gradient_clip.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/numbers/learning_rate.hpp"
#include "trainer/numbers/optimizer.hpp"
#include "trainer/stages/backend.hpp"
#include "trainer/streams/stream_options.hpp"

namespace plumb {

/// Where and how often a run is saved (trainer/checkpoint/checkpoint.hpp).
struct CheckpointOptions {
  std::filesystem::path directory;  ///< empty: never
  std::int64_t every = 1;           ///< updates between checkpoints; the end of the run is always saved
  bool resume = false;              ///< go on from the newest checkpoint; from the beginning when there is none
};

struct Backend;
class ProcessGroup;
namespace nccl {
struct Library;
}

/// How the held-out data are predicted.
struct Evaluation {
  std::int64_t update = 0;  ///< updates done, by every stage
  double loss = 0;          ///< mean over the targets that count
  double accuracy = 0;      ///< share of them that are predicted: of samples (images) or of tokens (sequences)
  std::int64_t targets = 0;
};

/// When the newest weights are tried on held-out data. A pause for all devices; it changes nothing.
struct EvaluationOptions {
  std::int64_t every = 0;    ///< updates; the end of the run counts, too; 0: never
  std::int64_t samples = 0;  ///< the first ones only; 0: all that are held out
  std::function<void(const Evaluation&)> on_evaluation;
};

/// Everything that decides what a run computes, and how it is watched.
struct TrainOptions {
  Network network;
  Partition partition;  ///< as many stages as the schedule
  Schedule schedule;    ///< valid (schedules/checks/validate.hpp)
  MicrobatchShape shape;
  const TrainingData* data = nullptr;  ///< outlives the run
  std::uint64_t seed = 0;              ///< of the initial weights and of the order of the data
  NamedValues initial_parameters;      ///< weights that are not to be drawn by `seed`
  OptimizerOptions optimizer;
  LearningRateOptions learning_rate;
  double clip_norm = 0;  ///< largest norm of the mean gradient; 0: not clipped
  /// Of every stage by itself, or of all stages: then an update waits for those of all stages, or is validated (V)
  /// behind them. Then, or where the document has V, an update whose gradients are not finite is skipped.
  ClipScope clip_scope = ClipScope::kStage;
  /// Updates to do; 0: those of the document. A synchronous document is repeated until they are done; an asynchronous
  /// one must cover them all, because it is filled and drained once.
  std::int64_t steps = 0;
  NumberType numbers = NumberType::kFloat32;
  std::string backend = "cpu";           ///< trainer/backends/backends.hpp
  const Backend* own_backend = nullptr;  ///< instead of the one by name; outlives the run
  std::string executor = "threads";      ///< trainer/executors/executor.hpp
  StreamOptions streams;                 ///< of the executor `streams`
  StreamMachine* own_streams = nullptr;  ///< instead of the back end's; outlives the run
  ProcessGroup* processes = nullptr;     ///< one per device; outlives the run. None: all devices are here
  /// Messages between processes go by its links, from GPU to GPU. None: by the hosts. Outlives the run.
  const nccl::Library* links = nullptr;
  LowerOptions lowering;
  const Cluster* cluster = nullptr;  ///< links that idle causes are told by; none: free links
  CheckpointOptions checkpoint;
  EvaluationOptions evaluation;
  bool memory_curve = true;      ///< fill Timeline::memory
  bool keep_parameters = false;  ///< fill TrainResult::parameters and gradients
  bool poison_memory = false;    ///< whatever is read without having been written is NaN (tests)
  /// Called behind every backward of a microbatch that adds to a stage's gradients, which it may spoil (tests).
  std::function<void(StageId stage, std::int64_t microbatch, std::span<std::byte> gradients)> on_gradients;
  /// Called after every update with its number and the mean loss of its microbatches, from whatever thread ends it.
  std::function<void(std::int64_t update, double loss)> on_update;
};

/// Which version of a stage's weights an action read.
struct VersionRead {
  Action action;
  std::int32_t version = 0;

  friend bool operator==(const VersionRead&, const VersionRead&) = default;
};

struct TrainResult {
  /// The last run of the document; no value when it was resumed in its middle.
  std::optional<Timeline> timeline;
  std::vector<double> losses;                      ///< mean over the microbatches, by update
  std::vector<std::vector<VersionRead>> versions;  ///< by device, in order, of the last run of the document
  std::vector<Evaluation> evaluations;             ///< in order, when asked for
  std::uint64_t weights_hash = 0;                  ///< of the final weights by name: equal for equal bits, however cut
  NamedValues parameters;                          ///< final weights, when asked for
  NamedValues gradients;                           ///< summed gradient of the last update, when asked for
  std::int64_t updates_skipped = 0;                ///< because some gradient was not finite
  std::int64_t updates_rolled_back = 0;            ///< by stage: made again, or taken back, by V
};

}  // namespace plumb
