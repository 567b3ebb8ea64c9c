#include "tools/options/plan_question.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/network/vocabulary_rows.hpp"
#include "models/pricing/profiled_network.hpp"
#include "models/stages/whole_layers.hpp"
#include "sim/planners/planner.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {

void PlanSearchArguments::add_job_to(OptionTable& parser) {
  parser.group("Job")
      .text("network", network, "NAME|FILE", "model, see `plumbline networks`")
      .brief()
      .text("cluster", cluster, "NAME|FILE", "devices and links, see `plumbline clusters`")
      .brief()
      .whole("devices", devices, {1, 65536}, "devices of a built-in cluster (--cluster h100 --devices 64 is h100-8x8)")
      .text("gpus", gpus, "N[xCHIP]", "the same in short: --gpus 64xh100 is --cluster h100 --devices 64")
      .brief()
      .whole("batch", batch, {}, "global batch size: samples per optimizer update")
      .brief()
      .whole("sequence", sequence, {}, "tokens per sample (default: as in the network)")
      .text("precision", precision, "NAME",
            "mixed (bf16 compute), single, or mixed with products in fp8 (delayed scaling), fp8-current, fp8-block, "
            "mxfp8 or nvfp4 (default: mixed; single on the cluster host)")
      .words(kPrecisionNames)
      .text("rates", rates, "FILE", "speeds that kernels reach (default: built in for the device's name)")
      .real("power", power, {}, "power limit of each device in W (default: its document's)")
      .text("memory-limit", memory_limit, "X", "memory of each device, such as 80GiB (default: as in the cluster)")
      .brief()
      .text("host-bandwidth", host_bandwidth, "RATE",
            "bytes/s between a device and its host, such as 25GB: allows schedules that offload activations")
      .text("runtime", runtime, "SYSTEM",
            "the system that will run the plan: megatron, pytorch, torchtitan or deepspeed. Only its plans are "
            "searched, with its order of messages (default: none, plans that some system runs)")
      .brief()
      .words(plan_runtime_names());
}

void PlanSearchArguments::add_to(OptionTable& parser) {
  add_job_to(parser);
  parser.group("Search space; a RANGE is 1,2,4 or 2:8:2")
      .text("tp", tensor, "RANGE", "tensor-parallel degrees (default: powers of 2 up to the devices of a node)")
      .brief()
      .flag("unlike-tp", unlike_tensor, "different kinds of devices may have different tensor-parallel degrees")
      .text("cp", context, "RANGE",
            "context-parallel degrees (default: powers of 2 that leave each rank at least 4096 tokens)")
      .text("ep", expert, "RANGE",
            "expert-parallel degrees, part of the CP x DP ranks (default: divisors of the number of experts)")
      .text("dp", data, "RANGE", "data-parallel degrees (default: divisors of the batch)")
      .text("pp", places, "RANGE", "pipeline-parallel degrees: devices of the pipeline (default: 1 to 64)")
      .brief()
      .text("copies", copies, "RANGE",
            "replicas of the pipeline on mixed devices; faster ones process more of the batch (default: 1 to 16, or 1 "
            "with --dp or --runtime)")
      .text("microbatch-size", microbatch_sizes, "RANGE",
            "samples per microbatch and data-parallel rank (default: divisors of the batch up to 8)")
      .text("chunks,v", chunks, "RANGE",
            "stages per device, for interleaved and other looped schedules (default: 2,3,4, and one layer per stage "
            "where that splits equally)")
      .text("cut", cut, "NAME",
            "where stages may begin: at decoder layers (layers), or also between attention and MLP (blocks; no system "
            "runs that) (default: layers)")
      .words(kPlanCuts)
      .text("zero", zero, "LIST",
            "ZeRO stages, 0 to 3, separated by commas; fitted: ZeRO 3 for the fewest layers that let the plan fit. "
            "Default: 0,1, and 2 without --runtime and --schedule")
      .text("recompute", recompute, "LIST",
            "recomputation within layers: none, selective, full, or fitted (the fewest layers that let the plan fit), "
            "separated by commas (default: none,full)")
      .brief()
      .words(kPlanRecomputes)
      .flag("offload", offload, "offload activations to the host, the fewest that let the plan fit")
      .text("schedule", schedules, "LIST",
            "names of schedules, separated by commas (default: those that some system runs)")
      .brief()
      .flag("all", all, "also search plans that no system is known to run; so do --schedule and options of such plans")
      .flag("asynchronous", asynchronous,
            "also search asynchronous schedules, which compute with weights that are some updates old")
      .text("planners", planners, "LIST",
            "published planners (`plumbline plan --list`) whose plans the search begins with: all, none, or names "
            "separated by commas. With this option their step times are printed (default: all)");
  parser.group("Messages between ranks, in all layouts");
  traffic.add_to(parser);
  parser.group("Prices").real("price", price, {0, 1e9},
                              "price of one device per hour, in any currency (default: as in the cluster's document)");
  parser.group("Limits of the search")
      .real("time-limit", time_limit_s, {}, "stop after this many seconds and print the best plan found (default: 60)")
      .brief()
      .whole("simulations", simulations, {},
             "stop after this many simulations, not counting the plans of published planners (default: 100000); "
             "unlike --time-limit this gives the same answer on every machine");
}

namespace {

/// Built-in clusters that are named as the chips of their devices are, not as a paper or a site.
std::vector<std::string_view> known_chips() {
  std::vector<std::string_view> chips;
  for (const std::string_view name : builtin_clusters()) {
    const Cluster cluster = load_cluster(std::string(name));
    if (cluster.devices.empty()) continue;
    if (plain_name(cluster.devices.front().name).find(plain_name(name)) != std::string::npos) chips.push_back(name);
  }
  return chips;
}

}  // namespace

void take_gpus(PlanSearchArguments& arguments) {
  if (arguments.gpus.empty()) return;
  const std::string where = "plan: --gpus " + arguments.gpus;
  const std::size_t cross = arguments.gpus.find('x');
  const std::int64_t count = parse_whole(std::string_view(arguments.gpus).substr(0, cross), {1, 65536}, "plan: --gpus");
  if (arguments.devices) throw Error(where + ": --devices says how many, too; expected one of them");
  if (cross != std::string::npos) {
    if (!arguments.cluster.empty()) throw Error(where + ": --cluster says which, too; expected a number alone");
    const std::vector<std::string_view> chips = known_chips();
    const std::string_view chip = std::string_view(arguments.gpus).substr(cross + 1);
    const auto found =
        std::ranges::find_if(chips, [&](std::string_view known) { return plain_name(known) == plain_name(chip); });
    if (found == chips.end()) {
      std::string names;
      for (const std::string_view known : chips) names += (names.empty() ? "" : ", ") + std::string(known);
      throw Error(where + ": '" + std::string(chip) + "' is no known chip, expected one of " + names +
                  "; or --cluster FILE");
    }
    arguments.cluster = *found;
  }
  if (arguments.cluster.empty())
    throw Error(where + ": the chip is not said, expected such as " + std::to_string(count) + "xh100, or --cluster");
  arguments.devices = count;
}

void size_cluster(PlanSearchArguments& arguments) {
  if (!arguments.devices || arguments.cluster.empty()) return;
  const std::int64_t wanted = *arguments.devices;
  const Cluster cluster = load_cluster(arguments.cluster);
  if (std::ssize(cluster.devices) == wanted) return;
  const std::string where = "plan: --devices " + std::to_string(wanted) + ": ";
  const bool built_in = std::ranges::any_of(
      builtin_clusters(), [&](std::string_view known) { return plain_name(known) == plain_name(arguments.cluster); });
  if (!built_in) {
    throw Error(where + "cluster '" + arguments.cluster + "' has " + std::to_string(cluster.devices.size()) +
                " devices, expected these or the name of a built-in cluster without a size");
  }
  try {
    arguments.cluster = load_cluster(arguments.cluster + "-" + std::to_string(wanted)).name;
  } catch (const Error&) {
    throw Error(where + "a node of '" + arguments.cluster + "' has " + std::to_string(cluster.devices_per_node) +
                " devices, expected a number that nodes, each more than half full, have equally many of");
  }
}

PlanJob PlanQuestion::job_on(const Cluster& other, const PricingLimits& other_limits) const {
  PlanJob changed = job;
  changed.price = job_pricing(network, other, rates, other_limits);
  return changed;
}

namespace {

/// The numbers of a range, or `otherwise` for an empty text. Throws `Error`, which names `where`, for what is no range.
std::vector<std::int64_t> numbers_or(const std::string& text, const char* where,
                                     const std::vector<std::int64_t>& otherwise) {
  return text.empty() ? otherwise : parse_range(text, where, {1, 1'000'000});
}

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

std::vector<ZeroChoice> zeros_of(const std::string& list) {
  std::vector<ZeroChoice> chosen;
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

/// What `--recompute` and `--zero` name. Empty where they are not given.
struct MemoryChoices {
  std::vector<ActivationRecompute> recompute{};
  std::vector<ZeroChoice> zero{};

  /// Whether single stages choose for themselves.
  bool are_fitted() const {
    return std::ranges::find(recompute, ActivationRecompute::kFitted) != recompute.end() ||
           std::ranges::any_of(zero, &ZeroChoice::fitted);
  }
};

/// The largest number that divides the experts of all routed layers; 1: there are none.
std::int64_t common_experts(const std::vector<LayerSpec>& layers, std::int64_t so_far = 0) {
  for (const LayerSpec& layer : layers) {
    if (layer.kind == LayerKind::kMoe) so_far = std::gcd(so_far, layer.experts);
    so_far = common_experts(layer.body, so_far);
  }
  return so_far;
}

/// Measured layers are as they were measured; choices that ask for more would be lost.
void check_measured(const MemoryChoices& chosen, const Network& network) {
  const auto other = [](auto none) { return [none](auto choice) { return choice != none; }; };
  const bool recompute = std::ranges::any_of(chosen.recompute, other(ActivationRecompute::kNone));
  const bool zero = std::ranges::any_of(chosen.zero, other(ZeroChoice{}));
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

/// The ZeRO stages that are searched where none are asked for.
std::vector<ZeroChoice> usual_zeros(const PlanSearchArguments& arguments, const PlanQuestion& question) {
  std::vector<ZeroChoice> zeros;
  if (question.runtime != nullptr) {
    for (const ZeroStage stage : question.runtime->zero) zeros.push_back({stage});
    return zeros;
  }
  zeros = {{ZeroStage::kNone}, {ZeroStage::kOptimizer}};
  if (question.for_systems || arguments.all) zeros.push_back({ZeroStage::kGradients});
  return zeros;
}

DegreeChoices degree_choices(const PlanSearchArguments& arguments, const MemoryChoices& chosen,
                             const PlanQuestion& question) {
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
    // With flash attention selective recompute is the same as none.
    choices.recompute = {ActivationRecompute::kNone, ActivationRecompute::kFull};
    if (!chosen.recompute.empty()) choices.recompute = chosen.recompute;
    choices.zero = chosen.zero.empty() ? usual_zeros(arguments, question) : chosen.zero;
  } else {
    check_measured(chosen, question.network);
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

/// All combinations of degrees that the cluster has devices for.
/// All combinations of degrees and choices that the options of a search allow and the cluster has devices for.
/// `question` knows its network, cluster and job. Throws `Error` for options that are none, or not for this network.
std::vector<Parallelism> parallelisms_of(const PlanSearchArguments& arguments, const MemoryChoices& chosen,
                                         const PlanQuestion& question) {
  const DegreeChoices choices = degree_choices(arguments, chosen, question);
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

constexpr std::int64_t kLongestPipeline = 64;

std::vector<std::string> names_of(const std::string& list) {
  return list.empty() ? std::vector<std::string>{} : split(list, ',');
}

/// Instead of what the cluster says, every device costs `price`.
void set_prices(Cluster& cluster, const std::optional<double>& price) {
  if (!price) return;
  for (DeviceSpec& device : cluster.devices) device.price_per_hour = *price;
}

/// As far as every stage can have the same number of layers, on four places or more: what pipelines of fewer places
/// idle is little.
std::vector<std::int32_t> even_chunks(std::size_t decoders, const std::vector<std::int32_t>& chunks) {
  constexpr std::size_t kLeastPlaces = 4;
  std::vector<std::int32_t> even;
  for (std::size_t v = 2; v * kLeastPlaces <= decoders + 2; ++v) {
    const auto chunk = static_cast<std::int32_t>(v);
    const auto divides = [&](std::size_t all) { return all % v == 0; };
    if (std::ranges::find(chunks, chunk) != chunks.end()) continue;
    if (divides(decoders) || divides(decoders + 1) || divides(decoders + 2)) even.push_back(chunk);
  }
  return even;
}

/// The products of a launch file, for a system that may be another one.
void check_format(MatrixFormat format, const PlanRuntime& runtime) {
  if (format == MatrixFormat::kBf16) return;
  const std::string name(kMatrixFormatNames[static_cast<std::size_t>(format)]);
  check_allowed(runtime, "--precision", name, {runtime.precision.begin(), runtime.precision.end()});
}

/// Throws `Error` for recomputation and ZeRO stages that the system does not have.
void check_memory_choices(const PlanRuntime& runtime, const MemoryChoices& chosen) {
  std::vector<std::string> has;
  for (const auto stages : {runtime.zero, runtime.zero_too}) {
    for (const ZeroStage stage : stages) has.push_back(std::to_string(static_cast<int>(stage)));
  }
  if (std::ranges::any_of(chosen.zero, &ZeroChoice::fitted)) check_allowed(runtime, "--zero", "fitted", has);
  for (const ZeroChoice& choice : chosen.zero) {
    check_allowed(runtime, "--zero", std::to_string(static_cast<int>(choice.zero)), has);
  }
  has.clear();
  const auto word = [](ActivationRecompute choice) { return kPlanRecomputes[static_cast<std::size_t>(choice)]; };
  for (const ActivationRecompute choice : runtime.recompute) has.emplace_back(word(choice));
  for (const ActivationRecompute choice : chosen.recompute) {
    check_allowed(runtime, "--recompute", std::string(word(choice)), has);
  }
}

/// Throws `Error` for what the system does not have.
void check_runtime(const PlanSearchArguments& arguments, const MemoryChoices& chosen, const PlanRuntime* runtime) {
  if (runtime == nullptr) return;
  const auto check = [&](const char* option, const std::string& given, const std::vector<std::string>& values) {
    if (!given.empty()) check_allowed(*runtime, option, given, values);
  };
  if (!arguments.schedules.empty()) check("--schedule", arguments.schedules, schedules_of(*runtime));
  check_memory_choices(*runtime, chosen);
  check("--precision", arguments.precision, {runtime->precision.begin(), runtime->precision.end()});
  if (!runtime->splits_samples) check("--cp", arguments.context, {"1"});
  if (!runtime->splits_experts) check("--ep", arguments.expert, {"1"});
  if (arguments.computes && arguments.precision.empty()) check_format(arguments.computes->format, *runtime);
  if (arguments.offload) throw Error("plan: --offload: no system is known to run such orders, expected --runtime none");
  if (!arguments.copies.empty()) throw Error("plan: --copies: no system shares a batch so, expected --runtime none");
  const TrafficArguments& traffic = arguments.traffic;
  if (!traffic.shard_group.empty() || traffic.compress_gradients || !traffic.compress_messages.empty() ||
      traffic.storage_update) {
    throw Error(
        "plan: --shard-group, --compress-gradients, --compress-messages, --storage-update: no launch is printed with "
        "them, expected --runtime none");
  }
  if (arguments.unlike_tensor) throw Error("plan: --unlike-tp: no system divides stages so, expected --runtime none");
  if (arguments.asynchronous) throw Error("plan: --asynchronous: no system runs such orders, expected --runtime none");
}

/// Tables of words as long as the system makes them. What it adds depends on the tensor ranks only where they are no
/// divisors of the unit; then nothing is said here, and the launch notes it.
void pad_vocabulary(PlanQuestion& question) {
  const std::int64_t rows = vocabulary_rows(question.network);
  if (question.runtime == nullptr || !question.runtime->pads_vocabulary || rows % kVocabularyUnit == 0) return;
  question.words = rows;
  question.vocabulary = (rows / kVocabularyUnit + 1) * kVocabularyUnit;
  question.network = with_vocabulary_rows(std::move(question.network), question.vocabulary);
}

/// Where stages may begin: whole decoder layers, which is all that systems can do, or any blocks.
void set_cuts(const PlanSearchArguments& arguments, PlanQuestion& question) {
  const bool blocks = arguments.cut == kPlanCuts[1];
  if (!arguments.cut.empty() && std::ranges::find(kPlanCuts, arguments.cut) == kPlanCuts.end())
    throw_unknown("--cut choice", arguments.cut, kPlanCuts);
  if (question.runtime != nullptr) {
    if (blocks) throw Error("plan: --cut blocks: no system cuts inside decoder layers, expected --runtime none");
    cut_as(*question.runtime, question.network, question.job);
  } else if (!blocks) {
    question.job.units = whole_layers(question.network);
    if (question.job.units.size() == question.network.layers.size() + 1) question.job.units.clear();
  }
}

/// Whether the question leaves the schedule to the search and asks for nothing that no system runs.
bool asks_for_systems(const PlanSearchArguments& arguments, const MemoryChoices& chosen) {
  const TrafficArguments& traffic = arguments.traffic;
  const bool unusual = !traffic.shard_group.empty() || traffic.compress_gradients ||
                       !traffic.compress_messages.empty() || traffic.storage_update;
  return !arguments.all && arguments.schedules.empty() && !arguments.asynchronous && !arguments.offload &&
         arguments.copies.empty() && !arguments.unlike_tensor && arguments.cut != kPlanCuts[1] && !unusual &&
         !chosen.are_fitted();
}

/// Holds the search to what systems run.
void hold_to_systems(PlanQuestion& question) {
  if (question.is_for_systems()) question.job.runs = runs_in_systems(question.runtime);
  if (question.for_systems) question.ranges.schedules = schedules_of_systems();
}

/// Copies of a pipeline are data ranks of another kind, so not where these are asked for.
std::vector<std::int32_t> copies_of(const PlanSearchArguments& arguments, const PlanQuestion& question) {
  constexpr std::int64_t kMostCopies = 16;
  const bool open = !question.is_for_systems() && arguments.data.empty();
  std::vector<std::int64_t> numbers;
  for (std::int64_t count = 2; open && count <= kMostCopies; ++count) numbers.push_back(count);
  numbers = numbers_or(arguments.copies, "plan: --copies", numbers);
  return {numbers.begin(), numbers.end()};
}

/// The published planners that `list` names; without a value: all.
std::optional<std::vector<std::string>> planners_of(const std::string& list) {
  if (list.empty() || list == "all") return std::nullopt;
  std::vector<std::string> planners = list == "none" ? std::vector<std::string>{} : names_of(list);
  for (const std::string& name : planners) find_planner(name);
  return planners;
}

/// Throws `Error` with all that is missing, and an example.
void check_complete(const PlanSearchArguments& arguments) {
  std::vector<std::string> missing;
  if (arguments.network.empty() && !arguments.described) missing.emplace_back("the model (--network NAME|FILE)");
  if (arguments.cluster.empty()) missing.emplace_back("the cluster (--cluster NAME|FILE)");
  if (!arguments.batch) missing.emplace_back("the global batch size (--batch N)");
  if (missing.empty()) return;
  std::string all;
  for (std::size_t at = 0; at < missing.size(); ++at) {
    all += (at == 0 ? "" : at + 1 == missing.size() ? " and " : ", ") + missing[at];
  }
  throw Error("plan: " + all + (missing.size() == 1 ? " is" : " are") +
              " missing, expected all of: plan --network llama3-70b --cluster h100-8x8 --batch 128");
}

/// Sets what a device may hold and how fast it reaches its host.
void set_limits(const PlanSearchArguments& arguments, PricingLimits& limits) {
  if (!arguments.memory_limit.empty()) {
    limits.memory_bytes = parse_bytes(arguments.memory_limit, "plan: --memory-limit");
    if (limits.memory_bytes == 0) throw Error("plan: --memory-limit: nothing fits in 0 bytes, expected bytes above 0");
  }
  if (!arguments.host_bandwidth.empty()) {
    limits.host_bytes_per_s = static_cast<double>(parse_bytes(arguments.host_bandwidth, "plan: --host-bandwidth"));
  }
}

}  // namespace

PlanQuestion plan_question(const PlanSearchArguments& arguments) {
  const PlanRuntime* runtime = plan_runtime(arguments.runtime);
  const MemoryChoices chosen{recomputes_of(arguments.recompute), zeros_of(arguments.zero)};
  check_runtime(arguments, chosen, runtime);
  check_complete(arguments);
  PlanQuestion question{.runtime = runtime, .for_systems = runtime == nullptr && asks_for_systems(arguments, chosen)};
  question.network_name = arguments.network;
  question.limits.margin = FitMargin::kError;
  if (runtime != nullptr) question.limits.runtime = runtime->name;
  question.network = arguments.described ? *arguments.described : network_argument(arguments.network);
  question.cluster = load_cluster(arguments.cluster);
  if (arguments.first_devices) {
    question.cluster = sized_cluster(std::move(question.cluster), *arguments.first_devices);
  }
  set_prices(question.cluster, arguments.price);
  if (arguments.sequence) question.network.sequence = *arguments.sequence;
  pad_vocabulary(question);
  if (!arguments.rates.empty() || arguments.power) {
    question.rates = asked_rates(arguments.rates, arguments.power, question.cluster.devices.front());
  }
  set_limits(arguments, question.limits);
  question.job.num_layers = question.network.layers.size();
  question.job.num_devices = static_cast<std::int64_t>(question.cluster.devices.size());
  question.job.batch = *arguments.batch;
  set_cuts(arguments, question);
  question.job = question.job_on(question.cluster, question.limits);
  question.ranges.parallelisms = parallelisms_of(arguments, chosen, question);
  if (const auto& jobs = question.ranges.parallelisms; !jobs.empty()) {
    require_format(question.used_rates(), jobs.front().format);  // all have the same
  }
  std::vector<std::int64_t> places;
  for (std::int64_t p = 1; p <= std::min(kLongestPipeline, question.job.num_devices); ++p) places.push_back(p);
  for (const std::int64_t p : numbers_or(arguments.places, "plan: --pp", places)) {
    question.ranges.places.push_back(static_cast<std::int32_t>(p));
  }
  question.ranges.copies = copies_of(arguments, question);
  if (!arguments.chunks.empty()) question.ranges.chunks.clear();
  if (arguments.chunks.empty() && !question.job.units.empty()) {
    question.ranges.even_chunks = even_chunks(question.job.units.size() - 3, question.ranges.chunks);
  }
  for (const std::int64_t v : numbers_or(arguments.chunks, "plan: --chunks", {})) {
    question.ranges.chunks.push_back(static_cast<std::int32_t>(v));
  }
  question.ranges.schedules = names_of(arguments.schedules);
  if (runtime != nullptr && arguments.schedules.empty()) question.ranges.schedules = schedules_of(*runtime);
  hold_to_systems(question);
  question.ranges.asynchronous = arguments.asynchronous;
  question.ranges.planners = planners_of(arguments.planners);
  const auto& names = question.ranges.schedules;
  const bool may_replicate = names.empty() || std::ranges::find(names, "dapple") != names.end();
  question.ranges.replicated = !question.is_for_systems() && arguments.data.empty() && may_replicate;
  return question;
}

}  // namespace plumb
