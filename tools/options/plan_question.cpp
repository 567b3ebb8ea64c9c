#include "tools/options/plan_question.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/network/vocabulary_rows.hpp"
#include "models/stages/whole_layers.hpp"
#include "sim/planners/planner.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/network_argument.hpp"
#include "tools/options/plan_degrees.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

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

std::vector<std::string> zero_values(const PlanRuntime& runtime) {
  std::vector<std::string> values;
  for (const auto stages : {runtime.zero, runtime.zero_too}) {
    for (const ZeroStage stage : stages) values.push_back(std::to_string(static_cast<int>(stage)));
  }
  return values;
}

std::vector<std::string> recompute_values(const PlanRuntime& runtime) {
  std::vector<std::string> values;
  for (const ActivationRecompute choice : runtime.recompute) {
    values.emplace_back(kPlanRecomputes[static_cast<std::size_t>(choice)]);
  }
  return values;
}

/// Throws `Error` for what the system does not have.
void check_runtime(const PlanSearchArguments& arguments, const PlanRuntime* runtime) {
  if (runtime == nullptr) return;
  const auto check = [&](const char* option, const std::string& given, const std::vector<std::string>& values) {
    if (!given.empty()) check_allowed(*runtime, option, given, values);
  };
  if (!arguments.schedules.empty()) check("--schedule", arguments.schedules, schedules_of(*runtime));
  check("--zero", arguments.zero, zero_values(*runtime));
  check("--recompute", arguments.recompute, recompute_values(*runtime));
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
bool asks_for_systems(const PlanSearchArguments& arguments) {
  const TrafficArguments& traffic = arguments.traffic;
  const bool unusual = !traffic.shard_group.empty() || traffic.compress_gradients ||
                       !traffic.compress_messages.empty() || traffic.storage_update;
  const auto fitted = [](const std::string& list) { return list.find("fitted") != std::string::npos; };
  return !arguments.all && arguments.schedules.empty() && !arguments.asynchronous && !arguments.offload &&
         arguments.copies.empty() && !arguments.unlike_tensor && arguments.cut != kPlanCuts[1] && !unusual &&
         !fitted(arguments.zero) && !fitted(arguments.recompute);
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

}  // namespace

PlanQuestion plan_question(const PlanSearchArguments& arguments) {
  const PlanRuntime* runtime = plan_runtime(arguments.runtime);
  check_runtime(arguments, runtime);
  check_complete(arguments);
  PlanQuestion question{.runtime = runtime, .for_systems = runtime == nullptr && asks_for_systems(arguments)};
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
  if (!arguments.rates.empty()) {
    question.rates = kernel_rates_from_json(read_text_file(arguments.rates, kKernelRatesFile), arguments.rates);
  }
  if (!arguments.memory_limit.empty()) {
    question.limits.memory_bytes = parse_bytes(arguments.memory_limit, "plan: --memory-limit");
    if (question.limits.memory_bytes == 0)
      throw Error("plan: --memory-limit: nothing fits in 0 bytes, expected bytes above 0");
  }
  if (!arguments.host_bandwidth.empty()) {
    question.limits.host_bytes_per_s =
        static_cast<double>(parse_bytes(arguments.host_bandwidth, "plan: --host-bandwidth"));
  }
  question.job.num_layers = question.network.layers.size();
  question.job.num_devices = static_cast<std::int64_t>(question.cluster.devices.size());
  question.job.batch = *arguments.batch;
  set_cuts(arguments, question);
  question.job = question.job_on(question.cluster, question.limits);
  question.ranges.parallelisms = parallelisms_of(arguments, question);
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
