#include "tools/options/cost_arguments.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/import/model_config.hpp"
#include "models/jobs/job_places.hpp"
#include "models/network/flow.hpp"
#include "models/network/vocabulary_rows.hpp"
#include "models/pricing/cluster_size.hpp"
#include "models/pricing/known_books.hpp"
#include "models/sources/profile.hpp"
#include "models/sources/run_profile.hpp"
#include "tools/formats/file_nature.hpp"
#include "tools/formats/run_profile_document.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// The built-in network of an id of the Hugging Face Hub, "meta-llama/Llama-3.1-70B"; empty where there is a file of
/// this name, or none is built in.
std::string_view network_of_hub_id(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || name.find('/', slash + 1) != std::string::npos) return {};
  return file_exists(name) ? std::string_view{} : builtin_network_called(std::string_view(name).substr(slash + 1));
}

}  // namespace

Network network_argument(const std::string& name_or_path) {
  if (const std::string_view built_in = network_of_hub_id(name_or_path); !built_in.empty()) {
    Network network = load_network(built_in);
    note("plumbline: note: " + printable(name_or_path) + " is read as the built-in network " + std::string(built_in) +
         " with samples of " + std::to_string(network.sequence) + " tokens; nothing is downloaded");
    return network;
  }
  Network network = load_network(name_or_path);
  if (const std::string parts = unpriced_parts(network); !parts.empty()) {
    note("plumbline: note: " + printable(name_or_path) + ": not priced: " + parts);
  }
  if (const std::string keys = unread_keys(network); !keys.empty()) {
    note("plumbline: note: " + printable(name_or_path) + ": not read: " + keys +
         "; the network computes as if the file did not say it");
  }
  return network;
}

MatrixFormat matrix_format_of(const std::string& precision) {
  const auto at = std::ranges::find(kMatrixFormatNames, precision);
  return at == kMatrixFormatNames.end() ? MatrixFormat::kBf16
                                        : static_cast<MatrixFormat>(at - kMatrixFormatNames.begin());
}

Precision precision_of(const std::string& name, const std::string& cluster) {
  const std::string_view usual = plain_name(cluster) == "host" ? "single" : "mixed";
  const std::string_view chosen = name.empty() ? usual : std::string_view(name);
  if (chosen == "mixed" || matrix_format_of(name) != MatrixFormat::kBf16) return kMixedPrecision;
  if (chosen == "single") return Precision{};
  throw_unknown("precision", chosen, kPrecisionNames);
}

namespace {

void refuse(const std::string& value, const std::string& option, const std::string& why) {
  if (!value.empty()) throw Error(option + ": " + why);
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

std::optional<LayerCut> asked_cut(const CostArguments& arguments) {
  return arguments.partition.empty() ? std::nullopt : std::optional(parse_cut(arguments.partition));
}

/// Whether an option asks for what only a job has.
bool asks_for_job(const CostArguments& arguments) {
  return arguments.job.any() || matrix_format_of(arguments.precision) != MatrixFormat::kBf16;
}

void refuse_job(const CostArguments& arguments) {
  if (!asks_for_job(arguments)) return;
  throw Error("--tp, --dp and the other parallelism options: expected --network NAME and --cluster NAME with them");
}

void refuse_message_bytes(const CostArguments& arguments) {
  refuse(arguments.message_bytes, "--message-bytes", "applies to a real run, expected --profile of one with it");
}

AbstractUnits load_units(const CostArguments& arguments) {
  check_abstract(arguments);
  refuse_job(arguments);
  refuse_message_bytes(arguments);
  return {arguments.cost, arguments.memory, arguments.per_stage, arguments.assumed};
}

RunProfile load_run(const CostArguments& arguments, RunProfile profile) {
  const std::string why = "is not known of a traced run, expected no --profile of one with it";
  refuse(arguments.network, "--network", why);
  refuse(arguments.partition, "--partition", why);
  refuse(arguments.cluster, "--cluster",
         "messages take what they took in the traced run, expected no --cluster with it");
  refuse_job(arguments);
  predict_message_size(arguments, profile);
  return profile;
}

/// A profile of `plumbline profile`, with its network.
StageProfile load_stages(const CostArguments& arguments, const std::string& text) {
  refuse_job(arguments);
  refuse_message_bytes(arguments);
  StageProfile source;
  source.profile = profile_from_json(text, arguments.profile);
  source.network_name = arguments.network.empty() ? source.profile.network : arguments.network;
  source.network = std::make_shared<const Network>(network_argument(source.network_name));
  if (!arguments.cluster.empty()) source.cluster = std::make_shared<const Cluster>(load_cluster(arguments.cluster));
  source.cut = asked_cut(arguments);
  return source;
}

std::shared_ptr<JobPriceBook> load_book(const CostArguments& arguments) {
  const bool as_built_in =
      !arguments.described && !arguments.vocabulary && arguments.job.rates.empty() && !arguments.job.power;
  if (as_built_in) {
    if (auto known = known_book(arguments.network, arguments.cluster)) return known;
  }
  Network network = arguments.described ? *arguments.described : network_argument(arguments.network);
  if (arguments.vocabulary) network = with_vocabulary_rows(std::move(network), *arguments.vocabulary);
  const auto cluster = std::make_shared<const Cluster>(load_cluster(arguments.cluster));
  return std::make_shared<JobPriceBook>(std::make_shared<const Network>(std::move(network)), cluster,
                                        arguments.job.rates_of(cluster->devices.front()));
}

AnalyticJob load_job(const CostArguments& arguments) {
  if (!arguments.has_network()) {
    throw Error(
        "the costs are missing, expected --cost LIST (such as F=1,B=2), --profile FILE, or --network NAME --cluster "
        "NAME");
  }
  if (arguments.cluster.empty()) {
    throw Error("--network: the machine is missing, expected --cluster NAME or --profile FILE");
  }
  refuse_message_bytes(arguments);
  AnalyticJob job;
  job.book = load_book(arguments);
  job.network_name = arguments.network;
  job.cluster_name = arguments.cluster;
  job.parallelism = arguments.parallelism();
  job.tensor_by_place = arguments.job.tensor_degrees_by_rank();
  job.choices = arguments.job.stage_choices();
  job.cut = asked_cut(arguments).value_or(LayerCut{});
  return job;
}

}  // namespace

void CostArguments::add_search_to(OptionTable& parser) {
  parser.group("Costs for schedules that are searched, such as zb-auto (default: F = I = W), and for --backend paced")
      .text("cost", cost, "LIST", "times in abstract units, as for `plumbline simulate`")
      .text("memory", memory, "LIST", "what F, I and W add to the stored activations, in abstract units")
      .flag("per-stage", per_stage,
            "--cost, --memory and stashes mean one stage (default: a device's share, 1/p of the model, so that all "
            "schedules do the same work)")
      .retired("per-device")
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
      .brief("times in abstract units: F=1,B=2 or F=1,I=1,W=1")
      .text("memory", memory, "LIST",
            "what each action adds to the stored activations, in abstract units: F=1,I=0,W=-1")
      .flag("per-stage", per_stage,
            "--cost, --memory and stashes mean one stage (default: a device's share, 1/p of the model, so that all "
            "schedules do the same work)")
      .retired("per-device")
      .text("network", network, "NAME|FILE", "model, see `plumbline networks`")
      .brief()
      .text("cluster", cluster, "NAME|FILE", "devices and links, see `plumbline clusters`")
      .brief()
      .text("profile", profile, "FILE",
            "times measured by `plumbline profile`, or of a real run (`plumbline trace --profile`)")
      .text("message-bytes", message_bytes, "SIZE",
            "size of the messages, such as 4MiB, where the profile of a real run has several sizes (default: the size "
            "in the run)")
      .text("partition", partition, "HOW",
            "how layers are split into stages: balanced by their times, equal (the same number of blocks), finest (one "
            "layer with weights per stage), or the layers of each stage, 3,4,4,3. Default: balanced, or as in a "
            "profile with this number of stages")
      .text("precision", precision, "NAME",
            "mixed (bf16 compute), single, or mixed with products in fp8 (delayed scaling), fp8-current, fp8-block, "
            "mxfp8 or nvfp4 (default: mixed; single on the cluster host)")
      .words(kPrecisionNames)
      .whole("samples", samples, {}, "samples per microbatch (default: as in the network)")
      .whole("sequence", sequence, {}, "tokens per sample (default: as in the network)")
      .whole("vocabulary", vocabulary, {1, std::int64_t{1} << 30},
             "padded vocabulary size (default: as in the network)")
      .real("jitter", jitter, {0, 1}, "relative standard deviation of the time of every action")
      .text("memory-limit", memory_limit, "X",
            "memory of each device: stashes (activations of one microbatch for 1/p of the model, with --per-stage for "
            "one "
            "stage), units of --memory, or bytes (80GiB)")
      .brief();
  job.add_to(parser, ranges);
}

Parallelism CostArguments::parallelism() const {
  std::optional<Precision> asked;
  if (!job.described || !precision.empty()) asked = precision_of(precision, cluster);
  Parallelism parallelism = job.parallelism(asked, matrix_format_of(precision));
  if (parallelism.microbatch_size == 0) parallelism.microbatch_size = samples.value_or(0);
  parallelism.sequence = sequence.value_or(0);
  return parallelism;
}

CostSource load_costs(const CostArguments& arguments) {
  CostSource source;
  source.jitter = arguments.jitter;
  if (!arguments.cost.empty()) {
    source.kind = load_units(arguments);
    return source;
  }
  refuse(arguments.memory, "--memory", "applies to --cost, expected --cost LIST with it");
  if (arguments.per_stage) throw Error("--per-stage: applies to --cost, expected --cost LIST with it");
  if (arguments.profile.empty()) {
    source.kind = load_job(arguments);
    return source;
  }
  check_profile(arguments);
  const std::string text = read_text_file(arguments.profile, kProfileFile);
  require_json(text, arguments.profile, "a profile; `plumbline trace FILES --profile FILE` makes one of traces");
  if (auto run = run_profile_in(text, arguments.profile)) {
    source.kind = load_run(arguments, *std::move(run));
  } else {
    source.kind = load_stages(arguments, text);
  }
  return source;
}

void take_degrees(const CostArguments& arguments, CostSource& source) {
  AnalyticJob* job = source.job();
  if (job == nullptr) return;
  job->parallelism = arguments.parallelism();
  job->choices = arguments.job.stage_choices();
}

SearchGoal search_goal(const CostArguments& arguments, const CostSource& source, std::int32_t num_devices) {
  SearchGoal goal;
  const bool in_bytes = source.job() != nullptr || source.is_profile();
  goal.memory_limit = parse_memory_limit(arguments.memory_limit, in_bytes).value.value_or(0);
  if (!arguments.any()) return goal;
  goal.costs = costs_for_search(source, num_devices);
  if (goal.memory_limit <= 0 || source.units() == nullptr || arguments.per_stage || !arguments.memory.empty()) {
    return goal;
  }
  // The limit counts stashes of 1/p of the model: a search over stages of another size has to know theirs.
  CostSource sized = source;
  std::get<AbstractUnits>(sized.kind).memory = "F=1,W=-1";
  goal.costs = [plain = std::move(goal.costs), counted = costs_for_search(sized, num_devices),
                num_devices](std::int32_t num_stages) {
    return num_stages == num_devices ? plain(num_stages) : counted(num_stages);
  };
  return goal;
}

Network network_to_cut(const std::string& partition, const Network& network) {
  return partition == "finest" ? opened(network) : network;
}

namespace {

constexpr const char* kMemoryLimitOption = "--memory-limit";

}  // namespace

MemoryLimit parse_memory_limit(const std::string& text, bool in_bytes) {
  MemoryLimit limit{.in_bytes = in_bytes, .value = std::nullopt};
  if (text.empty()) return limit;
  if (!in_bytes && text.find_first_of("kKMGTB") != std::string::npos) {
    throw Error(std::string(kMemoryLimitOption) + ": '" + text +
                "' is of bytes, and abstract costs have none; expected a number of stashes such as 2.5");
  }
  limit.value = in_bytes ? static_cast<double>(parse_bytes(text, kMemoryLimitOption))
                         : parse_real(text, kMemoryLimitOption, {.least = 0});
  return limit;
}

MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs) {
  return parse_memory_limit(text, !costs.memory.empty() && costs.memory_units_per_one == 0);
}

TimeWords time_words(const std::string& cost) {
  return cost.empty() || cost.find("ms") != std::string::npos ? TimeWords::kSeconds : TimeWords::kUnits;
}

TimeWords time_words(const CostSource& source) {
  return source.units() == nullptr ? TimeWords::kSeconds : time_words(source.units()->times);
}

double stash_share(const Schedule& schedule, const CostArguments& arguments) {
  const auto shares = static_cast<std::int32_t>(shares_of_blocks(schedule).size());
  return !arguments.per_stage && !arguments.memory.empty()
             ? 1.0
             : static_cast<double>(schedule.num_devices) / std::max(1, schedule.num_stages - shares);
}

MemoryLimit parse_memory_limit(const CostArguments& arguments, const StageCosts& costs, const Schedule& schedule) {
  MemoryLimit limit = parse_memory_limit(arguments.memory_limit, costs);
  limit.stash_share = stash_share(schedule, arguments);
  limit.per_stage = arguments.per_stage;
  return limit;
}

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
