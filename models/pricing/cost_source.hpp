#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/jobs/stage_choices.hpp"
#include "models/network/network.hpp"
#include "models/pricing/cut_network.hpp"
#include "models/pricing/job_price_book.hpp"
#include "models/sources/profile.hpp"
#include "models/sources/run_profile.hpp"

namespace plumb {

/// Times and memory in abstract units (models/sources/abstract_costs.hpp).
struct AbstractUnits {
  std::string times{};     ///< "F=1,B=2"
  std::string memory{};    ///< "F=1,W=-1"; empty: not modelled
  bool per_stage = false;  ///< they are those of one stage, not of a device's share of the model
  bool assumed = false;    ///< nobody gave `times`
};

/// A network that a job trains on the devices of a cluster, priced kernel by kernel (models/jobs/JOBS.md).
struct AnalyticJob {
  std::shared_ptr<JobPriceBook> book{};  ///< the network, the cluster, and the rates of its devices
  std::string network_name{};            ///< what it was called: a built-in name or a file
  std::string cluster_name{};
  Parallelism parallelism{};
  /// By place, as it was asked for: `price` throws `Error` unless there is one for each place. Empty: not said.
  std::vector<std::int32_t> tensor_by_place{};
  StageChoices choices{};  ///< choices that `Parallelism` leaves to single stages; places are found by `price`
  LayerCut cut{};

  const Network& network() const { return *book->network(); }
  const Cluster& cluster() const { return *book->cluster(); }
};

/// What `plumbline profile` measured of the stages or layers of a network.
struct StageProfile {
  Profile profile{};
  std::shared_ptr<const Network> network{};
  std::string network_name{};
  std::shared_ptr<const Cluster> cluster{};  ///< none: the links that were measured
  std::optional<LayerCut> cut{};             ///< none: as it was profiled where that has as many stages
};

/// Where the costs of stages come from.
struct CostSource {
  std::variant<AbstractUnits, AnalyticJob, StageProfile, RunProfile> kind{};
  std::optional<double> jitter{};  ///< relative standard deviation of the time of every action

  const AbstractUnits* units() const { return std::get_if<AbstractUnits>(&kind); }
  const AnalyticJob* job() const { return std::get_if<AnalyticJob>(&kind); }
  AnalyticJob* job() { return std::get_if<AnalyticJob>(&kind); }
  /// Returns the profile of a traced run.
  const RunProfile* run() const { return std::get_if<RunProfile>(&kind); }
  bool is_profile() const { return std::holds_alternative<StageProfile>(kind); }
};

}  // namespace plumb
