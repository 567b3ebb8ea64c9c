#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/launches/settings.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Something that a launch file says and that its prediction does not take as it stands.
struct LaunchNote {
  enum class Kind : std::uint8_t {
    kAssumed,      ///< not said, and taken from what is usual
    kNotModelled,  ///< changes time or memory, which is not predicted
    kNotFollowed,  ///< a part of a script that depends on other programs or files
    kUnknown,      ///< a name that nobody here knows
    kNoEffect,     ///< a name that changes neither time nor memory
    kReadWith,     ///< a file that this one is built on
    kDecides,      ///< not as the file says, or not said, and the prediction stands or falls with it
  };

  using enum Kind;

  Kind kind = kAssumed;
  std::string text;
};

/// The systems whose settings mean different things.
enum class LaunchFamily : std::uint8_t { kMegatron, kTorchtitan, kDeepspeed };

/// What a launch file says, before it is taken for a job. Names of Megatron's family are those of its `args`.
struct LaunchSettings {
  LaunchFamily family = LaunchFamily::kMegatron;
  Settings settings;
  bool blocking_launches = false;
  std::vector<LaunchNote> notes{};  ///< notes of the reader of its syntax
  std::string missing{};            ///< why it does not describe the network, where its reader knows
  bool is_command_line = false;     ///< its settings are options of a command, and not keys of a configuration
};

/// A training job as the launch script or the configuration of a runtime describes it.
struct LaunchJob {
  std::string source;                ///< name of the file
  std::string runtime;               ///< "megatron", "torchtitan", "deepspeed"
  std::optional<Network> network{};  ///< none: the file does not describe it
  std::string network_name{};        ///< name of the model that it loads instead; empty: it says none
  std::string missing{};             ///< why it does not describe the network, where it says so
  Parallelism parallelism{};         ///< `data` is 0 before `place_launch`
  std::int64_t pipeline = 1;         ///< ranks of a pipeline
  std::int64_t chunks = 1;           ///< stages of a rank
  std::int64_t stage_layers = 0;     ///< layers of a stage, which say `chunks` when the network is known; 0: not said
  std::string schedule = "1f1b";     ///< in the catalogue of schedules
  std::map<std::string, std::string> schedule_options{};
  std::string rules{};            ///< system whose rules messages follow; empty: `runtime`
  bool hides_messages = true;     ///< between stages, where a rank has several (Megatron-LM: `overlap_p2p_comm`)
  bool half = false;              ///< 16 bits are fp16, which costs what bf16 costs
  std::string schedule_file{};    ///< file that says the order instead, named as in the launch file; empty: none
  Partition partition{};          ///< partition of `network`; without bounds: not known before the network is
  std::int64_t batch = 0;         ///< samples of a step; 0: `accumulation` says it
  std::int64_t accumulation = 0;  ///< microbatches of a step and rank; 0: `batch` says it
  bool batch_assumed = false;     ///< nobody said either: one microbatch of every rank
  std::int64_t nodes = 0;         ///< nodes of the job; 0: not said
  std::int64_t per_node = 0;      ///< devices of a node; 0: not said
  std::int64_t data_ranks = 0;    ///< data ranks that degrees or the samples of a step say; 0: they do not
  std::int64_t microbatches = 0;  ///< microbatches of a step; 0 before `place_launch`
  std::vector<LaunchNote> notes{};

  /// Returns the ranks that hold one copy of the model; 2^40 for more.
  std::int64_t model_ranks() const;
  /// Returns the fewest devices on which the stages hold one copy of the model and of its experts.
  std::int64_t least_devices() const;
  /// Returns the devices that the file says, as nodes, by its degrees or by its samples; 0: it does not; 2^40 for more.
  std::int64_t devices() const;
  void note(LaunchNote::Kind kind, std::string text) { notes.push_back({kind, std::move(text)}); }
};

/// Prices the state of the optimizer called `name`, relative to Adam, whose state `job` has; `momentum` is that of
/// SGD. Notes what is not as the file says.
void set_optimizer(std::string_view name, double momentum, LaunchJob& job);

/// Returns whether a name ends as a launch script or a configuration does (.json is that of many documents, and is
/// Puts the state of the optimizer on the host, which updates it; notes what is assumed.
void offload_optimizer(LaunchJob& job);

/// none).
bool is_launch_path(std::string_view name);

/// Spreads `job` over `devices`: sets the data degree and the microbatches of a step. Throws `Error` where they are no
/// multiple of what one copy of the model takes, or the batch none of what all copies take at once, and for jobs that
/// DeepSpeed refuses: ZeRO 2 or 3 beside a pipeline, three sizes of a batch that contradict each other on the devices.
void place_launch(LaunchJob& job, std::int64_t devices);

}  // namespace plumb
