#include "tools/options/cost_arguments.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/costs/longest_edge.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/jobs/vocabulary_shares.hpp"
#include "models/network/vocabulary_rows.hpp"
#include "models/sources/abstract_costs.hpp"
#include "models/sources/profile.hpp"
#include "models/sources/roofline.hpp"
#include "models/sources/run_profile.hpp"
#include "models/stages/network_costs.hpp"
#include "schedules/program/in_flight.hpp"
#include "tools/formats/file_nature.hpp"
#include "tools/formats/run_profile_document.hpp"
#include "tools/options/jobs/tensor_by_rank.hpp"
#include "tools/options/memory_limit_argument.hpp"
#include "tools/options/stages_per_device.hpp"
#include "tools/tables/rates_text.hpp"

namespace plumb {
namespace {

void refuse(const std::string& value, const std::string& option, const std::string& why) {
  if (!value.empty()) throw Error(option + ": " + why);
}

/// What costs depend on.
struct CostShape {
  std::int32_t num_devices = 0;
  std::int32_t num_stages = 0;
  std::int32_t stages_together = 1;  ///< that a device's share of the model consists of
  bool recompute = false;
  std::vector<std::int64_t> in_flight{};  ///< by stage; empty: not known yet
  std::optional<VocabularyStages> vocabulary{};
  std::vector<StageId> shares{};       ///< of blocks of several devices at once
  std::vector<std::int32_t> places{};  ///< by stage, for unlike tensor degrees (`places_of_stages`); empty: not known

  /// Stages that hold layers.
  std::int32_t num_layer_stages() const { return vocabulary ? vocabulary->num_layer_stages(num_stages) : num_stages; }
};

/// By a rule of the document or as actions of its lists.
bool recomputes(const Schedule& schedule) {
  const auto is_recompute = [](const Action& action) { return action.op == Op::kR; };
  return !schedule.recompute.empty() || std::ranges::any_of(schedule.devices, [&](const DeviceList& list) {
    return std::ranges::any_of(list.actions, is_recompute);
  });
}

/// Only measured times depend on the microbatches in flight, which takes a walk through the lists to know.
CostShape cost_shape(const Schedule& schedule, bool measured) {
  return {schedule.num_devices,
          schedule.num_stages,
          stages_per_device(schedule),
          recomputes(schedule),
          measured ? peak_in_flight(schedule) : std::vector<std::int64_t>{},
          schedule.vocabulary,
          shares_of_blocks(schedule),
          {}};
}

MicrobatchShape shape_of(const CostArguments& arguments, const Network& network) {
  return {arguments.samples.value_or(network.samples), arguments.sequence.value_or(network.sequence)};
}

/// `devices`: as many as `what` needs.
void check_devices(const Cluster& cluster, std::int64_t devices, const std::string& name, const std::string& what) {
  if (std::ssize(cluster.devices) >= devices) return;
  const bool built_in = std::ranges::any_of(
      builtin_clusters(), [&](std::string_view known) { return plain_name(known) == plain_name(name); });
  const std::string hint = built_in ? "--cluster " + sized_name(name, cluster, devices) : "a document with more nodes";
  throw Error("--cluster: " + name + " has " + std::to_string(cluster.devices.size()) + " devices, " + what +
              " needs " + std::to_string(devices) + "; expected " + hint);
}

/// Throws `Error` when options of networks are combined with abstract costs.
void check_abstract(const CostArguments& arguments) {
  const std::string why = "applies to --network, expected no --cost with it";
  refuse(arguments.profile, "--profile", "has measured times, expected no --cost with it");
  refuse(arguments.network, "--network", "has computed times, expected no --cost with it");
  refuse(arguments.partition, "--partition", why);
  refuse(arguments.precision, "--precision", why);
  if (arguments.samples) throw Error("--samples: " + why);
  if (arguments.sequence) throw Error("--sequence: " + why);
  if (arguments.vocabulary) throw Error("--vocabulary: " + why);
}

/// Throws `Error` for options that a profile has already decided.
void check_profile(const CostArguments& arguments) {
  const std::string why = "is part of the profile, expected no --profile with it";
  if (arguments.samples) throw Error("--samples: " + why);
  if (arguments.sequence) throw Error("--sequence: " + why);
  if (arguments.vocabulary) throw Error("--vocabulary: " + why);
  refuse(arguments.precision, "--precision", why);
}

/// `--message-bytes`: messages of another size than those of the run.
void predict_message_size(const CostArguments& arguments, RunProfile& profile) {
  if (arguments.message_bytes.empty()) return;
  profile.message_bytes = parse_bytes(arguments.message_bytes, "--message-bytes");
  try {
    message_times(profile.messages, profile.message_bytes);
  } catch (const Error& error) {
    throw Error("--message-bytes: " + std::string(error.what()));
  }
}

/// Measured stages hold layers.
void refuse_vocabulary(const CostShape& shape) {
  if (!shape.vocabulary) return;
  throw Error("--profile: has no times of a divided vocabulary, expected --network with --cluster, or --cost");
}

/// A profile of `plumbline profile`, with its network, or of a traced run.
void load_profile(const CostArguments& arguments, CostDocuments& documents) {
  const std::string text = read_text_file(arguments.profile, kProfileFile);
  require_json(text, arguments.profile, "a profile; `plumbline trace FILES --profile FILE` makes one of traces");
  if (auto of_run = run_profile_in(text, arguments.profile)) {
    const std::string why = "is not known of a traced run, expected no --profile of one with it";
    refuse(arguments.network, "--network", why);
    refuse(arguments.partition, "--partition", why);
    refuse(arguments.cluster, "--cluster",
           "messages take what they took in the traced run, expected no --cluster with it");
    documents.run_profile = std::move(of_run);
    predict_message_size(arguments, *documents.run_profile);
    return;
  }
  documents.profile = profile_from_json(text, arguments.profile);
  documents.network = network_argument(arguments.network.empty() ? documents.profile->network : arguments.network);
}

CostInput abstract_input(const CostArguments& arguments, const CostShape& shape) {
  CostInput input;
  input.costs = abstract_costs(arguments.cost, arguments.memory,
                               {.num_stages = shape.num_stages,
                                .stages_together = arguments.per_device ? shape.stages_together : 1,
                                .recompute = shape.recompute,
                                .vocabulary = shape.vocabulary,
                                .shares = shape.shares});
  input.description = arguments.cost;
  if (arguments.assumed) input.description += ", assumed (I=1,W=1 where B is split); --cost or --network gives others";
  return input;
}

/// What the stages with layers divide among them.
Network layers_of(const Network& network, const CostShape& shape) {
  return shape.vocabulary ? without_vocabulary(network) : network;
}

CostInput roofline_input(const CostArguments& arguments, const CostDocuments& documents, const CostShape& shape) {
  const Network& network = *documents.network;
  const Cluster& cluster = *documents.cluster;
  const RooflineOptions options{.shape = shape_of(arguments, network),
                                .precision = precision_of(arguments.precision, arguments.cluster)};
  const Network layers = layers_of(network, shape);
  const auto layer_times =
      is_balanced(arguments.partition) ? roofline_layer_times(layers, cluster, options) : std::vector<std::int64_t>{};
  CostInput input;
  input.network = network;
  input.partition =
      load_partition(arguments.partition, {layers, arguments.network}, shape.num_layer_stages(), layer_times);
  if (shape.vocabulary) {
    const Network share = with_vocabulary_share(network, shape.vocabulary->output.size());
    input.costs = dealt_out(roofline_costs(share, around_layers(*input.partition), cluster, options), *shape.vocabulary,
                            network, options.shape);
  } else {
    input.costs = roofline_costs(network, *input.partition, cluster, options);
  }
  input.description = network.name + " on " + cluster.name + ", layers " + to_string(*input.partition) + "; " +
                      standing_text(arguments, documents, false);
  return input;
}

/// "tp 8, dp 16".
std::string job_text(const Parallelism& job) {
  std::string text;
  const auto add = [&](const char* name, std::int64_t degree) {
    if (degree > 1) text += std::string(", ") + name + " " + std::to_string(degree);
  };
  if (job.has_unlike_tensor()) {
    text += ", tp " + counts_text(job.tensor_by_place);
  } else {
    add("tp", job.tensor);
  }
  add("cp", job.context);
  add("ep", job.expert);
  add("dp", job.data);
  if (job.zero != ZeroStage::kNone) text += ", zero " + std::to_string(static_cast<int>(job.zero));
  return text;
}

/// Throws `Error` where the cluster has too few devices for those of the schedule.
void check_places(const CostArguments& arguments, const Cluster& cluster, const Parallelism& job,
                  const CostShape& shape) {
  if (!arguments.job.tensor_by_rank.empty()) parse_tensor_by_rank(arguments.job.tensor_by_rank, shape.num_devices);
  const std::string each = job.has_unlike_tensor()
                               ? "tensor degrees " + arguments.job.tensor_by_rank
                               : std::to_string(job.devices_per_stage()) + " devices each (tensor x context x data)";
  check_devices(cluster, place_devices(cluster, job, shape.num_devices).back().end(), arguments.cluster,
                "a pipeline of " + std::to_string(shape.num_devices) + " with " + each);
}

/// Stages spread over the devices of a job.
CostInput job_input(const CostArguments& arguments, const CostDocuments& documents, const CostShape& shape) {
  const Network& network = *documents.network;
  const Cluster& cluster = *documents.cluster;
  std::optional<Precision> precision;
  if (!arguments.job.described || !arguments.precision.empty()) {
    precision = precision_of(arguments.precision, arguments.cluster);
  }
  Parallelism parallelism = arguments.job.parallelism(precision, matrix_format_of(arguments.precision));
  if (parallelism.microbatch_size == 0) parallelism.microbatch_size = arguments.samples.value_or(0);
  parallelism.sequence = arguments.sequence.value_or(0);
  StageChoices choices = arguments.job.stage_choices();
  if (parallelism.has_unlike_tensor()) {
    choices.places = shape.places.empty() ? one_stage_each(shape.num_stages, shape.num_devices) : shape.places;
  }
  if (shape.recompute && parallelism.recompute >= ActivationRecompute::kFull) {
    throw Error("--recompute: the schedule recomputes whole stages already, expected no recompute of whole layers");
  }
  if (shape.vocabulary && choices != StageChoices{}) {
    throw Error(
        "--recompute, --shard-layers, --tp-by-rank: the schedule divides the vocabulary, expected nothing of single "
        "stages");
  }
  check_places(arguments, cluster, parallelism, shape);
  CostInput input;
  input.job_rates = arguments.job.rates_of(cluster.devices.front());
  const JobMachine machine{cluster, shape.num_devices, input.job_rates};
  const Network layers = layers_of(network, shape);
  const auto layer_times =
      is_balanced(arguments.partition) ? job_layer_times(layers, machine, parallelism) : std::vector<std::int64_t>{};
  input.network = network;
  input.partition =
      load_partition(arguments.partition, {layers, arguments.network}, shape.num_layer_stages(), layer_times);
  JobCosts job = shape.vocabulary
                     ? vocabulary_job_costs(network, *input.partition, machine, parallelism, *shape.vocabulary)
                     : (parallelism.has_unlike_tensor()
                            ? unlike_job_costs(network, *input.partition, machine, parallelism, choices)
                            : job_costs(network, *input.partition, machine, parallelism, choices));
  input.costs = std::move(job.costs);
  input.cluster = std::move(job.pipeline);
  input.description = network.name + " on " + cluster.name + job_text(parallelism) + ", layers " +
                      to_string(*input.partition) + "; " + standing_text(arguments, documents, true) +
                      unknown_format_text(*input.job_rates, parallelism.format);
  return input;
}

Partition partition_of(const Profile& profile, const CostArguments& arguments, const Network& network,
                       std::int32_t num_stages) {
  const Partition profiled = profiled_partition(profile);
  if (arguments.partition.empty() && profiled.num_stages() == static_cast<std::size_t>(num_stages)) return profiled;
  const bool timed = profile.layers.size() == network.layers.size();
  if (!timed && arguments.partition == "balanced") {
    throw Error("--partition: balanced needs a profile with the times of single layers, expected equal");
  }
  if (!timed && arguments.partition.empty()) return equal_partition(network, num_stages);
  std::vector<std::int64_t> layer_times;
  for (const ProfiledTimes& layer : profile.layers) {
    const std::int64_t backward =
        layer.b.count > 0 ? layer.b.expected_ns() : layer.i.expected_ns() + layer.w.expected_ns();
    layer_times.push_back(layer.f.expected_ns() + backward);
  }
  return load_partition(arguments.partition, {network, arguments.network}, num_stages, layer_times);
}

CostInput profile_input(const CostArguments& arguments, const CostDocuments& documents, const CostShape& shape) {
  refuse_vocabulary(shape);
  const Profile& profile = *documents.profile;
  CostInput input;
  input.network = documents.network;
  input.partition = partition_of(profile, arguments, *input.network, shape.num_stages);
  input.costs = profile_costs(profile, *input.network, *input.partition, shape.in_flight);
  if (documents.cluster) estimate_host_copies(input.costs, *documents.cluster);
  if (!documents.cluster) input.cluster = profile_cluster(profile, shape.num_devices, largest_message(input.costs));
  input.description = profile.network + " as measured on " + profile.machine;
  if (*input.partition != profiled_partition(profile)) input.description += ", layers " + to_string(*input.partition);
  return input;
}

CostInput run_input(const CostDocuments& documents, const CostShape& shape) {
  refuse_vocabulary(shape);
  const RunProfile& profile = *documents.run_profile;
  RunCosts run = run_profile_costs(profile, shape.num_stages);
  CostInput input;
  input.costs = std::move(run.costs);
  input.cluster = run_profile_cluster(profile, shape.num_devices);
  input.description = "as " + profile.machine;
  for (const std::string& note : run.notes) input.description += "; " + note;
  return input;
}

/// Jitter needs devices; where no cluster is known they are plain ones without links.
void apply_jitter(CostInput& input, double jitter, std::int32_t num_devices) {
  if (!input.cluster) {
    input.cluster.emplace();
    input.cluster->devices.resize(static_cast<std::size_t>(num_devices));
    input.cluster->devices_per_node = num_devices;
    input.cluster->finish();
  }
  for (DeviceSpec& device : input.cluster->devices) device.jitter = jitter;
}

CostInput cost_input(const CostArguments& arguments, const CostDocuments& documents, const CostShape& shape) {
  const bool job = arguments.job.any() || matrix_format_of(arguments.precision) != MatrixFormat::kBf16;
  if (documents.cluster && !job)
    check_devices(*documents.cluster, shape.num_devices, arguments.cluster, "the pipeline");
  CostInput input;
  if (job) {
    input = job_input(arguments, documents, shape);
  } else if (documents.profile) {
    input = profile_input(arguments, documents, shape);
  } else if (documents.run_profile) {
    input = run_input(documents, shape);
  } else {
    input = documents.network ? roofline_input(arguments, documents, shape) : abstract_input(arguments, shape);
  }
  if (documents.cluster && !job) input.cluster = documents.cluster;
  if (arguments.jitter) apply_jitter(input, *arguments.jitter, shape.num_devices);
  return input;
}

}  // namespace

void CostArguments::add_search_to(OptionTable& parser) {
  parser.group("Costs for schedules that are searched, such as zb-auto (default: F = I = W), and for --backend paced")
      .text("cost", cost, "LIST", "times in abstract units, as for `plumbline simulate`")
      .text("memory", memory, "LIST", "what F, I and W add to the stored activations, in abstract units")
      .flag("per-device", per_device, "--cost and --memory are per device (all its stages together), not per stage")
      .text("profile", profile, "FILE",
            "times measured by `plumbline profile`, or of a real run (`plumbline trace --profile`)")
      .text("memory-limit", memory_limit, "X",
            "memory for activations on each device, in units of --memory or in bytes (80GiB)");
}

void CostArguments::add_to(OptionTable& parser, JobRanges* ranges) {
  parser.group("Costs: --cost, or --network with --cluster, or --profile (default: --cost F=1,B=2)")
      .text("cost", cost, "LIST",
            "times in abstract units (1 unit = 1 ms), such as F=1,B=2 or F=1,I=1,W=1,comm=0.1; keys: F B I W R U X AR "
            "EVICT "
            "LOAD comm, F.comm and I.comm (communication inside F and I), S and T (a share of the head), FB FW ... "
            "(overlapped pairs)")
      .text("memory", memory, "LIST",
            "what each action adds to the stored activations, in abstract units: F=1,I=0,W=-1")
      .flag("per-device", per_device, "--cost and --memory are per device (all its stages together), not per stage")
      .text("network", network, "NAME|FILE", "model, see `plumbline networks`")
      .text("cluster", cluster, "NAME|FILE", "devices and links, see `plumbline clusters`")
      .text("profile", profile, "FILE",
            "times measured by `plumbline profile`, or of a real run (`plumbline trace --profile`)")
      .text("message-bytes", message_bytes, "SIZE",
            "size of the messages, such as 4MiB, where the profile of a real run knows several (default: that of the "
            "run)")
      .text("partition", partition, "HOW",
            "how layers are split into stages: balanced by their times, equal (as many blocks in each), finest (one "
            "layer "
            "with weights per stage), or the number of layers of each stage, 3,4,4,3 (default: balanced; with a "
            "profile of "
            "as many stages: as profiled)")
      .text("precision", precision, "NAME",
            "mixed (bf16 compute), single, or mixed with products in fp8 (delayed scaling), fp8-current, fp8-block, "
            "mxfp8 or nvfp4 (default: mixed; single on the cluster host)")
      .words(kPrecisionNames)
      .whole("samples", samples, {}, "samples per microbatch (default: as in the network)")
      .whole("sequence", sequence, {}, "tokens per sample (default: as in the network)")
      .whole("vocabulary", vocabulary, {1, std::int64_t{1} << 30},
             "rows of the tables of words, such as a system pads them to (default: as in the network)")
      .real("jitter", jitter, {0, 1}, "relative standard deviation of the time of every action")
      .text("memory-limit", memory_limit, "X", "memory of each device, in units of --memory or in bytes (80GiB)");
  job.add_to(parser, ranges);
}

std::string sized_name(const std::string& name, const Cluster& cluster, std::int64_t devices) {
  const std::int64_t per_node = std::max(1, cluster.devices_per_node);
  return name + "-" + std::to_string((devices + per_node - 1) / per_node) + "x" + std::to_string(per_node);
}

CostDocuments load_cost_documents(const CostArguments& arguments) {
  CostDocuments documents;
  if (!arguments.cost.empty()) {
    check_abstract(arguments);
  } else {
    refuse(arguments.memory, "--memory", "applies to --cost, expected --cost LIST with it");
    if (arguments.per_device) throw Error("--per-device: applies to --cost, expected --cost LIST with it");
    if (!arguments.profile.empty()) {
      check_profile(arguments);
      load_profile(arguments, documents);
    } else if (!arguments.has_network()) {
      throw Error(
          "the costs are missing, expected --cost LIST (such as F=1,B=2), --profile FILE, or --network NAME --cluster "
          "NAME");
    } else if (arguments.cluster.empty()) {
      throw Error("--network: the machine is missing, expected --cluster NAME or --profile FILE");
    } else {
      documents.network = arguments.described ? *arguments.described : network_argument(arguments.network);
      if (arguments.vocabulary)
        documents.network = with_vocabulary_rows(*std::move(documents.network), *arguments.vocabulary);
    }
  }
  const bool job = arguments.job.any() || matrix_format_of(arguments.precision) != MatrixFormat::kBf16;
  if (job && (!arguments.has_network() || arguments.cluster.empty() || documents.profile)) {
    throw Error("--tp, --dp and the other parallelism options: expected --network NAME and --cluster NAME with them");
  }
  if (!documents.run_profile) {
    refuse(arguments.message_bytes, "--message-bytes", "applies to a real run, expected --profile of one with it");
  }
  if (!arguments.cluster.empty()) documents.cluster = load_cluster(arguments.cluster);
  return documents;
}

std::string standing_text(const CostArguments& arguments, const CostDocuments& documents, bool job) {
  if (!documents.network || !documents.cluster || documents.profile) return {};
  return job ? rates_text(arguments.job.rates_of(documents.cluster->devices.front()))
             : "rates assumed: the shares of the peaks in the cluster's document";
}

CostInput cost_input(const CostArguments& arguments, const CostDocuments& documents, const Schedule& schedule) {
  CostShape shape = cost_shape(schedule, documents.profile.has_value());
  if (!arguments.job.tensor_by_rank.empty()) {
    shape.places = places_of_stages(schedule, parse_tensor_by_rank(arguments.job.tensor_by_rank, schedule.num_devices));
  }
  return cost_input(arguments, documents, shape);
}

SearchGoal search_goal(const CostArguments& arguments, const CostDocuments& documents, std::int32_t num_devices) {
  SearchGoal goal;
  goal.memory_limit = parse_memory_limit(arguments.memory_limit, documents.network.has_value()).value.value_or(0);
  if (!arguments.any()) return goal;
  goal.costs = [arguments, documents, num_devices](std::int32_t num_stages) {
    CostInput input = cost_input(arguments, documents,
                                 CostShape{.num_devices = num_devices,
                                           .num_stages = num_stages,
                                           .stages_together = std::max(1, num_stages / std::max(1, num_devices))});
    if (!input.costs.comm && input.cluster) input.costs.comm = longest_edge(input.costs, *input.cluster, num_devices);
    return std::move(input.costs);
  };
  return goal;
}

bool is_balanced(const std::string& partition) { return partition.empty() || partition == "balanced"; }

std::vector<std::int64_t> relative_layer_times(const Network& network, const MicrobatchShape& shape) {
  // A FLOP a nanosecond; faster where a pass of a layer would take longer than clocks count.
  constexpr double kMostFlopsOfLayer = 5e11;
  const double mean = model_flops(network, shape) / static_cast<double>(network.layers.size());
  Cluster machine;
  machine.devices.resize(1);
  machine.devices.front().flops_per_s = 1e9 * std::max(1.0, mean / kMostFlopsOfLayer);
  machine.devices.front().memory_bytes_per_s = machine.devices.front().flops_per_s / 10;
  return roofline_layer_times(network, machine, {.shape = shape, .precision = {}});
}

Network network_to_cut(const std::string& partition, const Network& network) {
  return partition == "finest" ? opened(network) : network;
}

namespace {

/// The partition that `cut` makes; what it refuses is said of the network.
template <class Cut>
Partition cut_of(const NamedNetwork& network, Cut cut) {
  try {
    return cut();
  } catch (const Error& error) {
    fail_at_layers(network, error.what());
  }
}

}  // namespace

Partition load_partition(const std::string& partition, const NamedNetwork& network, std::int32_t num_stages,
                         const std::vector<std::int64_t>& layer_costs) {
  if (is_balanced(partition)) {
    return cut_of(network, [&] { return balanced_partition(layer_costs, num_stages); });
  }
  if (partition == "equal") return cut_of(network, [&] { return equal_partition(network.network, num_stages); });
  if (partition == "finest") return cut_of(network, [&] { return finest_partition(network.network, num_stages); });
  const Partition given = parse_partition(partition, network.network.layers.size());
  if (given.num_stages() != static_cast<std::size_t>(num_stages)) {
    throw Error("--partition: " + partition + " has " + std::to_string(given.num_stages()) + " stages, expected " +
                std::to_string(num_stages));
  }
  return given;
}

}  // namespace plumb
