#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/network/network.hpp"
#include "models/sources/profile.hpp"
#include "models/sources/run_profile.hpp"
#include "models/stages/partition.hpp"
#include "schedules/document/schedule.hpp"
#include "tools/options/jobs/job_arguments.hpp"
#include "tools/options/network_argument.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/precision_argument.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

struct CostDocuments;

/// Options for what actions cost and how much memory there is: abstract units, a roofline, or a profile.
struct CostArguments {
  std::string cost;
  std::string memory;
  bool per_device = false;
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
  void enlarge_cluster(CostDocuments& documents, std::int32_t devices);
  /// Whether any costs are given.
  bool any() const { return per_device || described || !(cost + memory + profile + network).empty(); }
  bool has_network() const { return described || !network.empty(); }
};

/// The documents that the options name, read (or measured) once for any number of schedules.
struct CostDocuments {
  std::optional<Profile> profile;
  std::optional<RunProfile> run_profile;  ///< instead of a profile with a network: of a traced run
  std::optional<Network> network;
  std::optional<Cluster> cluster;
};

/// Throws `Error` for missing and contradictory options.
CostDocuments load_cost_documents(const CostArguments& arguments);

/// The costs that the options give for one schedule.
struct CostInput {
  StageCosts costs;
  std::optional<Cluster> cluster;  ///< none: edges between devices are latencies
  std::optional<Network> network;  ///< known unless costs are abstract
  std::optional<Partition> partition;
  std::optional<KernelRates> job_rates;  ///< of a job: `cluster` is then its pipeline, with one device per pp rank
  std::string description;               ///< "F=1,B=2" or "gpt-1.5b on a100, equal partition"

  const Cluster* cluster_pointer() const { return cluster ? &*cluster : nullptr; }
};

/// What times of a network on a cluster stand on, in one clause: the rates of a job, or the shares of the peaks in the
/// cluster's document. Empty where costs are abstract or measured.
std::string standing_text(const CostArguments& arguments, const CostDocuments& documents, bool job);

/// The costs of every stage of `schedule`. Throws `Error` for a cluster with too few devices and whatever else does not
/// fit the schedule.
CostInput cost_input(const CostArguments& arguments, const CostDocuments& documents, const Schedule& schedule);

/// The costs and the memory limit that a schedule is searched for, over `num_devices` devices with equally many stages.
/// Where messages take a cluster's links, every edge takes as long as the longest message between neighbours.
/// `arguments` and `documents` are copied.
SearchGoal search_goal(const CostArguments& arguments, const CostDocuments& documents, std::int32_t num_devices);

/// `network` as it will be cut: "finest" also cuts inside residual blocks.
Network network_to_cut(const std::string& partition, const Network& network);

/// Whether `--partition` asks for a cut by times of layers: "balanced", also when empty.
bool is_balanced(const std::string& partition);

/// Times of layers where no machine is known, for commands that train: a roofline of a device that computes ten FLOPs
/// while it moves a byte, the same on every machine. Only their ratios mean something.
std::vector<std::int64_t> relative_layer_times(const Network& network, const MicrobatchShape& shape);

/// The cut of `network` into stages that `--partition` asks for: "balanced" by `layer_costs` (looked at only when
/// `is_balanced`), "equal", "finest", or numbers of layers.
Partition load_partition(const std::string& partition, const NamedNetwork& network, std::int32_t num_stages,
                         const std::vector<std::int64_t>& layer_costs);

/// "h100-8x8": the built-in cluster `name` with as many whole nodes as `devices` need.
std::string sized_name(const std::string& name, const Cluster& cluster, std::int64_t devices);

}  // namespace plumb
