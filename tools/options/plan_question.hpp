#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/launches/read_launch.hpp"
#include "models/network/network.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tools/options/job_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/plan_runtimes.hpp"

namespace plumb {

/// What `--recompute` of a search may be, in the order of `ActivationRecompute`, and `--cut`.
inline constexpr std::array<std::string_view, 4> kPlanRecomputes{"none", "selective", "full", "fitted"};
inline constexpr std::array<std::string_view, 2> kPlanCuts{"layers", "blocks"};

/// Options of `plan`: the model, the cluster, the batch, and the search space.
struct PlanSearchArguments {
  std::string network;
  std::optional<Network> described;     ///< by a launch file, instead of `network`
  std::optional<Parallelism> computes;  ///< how the job of a launch file computes: precision, overlaps, kernels
  std::string cluster;
  std::string rates;
  std::optional<double> power;  ///< watts that each device is limited to
  std::string precision;
  std::string memory_limit;
  std::string host_bandwidth;
  std::optional<std::int64_t> batch;
  std::string gpus;                           ///< "64xh100", or a number: instead of `devices`, and of `cluster`
  std::optional<std::int64_t> devices;        ///< of a built-in cluster; none: as its name says
  std::optional<std::int64_t> first_devices;  ///< only so many of the cluster, in its first nodes; no option
  std::optional<std::int64_t> sequence;
  std::string tensor;  ///< this and the next ones are ranges; empty: all that make sense on the cluster
  std::string context;
  std::string expert;
  std::string data;
  std::string places;
  TrafficArguments traffic;
  bool unlike_tensor = false;  ///< devices of unlike kinds may have unlike tensor-parallel degrees
  std::string copies;  ///< of a pipeline, with unlike shares of the batch; empty: as many as make sense, if devices are
                       ///< unlike
  std::string microbatch_sizes;
  std::string chunks;
  std::string zero;
  std::string recompute;  ///< names separated by commas
  std::string schedules;
  std::string runtime;   ///< the system that the plan is for (plan_runtimes.hpp); empty: none
  std::string cut;       ///< "layers" or "blocks"; empty: layers
  bool offload = false;  ///< stashes may be on the host, of every stage as many as let it fit
  bool asynchronous = false;
  bool all = false;      ///< also plans that no system is known to run
  std::string planners;  ///< published ones that the search begins with: names, "all" or "none"; empty: all, untold
  std::optional<double> time_limit_s;
  std::optional<std::int64_t> simulations;
  std::optional<double> price;  ///< of a device per hour, instead of the cluster's

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);

 private:
  void add_job_to(OptionTable& parser);
};

/// Takes what `gpus` says: a number of devices, and where a chip is named its cluster. Throws `Error` for an unknown
/// chip, with those that are known, and where another option says the same.
void take_gpus(PlanSearchArguments& arguments);

/// Gives a built-in cluster the size that `devices` says, in its name: "h100" becomes "h100-8x8", on as few nodes as
/// have room, all with equally many. Throws `Error` for another cluster of another size, and for a number that cannot
/// be divided so.
void size_cluster(PlanSearchArguments& arguments);

/// The search problem that the options describe.
struct PlanQuestion {
  Network network{};
  Cluster cluster{};
  std::optional<KernelRates> rates{};
  PricingLimits limits{};
  std::int64_t vocabulary = 0;           ///< rows that the system makes of the network's; 0: as in the network
  std::int64_t words = 0;                ///< rows that the network had before; 0: as in the network
  const PlanRuntime* runtime = nullptr;  ///< that the plan is for; none: `for_systems` says which
  bool for_systems = false;              ///< only plans that some system runs are searched
  PlanJob job{};
  PlanRanges ranges{};
  std::string network_name{};                    ///< as the user named it; empty: the launch file says it
  std::string named{};                           ///< the options by which another command means this job
  std::shared_ptr<const LaunchSettings> said{};  ///< by a launch file, which counts where no option says more; or none

  /// Throughput and price are given per token, or per sample where the network has no tokens.
  std::int64_t tokens() const { return job.batch * network.sequence; }
  const char* unit() const { return network.sequence > 1 ? "tokens" : "samples"; }
  /// The rates that prices stand on: those given, or what is built in for the devices.
  KernelRates used_rates() const { return rates ? *rates : kernel_rates_of(cluster.devices.front()); }
  /// Whether only what systems run is searched: one of them, or any.
  bool is_for_systems() const { return runtime != nullptr || for_systems; }
  /// The same job on another cluster.
  PlanJob job_on(const Cluster& other, const PricingLimits& other_limits) const;
};

/// The search problem that the options describe. Throws `Error` for missing options and impossible values.
PlanQuestion plan_question(const PlanSearchArguments& arguments);

}  // namespace plumb
