#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/runnability/transfer_mode.hpp"
#include "trainer/data/training_data.hpp"
#include "trainer/ground/device_clock.hpp"
#include "trainer/numbers/gradient_clip.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/numbers/learning_rate.hpp"
#include "trainer/numbers/optimizer.hpp"
#include "trainer/plan/train_result.hpp"
#include "trainer/stages/backend.hpp"
#include "trainer/streams/stream_options.hpp"

namespace plumb {

class ProcessGroup;
namespace nccl {
struct Library;
}

/// What is trained: the network, how it is cut into stages, and what its weights are at the start.
struct ModelOptions {
  Network network;
  Partition partition;    ///< as many stages as the schedule has
  MicrobatchShape shape;  ///< samples and tokens of a microbatch
  NumberType numbers = NumberType::kFloat32;
  NamedValues initial_parameters;  ///< weights that are given instead of being drawn with `seed`
  NamedValues teacher_parameters;  ///< parameters of the teacher at the start; empty: those of its student
  std::uint64_t seed = 0;          ///< seed of the initial weights and of the order of the data
};

/// How a teacher (schedule `tspipe`) takes part. Its weights are a mean of its student's, one update late.
struct TeacherOptions {
  double weight = 0;       ///< weight of what the teacher says in the loss (`SoftTargets`), 0 to 1; 0: it only runs
  double temperature = 2;  ///< temperature that softens both, above 0
  double decay = 0.999;    ///< teacher = decay x teacher + (1 - decay) x student, for every update; 1: it stays
};

/// How the weights are updated, and how often.
struct OptimizationOptions {
  OptimizerOptions optimizer;
  LearningRateOptions learning_rate;
  TeacherOptions teacher;
  double clip_norm = 0;  ///< largest norm of the mean gradient; 0: gradients are not clipped
  /// kStage clips every stage by its own norm. kGlobal clips by the norm over all stages: an update then waits for the
  /// norms of all stages, or is validated (V) after them. With kGlobal, or where the document has V, an update whose
  /// gradients are not finite is skipped.
  ClipScope clip_scope = ClipScope::kStage;
  /// Updates to do; 0: those of the document. A synchronous document is repeated until they are done; an asynchronous
  /// one must cover them all, because it is filled and drained once.
  std::int64_t steps = 0;
};

/// What a paced back end (`Backend::paced`) keeps to. Messages take the links of `ExecutionOptions::cluster`.
struct PaceOptions {
  StageCosts costs;  ///< times; with `comm`, all links have that latency and no limit of bytes. Memory is the network's
  TransferMode transfers = TransferMode::kBuffered;
  double dilation = 1;  ///< real time for given time, above 0: at 10 a forward of 1 ms takes 10 ms and counts as 1 ms
};

/// Where the devices of the schedule run, and what connects them. Pointers must outlive the run.
struct ExecutionOptions {
  std::string backend = "cpu";       ///< name in the table of trainer/backends/backends.hpp
  std::string executor = "threads";  ///< name in the table of trainer/executors/executor.hpp
  /// By kProcessor devices have the times that they would have with a processor each, however few there are; messages
  /// and reductions take what `cluster` says. For executors that do the work in threads.
  ClockKind clock = ClockKind::kWall;
  StreamOptions streams;              ///< for the executor `streams`
  ProcessGroup* processes = nullptr;  ///< one process per device; null: all devices are in this process
  /// Messages between processes go from GPU to GPU over this library's links; null: through the hosts.
  const nccl::Library* links = nullptr;
  LowerOptions lowering;             ///< how the schedule becomes a program
  const Cluster* cluster = nullptr;  ///< the links by which idle time is explained; null: links that take no time
  std::optional<PaceOptions> pace;   ///< for a paced back end, which needs it
};

/// Where and how often a run is saved (trainer/checkpoint/checkpoint.hpp).
struct CheckpointOptions {
  std::filesystem::path directory;  ///< empty: never
  std::int64_t every = 1;           ///< updates between checkpoints; the end of the run is always saved
  bool resume = false;              ///< continue from the newest checkpoint; from the beginning when there is none
  /// Told in one line when the newest checkpoint is damaged and an older one is taken, and when there are no checksums
  /// to find damage by. Without it, a damaged newest checkpoint is an error.
  std::function<void(const std::string& note)> on_note = {};
};

/// When the newest weights are evaluated on held-out data. All devices pause for it; it does not change the run.
struct EvaluationOptions {
  std::int64_t every = 0;    ///< updates between evaluations; the end of the run is always evaluated; 0: never
  std::int64_t samples = 0;  ///< evaluate only the first ones; 0: all that are held out
  std::function<void(const Evaluation&)> on_evaluation;
};

/// What is recorded, saved and reported of a run. None of it changes what is computed.
struct ObservationOptions {
  CheckpointOptions checkpoint;
  EvaluationOptions evaluation;
  bool memory_curve = true;      ///< fill Timeline::memory
  bool keep_parameters = false;  ///< fill TrainResult::parameters and gradients
  /// Called before a resumed run goes on, with the losses of the updates that were done.
  std::function<void(const std::vector<double>& losses)> on_resume = {};
  /// Called after every update with its number and the mean loss of its microbatches, from whatever thread ends it.
  std::function<void(std::int64_t update, double loss)> on_update;
};

/// Replacements and probes for tests; the defaults leave a run as it is. Pointers must outlive the run.
struct TestHooks {
  const Backend* own_backend = nullptr;  ///< used instead of the back end that `ExecutionOptions` names
  StreamMachine* own_streams = nullptr;  ///< used instead of the back end's streams
  bool poison_memory = false;            ///< memory that was not written reads as NaN
  /// Called after every backward of a microbatch that adds to a stage's gradients. It may change them.
  std::function<void(StageId stage, std::int64_t microbatch, std::span<std::byte> gradients)> on_gradients;
};

/// Everything that decides what a run computes, and how it is observed.
struct TrainOptions {
  Schedule schedule;                   ///< valid (schedules/checks/validate.hpp)
  const TrainingData* data = nullptr;  ///< outlives the run
  ModelOptions model;
  OptimizationOptions optimization;
  ExecutionOptions execution;
  ObservationOptions observation;
  TestHooks hooks;
};

}  // namespace plumb
