#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/jobs/stage_choices.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// `job` with `tensor` ranks on every place. What divides norms and products among tensor ranks needs several.
Parallelism with_tensor(Parallelism job, std::int64_t tensor);

/// `job` with so many tensor ranks on every place of the pipeline, in the cluster's order; the same as `with_tensor`
/// where all are alike.
Parallelism with_tensor_by_place(Parallelism job, std::vector<std::int32_t> by_place);

/// Returns the tensor degrees of `job`, each once, ascending.
std::vector<std::int64_t> tensor_degrees(const Parallelism& job);

/// Divides the whole `cluster` into places: on devices of the k-th kind (speed, memory, rates), in the order in which
/// kinds come first, with `by_kind[k]` tensor ranks. Devices that make up no whole place are left out.
Parallelism divided_by_kind(const Cluster& cluster, Parallelism job, std::span<const std::int32_t> by_kind);

/// Returns how many kinds of devices there are.
std::size_t count_device_kinds(const Cluster& cluster);

/// Costs of a job whose places have unlike tensor degrees: those of every stage from the job that has the degree of its
/// place everywhere. `choices` say where stages stand; `costs_of`: of all stages with so many tensor ranks.
///
/// Every rank sends its part of a value. Where a stage has fewer ranks than its neighbour, each of them sends or
/// receives the parts of several, so a message takes as long as between the fewer ranks; on links that the ranks of a
/// node share all of it passes in any case (`pipeline_of`). The gradients of weights that two stages share are those of
/// the fewer ranks, too. (Unlike degrees per stage: HPH, CLUSTER 2022, and HexiScale, arXiv 2409.01143, name them.)
///
/// Throws `Error` for places that the job does not have, for other choices of stages, and for expert ranks, which
/// divide the ranks of a place anew.
JobCosts unlike_job_costs(const Cluster& cluster, const Parallelism& job, const Partition& partition,
                          const StageChoices& choices, const std::function<JobCosts(std::int64_t tensor)>& costs_of);

/// Computes the costs of stages that nobody has priced yet.
JobCosts unlike_job_costs(const Network& network, const Partition& partition, const JobMachine& machine,
                          const Parallelism& job, const StageChoices& choices);

}  // namespace plumb
