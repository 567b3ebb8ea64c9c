#include <memory>
#include <string>
#include <variant>

#include "models/cluster/cluster_io.hpp"
#include "models/jobs/job_places.hpp"
#include "models/pricing/cluster_size.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// Of a pipeline on so many places; 0 where the job is of another size than the schedule, which is told later.
std::int64_t needed_devices(const CostSource& source, const Cluster& cluster, std::int32_t places) {
  if (source.job() == nullptr) return places;
  const Parallelism& ranks = source.job()->parallelism;
  if (!ranks.has_unlike_tensor()) return places * ranks.devices_per_stage();
  if (std::ssize(ranks.tensor_by_place) != places) return 0;
  return place_devices(cluster, ranks, places).back().end();
}

/// The cluster that the options named; null where there is none.
const Cluster* named_cluster(const CostSource& source) {
  if (source.job() != nullptr) return &source.job()->cluster();
  const auto* profile = std::get_if<StageProfile>(&source.kind);
  return profile != nullptr ? profile->cluster.get() : nullptr;
}

}  // namespace

void CostArguments::assume_where_missing() {
  if (has_network() && (cost + profile + cluster).empty()) {
    cluster = "h100";
    note("plumbline: note: no machine is given: --cluster h100 is taken; `plumbline clusters` lists others");
  }
  const bool others =
      !cluster.empty() || !partition.empty() || !precision.empty() || samples || sequence || vocabulary || job.any();
  if (any() || others) return;
  cost = "F=1,B=2";
  assumed = true;
}

void CostArguments::enlarge_cluster(CostSource& source, std::int32_t devices) {
  const Cluster* named = named_cluster(source);
  if (named == nullptr) return;
  const Cluster& given = *named;
  const std::int64_t needed = needed_devices(source, given, devices);
  if (std::ssize(given.devices) >= needed || !has_any_size(cluster) || given.inter_node.bytes_per_s == 0) return;
  const std::string sized = sized_name(cluster, given, needed);
  note("plumbline: note: " + std::to_string(needed) + " devices are needed and --cluster " + cluster + " has " +
       std::to_string(given.devices.size()) + ": " + sized + " is taken");
  if (AnalyticJob* of_job = source.job()) {
    of_job->cluster_name = sized;
    of_job->book = std::make_shared<JobPriceBook>(
        of_job->book->network(), std::make_shared<const Cluster>(load_cluster(sized)), of_job->book->rates());
  } else {
    std::get<StageProfile>(source.kind).cluster = std::make_shared<const Cluster>(load_cluster(sized));
  }
  cluster = sized;
}

}  // namespace plumb
