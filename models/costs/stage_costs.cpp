#include "models/costs/stage_costs.hpp"

#include <algorithm>
#include <cmath>

#include "models/cluster/cluster.hpp"
#include "models/costs/time_limits.hpp"

namespace plumb {

std::int64_t kept_bytes(const StageMemory& memory, bool input_only) {
  const bool kept = input_only || memory.input_last_use != LastUse::kForward;
  std::int64_t bytes = kept ? memory.input_bytes : 0;
  for (const StashTensor& tensor : memory.stash) {
    if (!input_only && tensor.made_by == StashTensor::MadeBy::kForward) bytes += tensor.bytes;
  }
  return bytes;
}

std::vector<Ticks*> times_per_microbatch(StageTimes& times) {
  std::vector<Ticks*> all{&times.f, &times.b, &times.i, &times.w, &times.r};
  for (CommTime* comm : {&times.f_comm, &times.b_comm, &times.i_comm, &times.w_comm}) {
    all.push_back(&comm->all);
    all.push_back(&comm->shown);
  }
  for (Ticks& pair : times.pairs.ticks) all.push_back(&pair);
  return all;
}

std::vector<std::int64_t*> bytes_per_microbatch(StageMemory& memory) {
  return {&memory.input_bytes,           &memory.output_bytes,      &memory.output_grad_bytes,
          &memory.input_grad_bytes,      &memory.workspace_f_bytes, &memory.workspace_b_bytes,
          &memory.workspace_i_bytes,     &memory.workspace_w_bytes, &memory.key_grads_made_bytes,
          &memory.key_grads_freed_bytes, &memory.logit_bytes,       &memory.sent_output_bytes,
          &memory.sent_input_grad_bytes};
}

StageMemory share_of(const Part& part, StageMemory memory) {
  for (std::int64_t* bytes : bytes_per_microbatch(memory)) *bytes = share_of(part, *bytes);
  for (StashTensor& tensor : memory.stash) tensor.bytes = share_of(part, tensor.bytes);
  return memory;
}

void estimate_host_copies(StageCosts& costs, const Cluster& cluster) {
  if (cluster.host_link.bytes_per_s == 0) return;
  for (std::size_t stage = 0; stage < costs.memory.size(); ++stage) {
    const auto bytes = static_cast<double>(kept_bytes(costs.memory[stage], false));
    const double ns = static_cast<double>(cluster.host_link.latency_ns) + bytes / cluster.host_link.bytes_per_s * 1e9;
    costs.times[stage].evict = costs.times[stage].load =
        checked_ticks(ns * static_cast<double>(costs.base.ticks_per_ns), "copying a stash to the host");
  }
}

}  // namespace plumb
