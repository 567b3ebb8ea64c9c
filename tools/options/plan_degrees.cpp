#include "tools/options/plan_degrees.hpp"

#include <algorithm>
#include <numeric>

#include "models/ground/error.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/pricing/profiled_network.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Tokens of a sample that a context rank has at least, unless the degree is asked for.
constexpr std::int64_t kLeastContext = 4096;

Numbers powers_of_two(std::int64_t most) {
  Numbers powers;
  for (std::int64_t power = 1; power <= most; power *= 2) powers.push_back(power);
  return powers;
}

Numbers divisors(std::int64_t number, std::int64_t most) {
  Numbers found;
  for (std::int64_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) found.push_back(d);
  }
  return found;
}

std::vector<ActivationRecompute> recomputes_of(const std::string& list) {
  // With flash attention selective recompute is the same as none.
  if (list.empty()) return {ActivationRecompute::kNone, ActivationRecompute::kFull};
  std::vector<ActivationRecompute> chosen;
  for (const std::string& name : split(list, ',')) {
    const auto found = std::ranges::find(kPlanRecomputes, name);
    if (found == kPlanRecomputes.end()) throw_unknown("--recompute choice", name, kPlanRecomputes);
    chosen.push_back(static_cast<ActivationRecompute>(found - kPlanRecomputes.begin()));
  }
  // All layers are a choice of `fitted`, too; tried by itself because that one adds layers only where they are missing.
  const auto has = [&](ActivationRecompute one) { return std::ranges::find(chosen, one) != chosen.end(); };
  if (has(ActivationRecompute::kFitted) && !has(ActivationRecompute::kFull)) {
    chosen.push_back(ActivationRecompute::kFull);
  }
  return chosen;
}

/// A ZeRO stage, or with `fitted` that of all layers but those which are sharded as by ZeRO 3.
struct ZeroChoice {
  ZeroStage zero = ZeroStage::kNone;
  bool fitted = false;

  friend bool operator==(const ZeroChoice&, const ZeroChoice&) = default;
};

std::vector<ZeroChoice> zeros_of(const std::string& list, const PlanRuntime* runtime) {
  std::vector<ZeroChoice> chosen;
  if (list.empty() && runtime == nullptr) return {{ZeroStage::kNone}, {ZeroStage::kOptimizer}};
  if (list.empty()) {
    for (const ZeroStage stage : runtime->zero) chosen.push_back({stage});
    return chosen;
  }
  const auto add = [&chosen](ZeroChoice choice) {
    if (std::ranges::find(chosen, choice) == chosen.end()) chosen.push_back(choice);
  };
  for (const std::string& name : split(list, ',')) {
    if (name != "fitted") {
      add({static_cast<ZeroStage>(parse_whole(name, {0, 3}, "plan: --zero (or fitted)"))});
      continue;
    }
    // Both ends are choices of `fitted`, too; tried by themselves because that one shards only where memory is missing.
    for (const ZeroStage end : {ZeroStage::kOptimizer, ZeroStage::kWeights}) add({end});
    add({ZeroStage::kOptimizer, true});
  }
  return chosen;
}

/// The largest number that divides the experts of all routed layers; 1: there are none.
std::int64_t common_experts(const std::vector<LayerSpec>& layers, std::int64_t so_far = 0) {
  for (const LayerSpec& layer : layers) {
    if (layer.kind == LayerKind::kMoe) so_far = std::gcd(so_far, layer.experts);
    so_far = common_experts(layer.body, so_far);
  }
  return so_far;
}

/// Measured layers are as they were measured; choices that ask for more would be lost.
void check_measured(const PlanSearchArguments& arguments, const Network& network) {
  const auto other = [](auto none) { return [none](auto choice) { return choice != none; }; };
  const bool recompute = !arguments.recompute.empty() &&
                         std::ranges::any_of(recomputes_of(arguments.recompute), other(ActivationRecompute::kNone));
  const bool zero =
      !arguments.zero.empty() && std::ranges::any_of(zeros_of(arguments.zero, nullptr), other(ZeroChoice{}));
  if (recompute || zero) {
    throw Error("network '" + network.name + "': has measured layers, expected no " +
                (recompute ? "--recompute" : "--zero"));
  }
}

/// What each degree may be. Measured layers cannot be spread.
struct DegreeChoices {
  Numbers tensor{1};
  Numbers context{1};
  Numbers data{};     ///< empty: what the batch and the devices allow
  Numbers expert{1};  ///< those that divide the devices of a stage are taken
  Numbers sizes{};
  std::vector<ActivationRecompute> recompute{ActivationRecompute::kNone};
  std::vector<ZeroChoice> zero{{}};
  std::vector<bool> offload{false};
  bool whole_norms_with_experts = true;  ///< beside tensor ranks; Megatron-LM wants sequence parallelism for experts
};

DegreeChoices degree_choices(const PlanSearchArguments& arguments, const PlanQuestion& question) {
  const std::int64_t batch = question.job.batch;
  const std::int64_t sequence = question.network.sequence;
  const bool profiled = is_profiled(question.network);
  DegreeChoices choices;
  choices.whole_norms_with_experts = question.runtime == nullptr;
  Numbers context{1};
  Numbers expert{1};
  if (!profiled) {
    choices.tensor = powers_of_two(question.cluster.devices_per_node);
    context = powers_of_two(std::max<std::int64_t>(1, std::min(question.job.num_devices, sequence / kLeastContext)));
    std::erase_if(context, [&](std::int64_t degree) { return sequence % degree != 0; });
    const std::int64_t experts = std::max<std::int64_t>(1, common_experts(question.network.layers));
    expert = divisors(experts, question.job.num_devices);
    choices.recompute = recomputes_of(arguments.recompute);
    choices.zero = zeros_of(arguments.zero, question.runtime);
    const bool open = question.runtime == nullptr && (question.for_systems || arguments.all);
    if (open && arguments.zero.empty()) choices.zero.push_back({ZeroStage::kGradients});
  } else {
    check_measured(arguments, question.network);
    choices.data = {1};
  }
  if (question.runtime != nullptr && !question.runtime->splits_samples) context = {1};
  if (question.runtime != nullptr && !question.runtime->splits_experts) expert = {1};
  if (arguments.offload) choices.offload = {false, true};
  if (arguments.offload && question.limits.host_bytes_per_s == 0 && question.cluster.host_link.bytes_per_s == 0) {
    throw Error("plan: --offload needs the link to the host: expected --host-bandwidth, or a cluster with a host_link");
  }
  choices.tensor = numbers_or(arguments.tensor, "plan: --tp", choices.tensor);
  choices.context = numbers_or(arguments.context, "plan: --cp", context);
  choices.expert = numbers_or(arguments.expert, "plan: --ep", expert);
  choices.data = numbers_or(arguments.data, "plan: --dp", choices.data);
  choices.sizes = numbers_or(arguments.microbatch_sizes, "plan: --microbatch-size",
                             profiled ? Numbers{question.network.samples} : divisors(batch, 8));
  return choices;
}

/// The choices that are left when a stage is spread over tensor, context and data ranks as `job` says. ZeRO divides
/// nothing over a single rank.
void add_choices(const DegreeChoices& choices, Parallelism job, std::vector<Parallelism>& all) {
  const ShardGroups groups = job.shard_groups;
  for (const std::int64_t expert : choices.expert) {
    // Whole experts where the sequence is divided and they fit: Megatron's advice for experts.
    job.expert_tensor = expert > 1 && job.sequence_parallel ? 1 : 0;
    if (job.devices_per_stage() % (job.expert_parts() * expert) != 0) continue;
    const bool whole_norms = job.tensor > 1 && !job.sequence_parallel;
    if (expert > 1 && whole_norms && !choices.whole_norms_with_experts) continue;
    for (const std::int64_t size : choices.sizes) {
      for (const ActivationRecompute recompute : choices.recompute) {
        for (const ZeroChoice& zero : choices.zero) {
          if (zero != ZeroChoice{} && job.replicas() == 1) continue;
          for (const bool offload : choices.offload) {
            job.expert = expert;
            job.microbatch_size = size;
            job.recompute = recompute;
            job.zero = zero.zero;
            job.zero_by_layer = zero.fitted;
            job.shard_groups = zero.zero == ZeroStage::kNone ? ShardGroups{} : groups;
            job.offload_by_stage = offload;
            all.push_back(job);
          }
        }
      }
    }
  }
}

/// All that degrees have in common.
Parallelism common_choices(const PlanSearchArguments& arguments, const PlanQuestion& question) {
  Parallelism job = arguments.computes.value_or(Parallelism{});
  job.modules = {};
  job.recompute_layers = 0;
  if (!arguments.computes || !arguments.precision.empty()) {
    job.precision = precision_of(arguments.precision, arguments.cluster);
    job.format = matrix_format_of(arguments.precision);
  }
  arguments.traffic.apply(job);
  if (question.runtime != nullptr) job.overlap_gradients |= question.runtime->overlaps_gradients;
  job.sequence = question.network.sequence;
  return job;
}

/// `job` on tensor ranks of one degree, or of the largest of several, with and without sequence parallelism.
std::vector<Parallelism> on_tensor_ranks(Parallelism job, const PlanQuestion& question, std::int64_t tensor) {
  job.tensor = tensor;
  std::vector<Parallelism> jobs;
  if (tensor > 1 && (question.runtime == nullptr || question.runtime->splits_norms)) {
    job.sequence_parallel = true;
    jobs.push_back(job);
  }
  if (tensor > 1 && question.runtime != nullptr && !question.runtime->whole_norms) return jobs;
  job.sequence_parallel = job.overlap_products = false;
  jobs.push_back(job);
  return jobs;
}

/// `job` with these tensor degrees by kind of device.
void add_divided(const DegreeChoices& choices, const PlanQuestion& question, Parallelism job,
                 const std::vector<std::int32_t>& degrees, std::vector<Parallelism>& all) {
  for (const std::int64_t context : choices.context) {
    const std::int64_t room = question.job.num_devices / (job.tensor * context);
    for (const std::int64_t data : choices.data.empty() ? divisors(question.job.batch, room) : choices.data) {
      job.context = context;
      job.data = data;
      const Parallelism divided = divided_by_kind(question.cluster, job, degrees);
      if (divided.has_unlike_tensor()) add_choices(choices, divided, all);
    }
  }
}

/// With the kinds of devices on unlike tensor ranks, of which nothing is left to single stages.
void add_unlike(const DegreeChoices& all_choices, const PlanQuestion& question, const Parallelism& common,
                std::vector<Parallelism>& all) {
  constexpr std::size_t kMostKinds = 4;
  const std::size_t kinds = count_device_kinds(question.cluster);
  if (kinds < 2 || kinds > kMostKinds) return;
  DegreeChoices choices = all_choices;
  choices.expert = {1};
  choices.offload = {false};
  std::erase(choices.recompute, ActivationRecompute::kFitted);
  std::erase_if(choices.zero, [](const ZeroChoice& zero) { return zero.fitted; });
  std::vector<std::size_t> at(kinds);
  const auto next = [&] {  // as digits of a number
    std::size_t kind = 0;
    while (kind < kinds && ++at[kind] == choices.tensor.size()) at[kind++] = 0;
    return kind < kinds;
  };
  do {
    std::vector<std::int32_t> degrees;
    for (const std::size_t k : at) degrees.push_back(static_cast<std::int32_t>(choices.tensor[k]));
    const auto [least, most] = std::ranges::minmax(degrees);
    if (least == most) continue;
    for (const Parallelism& job : on_tensor_ranks(common, question, most))
      add_divided(choices, question, job, degrees, all);
  } while (next());
}

}  // namespace

std::vector<std::int64_t> numbers_or(const std::string& text, const char* where,
                                     const std::vector<std::int64_t>& otherwise) {
  return text.empty() ? otherwise : parse_range(text, where, {1, 1'000'000});
}

/// All combinations of degrees that the cluster has devices for.
std::vector<Parallelism> parallelisms_of(const PlanSearchArguments& arguments, const PlanQuestion& question) {
  const DegreeChoices choices = degree_choices(arguments, question);
  const Parallelism common = common_choices(arguments, question);
  std::vector<Parallelism> all;
  for (const std::int64_t tensor : choices.tensor) {
    for (Parallelism job : on_tensor_ranks(common, question, tensor)) {
      for (const std::int64_t context : choices.context) {
        const std::int64_t room = question.job.num_devices / (tensor * context);
        for (const std::int64_t data : choices.data.empty() ? divisors(question.job.batch, room) : choices.data) {
          job.context = context;
          job.data = data;
          add_choices(choices, job, all);
        }
      }
    }
  }
  if (arguments.unlike_tensor) add_unlike(choices, question, common, all);
  return all;
}

}  // namespace plumb
