#include <algorithm>
#include <string>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/plain_name.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/jobs/tensor_by_rank.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// Of a pipeline on so many devices, as far as the options say.
std::int64_t needed_devices(const JobArguments& job, const Cluster& cluster, std::int32_t devices) {
  if (!job.tensor_by_rank.empty()) {
    const std::vector<std::int32_t> degrees = parse_tensor_by_rank(job.tensor_by_rank);
    if (std::ssize(degrees) != devices) return 0;  // of another size than the schedule, which is told later
    const Parallelism unlike = with_tensor_by_place(
        {.context = job.degrees.context.value_or(1), .data = job.degrees.data.value_or(1)}, degrees);
    return place_devices(cluster, unlike, devices).back().end();
  }
  const Parallelism described = job.described.value_or(Parallelism{});
  return devices * job.degrees.tensor.value_or(described.tensor) * job.degrees.context.value_or(described.context) *
         job.degrees.data.value_or(described.data);
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

void CostArguments::enlarge_cluster(CostDocuments& documents, std::int32_t devices) {
  if (!documents.cluster || cluster.empty()) return;
  const Cluster& given = *documents.cluster;
  const std::int64_t needed = needed_devices(job, given, devices);
  const bool without_size = std::ranges::any_of(
      builtin_clusters(), [&](std::string_view known) { return plain_name(known) == plain_name(cluster); });
  if (std::ssize(given.devices) >= needed || !without_size || given.inter_node.bytes_per_s == 0) return;
  const std::string sized = sized_name(cluster, given, needed);
  note("plumbline: note: " + std::to_string(needed) + " devices are needed and --cluster " + cluster + " has " +
       std::to_string(given.devices.size()) + ": " + sized + " is taken");
  documents.cluster = load_cluster(sized);
  cluster = sized;
}

}  // namespace plumb
