#include "tools/plans/launch_check.hpp"

#include <array>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb {
namespace {

/// A part of a job, by the words that people know it by.
struct JobPart {
  const char* name;
  bool (*same)(const Parallelism& a, const Parallelism& b);
};

template <auto Member>
bool same_member(const Parallelism& a, const Parallelism& b) {
  return a.*Member == b.*Member;
}

constexpr std::array kJobParts{
    JobPart{"tensor ranks", same_member<&Parallelism::tensor>},
    JobPart{"context ranks", same_member<&Parallelism::context>},
    JobPart{"what context ranks exchange", same_member<&Parallelism::context_by_heads>},
    JobPart{"expert ranks", same_member<&Parallelism::expert>},
    JobPart{"sequence parallelism as it was priced", same_member<&Parallelism::sequence_parallel>},
    JobPart{"its ZeRO stage", same_member<&Parallelism::zero>},
    JobPart{"its recomputation", same_member<&Parallelism::recompute>},
    JobPart{"the modules that it recomputes", same_member<&Parallelism::modules>},
    JobPart{"its samples per microbatch", same_member<&Parallelism::microbatch_size>},
    JobPart{"the bytes of its numbers", same_member<&Parallelism::precision>},
    JobPart{"the format of its products", same_member<&Parallelism::format>},
    JobPart{"its kernel of attention", same_member<&Parallelism::flash_attention>},
    JobPart{"a fused loss", same_member<&Parallelism::fused_loss>},
    JobPart{"a loss that works in place", same_member<&Parallelism::loss_in_place>},
    JobPart{"what is kept of weight gradients", same_member<&Parallelism::weight_gradients>},
    JobPart{"how messages between stages are divided", same_member<&Parallelism::scatter_gather>},
    JobPart{"overlapped gradients", same_member<&Parallelism::overlap_gradients>},
    JobPart{"overlapped parameters", same_member<&Parallelism::overlap_parameters>},
    JobPart{"overlapped tensor collectives", same_member<&Parallelism::overlap_tensor>},
    JobPart{"overlapped products", same_member<&Parallelism::overlap_products>},
    JobPart{"overlapped experts", same_member<&Parallelism::overlap_experts>},
    JobPart{"gathering ahead", same_member<&Parallelism::overlap_weights>},
    JobPart{"the capacity of its experts", same_member<&Parallelism::expert_capacity>},
    JobPart{"unevenly loaded experts", same_member<&Parallelism::expert_imbalance>},
    JobPart{"its dispatcher", same_member<&Parallelism::dispatcher>},
    JobPart{"its captured graphs", same_member<&Parallelism::captured>},
    JobPart{"dispatch in 8 bits", same_member<&Parallelism::low_precision_dispatch>},
    JobPart{"adapters", same_member<&Parallelism::adapter_rank>},
};

/// Whether the schedule that the launch names has the lists of the plan. One that it reads from a file has.
bool same_order(const LaunchJob& launch, const Schedule& schedule) {
  if (!launch.schedule_file.empty()) return true;
  if (launch.pipeline == 1 && schedule.num_devices == 1) return true;
  const Schedule read = generate(launch.schedule, {.num_devices = static_cast<std::int32_t>(launch.pipeline),
                                                   .num_microbatches = schedule.num_microbatches,
                                                   .chunks = static_cast<std::int32_t>(launch.chunks),
                                                   .options = launch.schedule_options});
  return read.devices == schedule.devices && read.placement == schedule.placement;
}

}  // namespace

void check_launch(const LaunchJob& launch, const PlanQuestion& question, const SimulatedPlan& plan) {
  const PipelinePlan& choice = plan.score.plan;
  const std::string system(question.runtime == nullptr ? "the system" : question.runtime->title);
  const auto check = [&](bool same, const std::string& what) {
    if (!same) throw Error(system + "'s settings cannot say " + what);
  };
  for (const JobPart& part : kJobParts) check(part.same(launch.parallelism, choice.parallelism), part.name);
  if (choice.parallelism.expert > 1) {
    check(launch.parallelism.expert_parts() == choice.parallelism.expert_parts(), "the tensor ranks of its experts");
  }
  const auto& dropout = choice.parallelism.dropout;
  check(!dropout || launch.parallelism.dropout == dropout, "its dropout");
  check(launch.pipeline == choice.places, "its pipeline ranks");
  check(launch.batch == question.job.batch, "its batch");
  const bool cut = launch.partition.bounds.empty() || launch.partition.bounds == choice.partition.bounds;
  check(cut, "its cut into stages");
  check(same_order(launch, plan.schedule), "its order");
}

}  // namespace plumb
