#include <algorithm>
#include <string>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/plain_name.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// Of a stage, as far as the options say.
std::int64_t devices_of_stage(const JobArguments& job) {
  const Parallelism described = job.described.value_or(Parallelism{});
  return job.degrees.tensor.value_or(described.tensor) * job.degrees.context.value_or(described.context) *
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
  const std::int64_t needed = devices * devices_of_stage(job);
  const Cluster& given = *documents.cluster;
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
