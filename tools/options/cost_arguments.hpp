#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/costs/stage_costs.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/kernels/matrix_format.hpp"
#include "models/network/network.hpp"
#include "models/pricing/price.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/program/pricing_shape.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "tools/options/job_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {

/// The network that `--network` names. Keys of its configuration that nobody reads, though what the network computes
/// could depend on them, are noted (tools/terminal/notes.hpp). Throws `Error` for what cannot be read.
Network network_argument(const std::string& name_or_path);

/// What --precision may be.
inline constexpr std::array<std::string_view, 7> kPrecisionNames{"mixed",     "single", "fp8",  "fp8-current",
                                                                 "fp8-block", "mxfp8",  "nvfp4"};

/// What `--precision` says of matrix products: bf16, unless it is the name of another format.
MatrixFormat matrix_format_of(const std::string& precision);
/// "single", or "mixed" and names of formats; empty: single on the cluster "host", mixed elsewhere. Throws `Error` for
/// anything else.
Precision precision_of(const std::string& name, const std::string& cluster);

/// Options for what actions cost and how much memory there is: abstract units, a network on a cluster, or a profile.
struct CostArguments {
  std::string cost;
  std::string memory;
  bool per_stage = false;
  std::string memory_limit;
  std::string profile;
  std::string message_bytes;
  std::string network;
  std::string cluster;
  std::string partition;
  std::string precision;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> sequence;
  std::optional<std::int64_t> vocabulary;
  std::optional<double> jitter;
  JobArguments job;
  std::optional<Network> described;  ///< by a launch file, instead of `network`
  bool assumed = false;              ///< `cost` was given by nobody

  /// Declares the options; this object must outlive the parsing. With `ranges` the degrees of jobs go there.
  void add_to(OptionTable& parser, JobRanges* ranges = nullptr);
  /// Declares only the options that a searched schedule needs: abstract costs, or a profile.
  void add_search_to(OptionTable& parser);
  /// Takes the costs that textbooks draw, F=1,B=2, where neither costs nor anything that belongs to others is given;
  /// and for a network without a machine H100s, which a note says.
  void assume_where_missing();
  /// Gives the built-in cluster that is named without a size as many nodes as a pipeline of so many devices needs, and
  /// notes which name that has.
  void enlarge_cluster(CostSource& source, std::int32_t devices);
  /// Whether any costs are given.
  bool any() const { return described || !(cost + memory + profile + network).empty(); }
  bool has_network() const { return described || !network.empty(); }
  /// How the job is spread over devices and computes. Throws `Error` for values out of range.
  Parallelism parallelism() const;
};

/// Reads the documents that the options name. Throws `Error` for missing and contradictory options.
CostSource load_costs(const CostArguments& arguments);

/// Abstract costs have no unit of time, unless they say ms.
TimeWords time_words(const std::string& cost);
TimeWords time_words(const CostSource& source);

/// Gives the job of `source` (if it is one) the degrees that `arguments` has now.
void take_degrees(const CostArguments& arguments, CostSource& source);

/// The costs and the memory limit that a schedule is searched for, over `num_devices` devices with equally many stages
/// (`costs_for_search`). `source` is copied.
SearchGoal search_goal(const CostArguments& arguments, const CostSource& source, std::int32_t num_devices);

/// `network` as it will be cut: "finest" also cuts inside residual blocks.
Network network_to_cut(const std::string& partition, const Network& network);

/// The value of `--memory-limit`, in bytes or in stashes or abstract units. Throws `Error` when `text` is neither empty
/// nor a number that is at least 0.
MemoryLimit parse_memory_limit(const std::string& text, bool in_bytes);

/// The same, in what `costs` count memory in. Throws `Error` when `text` is neither empty nor a number.
MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs);

/// Which part of 1/p of the model a stash of one stage belongs to; abstract memory per device is in these already.
double stash_share(const Schedule& schedule, const CostArguments& arguments);

/// The limit of `arguments` for a run of `schedule`, where not in bytes: in stashes of 1/p of the model, with
/// `per_stage` of one stage. Throws `Error` when it is no number.
MemoryLimit parse_memory_limit(const CostArguments& arguments, const StageCosts& costs, const Schedule& schedule);

}  // namespace plumb
