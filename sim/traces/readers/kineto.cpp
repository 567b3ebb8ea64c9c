#include "sim/traces/readers/kineto.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "sim/traces/readers/pipeline_functions.hpp"
#include "sim/traces/readers/words_of_file.hpp"

namespace plumb {
namespace {

constexpr std::int32_t kMostRanks = 1 << 20;
/// Eighty years; so that sums of two and of the largest base fit in 64 bits as nanoseconds.
constexpr double kMostMicroseconds = 2.5e15;
constexpr std::int64_t kMostBaseNs = 4'000'000'000'000'000'000;

std::string_view text_at(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : std::string_view{};
}

std::optional<std::int64_t> integer_at(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value || !value->is_integer()) return std::nullopt;
  return value->integer();
}

std::optional<JsonValue> arguments_of(const JsonValue& event) {
  const auto arguments = event.find("args");
  return arguments && arguments->is_object() ? arguments : std::nullopt;
}

/// Tells what a range is. Only those of Python's many calls are kept that tell of a pipeline.
std::optional<RangeKind> kind_of(std::string_view category, std::string_view name) {
  if (category == "python_function" && called_pipeline_function(name) != nullptr) return RangeKind::kAnnotation;
  if (category == "user_annotation") return RangeKind::kAnnotation;
  if (category == "cpu_op") return RangeKind::kOperator;
  if (category == "gpu_user_annotation") return RangeKind::kGpuAnnotation;
  if (category == "cuda_runtime" || category == "cuda_driver") return RangeKind::kLaunch;
  if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") return RangeKind::kKernel;
  return std::nullopt;
}

std::int64_t to_whole_ns(double us) { return static_cast<std::int64_t>(std::llround(1000 * us)); }

bool is_on_gpu(RangeKind kind) { return kind == RangeKind::kKernel || kind == RangeKind::kLaunch; }

/// Reads the arguments. PyTorch writes the annotation that a captured graph's kernel was captured with as `name`.
void read_arguments(const JsonValue& event, TraceRange& range) {
  range.name = {};
  const auto arguments = arguments_of(event);
  if (!arguments) return;
  range.correlation = integer_at(*arguments, "correlation").value_or(-1);
  if (range.kind != RangeKind::kLaunch && integer_at(*arguments, "graph node id").value_or(0) != 0) {
    range.name = text_at(*arguments, "name");
  }
}

/// Its name is a view of the document.
std::optional<TraceRange> range_of(const JsonValue& event, std::int64_t base_ns) {
  if (text_at(event, "ph") != "X") return std::nullopt;
  const auto kind = kind_of(text_at(event, "cat"), text_at(event, "name"));
  if (!kind) return std::nullopt;
  TraceRange range;
  range.name = event.at("name").text();
  range.kind = *kind;
  range.thread = integer_at(event, "tid").value_or(0);
  range.start_ns = base_ns + to_whole_ns(event.at("ts").number(-kMostMicroseconds, kMostMicroseconds));
  range.end_ns = range.start_ns + to_whole_ns(event.at("dur").number(0, kMostMicroseconds));
  if (is_on_gpu(range.kind)) {
    if (is_message_kernel(range.name)) range.kind = RangeKind::kMessageKernel;
    read_arguments(event, range);
  }
  return range;
}

/// "rank 3", "RANK 3 - CPU", "[Rank 03]": the number behind the word; nothing elsewhere.
std::optional<std::int32_t> rank_in(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t word = lower.find("rank");
  if (word == std::string::npos) return std::nullopt;
  const std::size_t digits = lower.find_first_not_of(" _-:#", word + 4);
  if (digits == std::string::npos) return std::nullopt;
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(lower.data() + digits, lower.data() + lower.size(), rank);
  if (error != std::errc{} || rank < 0 || rank >= kMostRanks) return std::nullopt;
  return rank;
}

/// Which rank each event of a merged file is of.
class MergedRanks {
 public:
  explicit MergedRanks(const JsonValue& events) {
    for (const JsonValue& event : events.elements()) {
      const auto process = event.find("pid");
      if (!process) continue;
      if (process->is_integer() && text_at(event, "ph") == "X") processes_.insert(process->integer());
      if (text_at(event, "ph") == "M") read_name(event, *process);
    }
    numbered_ = processes_.size() > 1 && *processes_.begin() == 0 &&
                *processes_.rbegin() == static_cast<std::int64_t>(processes_.size()) - 1;
  }

  std::optional<std::int32_t> of(const JsonValue& event) const {
    if (const auto arguments = arguments_of(event)) {
      const auto rank = integer_at(*arguments, "rank");
      if (rank && *rank >= 0 && *rank < kMostRanks) return static_cast<std::int32_t>(*rank);
    }
    const auto process = event.find("pid");
    if (!process) return std::nullopt;
    const auto named = named_.find(key_of(*process));
    if (named != named_.end()) return named->second;
    if (process->is_string()) return rank_in(process->text());
    if (numbered_ && named_.empty() && process->is_integer()) return static_cast<std::int32_t>(process->integer());
    return std::nullopt;
  }

 private:
  static std::string key_of(const JsonValue& process) {
    if (process.is_string()) return std::string(process.text());
    return process.is_integer() ? std::to_string(process.integer()) : std::string{};
  }

  void read_name(const JsonValue& event, const JsonValue& process) {
    const std::string_view name = text_at(event, "name");
    if (name != "process_name" && name != "process_labels") return;
    const auto arguments = arguments_of(event);
    if (!arguments) return;
    const auto rank = rank_in(text_at(*arguments, name == "process_name" ? "name" : "labels"));
    if (rank) named_.emplace(key_of(process), *rank);
  }

  std::map<std::string, std::int32_t> named_;  ///< by process
  std::set<std::int64_t> processes_;
  bool numbered_ = false;  ///< processes are 0, 1, 2 ...
};

std::vector<RankTrace> read_merged(const JsonValue& events, const std::string& file_name, std::int64_t base_ns) {
  const MergedRanks ranks(events);
  std::map<std::int32_t, RankTrace> traces;
  TraceNames names;
  for (const JsonValue& event : events.elements()) {
    auto range = range_of(event, base_ns);
    if (!range) continue;
    const auto rank = ranks.of(event);
    if (!rank) {
      throw Error(file_name +
                  ": does not say which rank it is, expected distributedInfo with rank and world_size, which PyTorch's "
                  "profiler writes in a process group, or, in a merged file, an argument 'rank' of every event or "
                  "process names like 'rank 3'");
    }
    range->name = names.kept(range->name);
    traces[*rank].ranges.push_back(*range);
  }
  const std::int32_t world = traces.empty() ? 0 : traces.rbegin()->first + 1;
  std::vector<RankTrace> list;
  for (auto& [rank, trace] : traces) {
    trace.file = file_name + " (rank " + std::to_string(rank) + ")";
    trace.rank = rank;
    trace.world_size = world;
    trace.names = names;
    list.push_back(std::move(trace));
  }
  if (list.empty()) {
    throw Error(file_name + ": has no ranges of a host or a GPU, expected a trace of PyTorch's profiler");
  }
  return list;
}

/// Counts in the pipeline's group where the trace names it, as a device mesh with the dimension "pp" does, and
/// Megatron-LM.
void count_in_pipeline(const JsonValue& job, RankTrace& trace) {
  const auto groups = job.find("pg_config");
  if (!groups || !groups->is_array()) return;
  for (const JsonValue& group : groups->elements()) {
    if (!group.is_object()) continue;
    const std::string_view name = text_at(group, "pg_desc");
    const bool megatron = name == "PIPELINE_MODEL_PARALLEL_GROUP";
    if (name != "mesh_pp" && !megatron) continue;
    if (megatron) trace.runtime = "megatron";
    const auto ranks = group.find("ranks");
    if (!ranks || !ranks->is_array()) continue;
    std::int32_t place = -1;
    std::int32_t size = 0;
    std::string names;
    for (const JsonValue& rank : ranks->elements()) {
      if (!rank.is_integer()) return;
      if (rank.integer() == trace.rank) place = size;
      names += (names.empty() ? "" : ", ") + std::to_string(rank.integer());
      ++size;
    }
    if (place < 0 || size < 2) continue;
    trace.rank = place;
    trace.world_size = size;
    trace.group = names;
    return;
  }
}

RankTrace read_one(const JsonValue& events, const JsonValue& job, const std::string& file_name, std::int64_t base_ns) {
  RankTrace trace;
  trace.file = file_name;
  trace.world_size = static_cast<std::int32_t>(job.at("world_size").integer(1, kMostRanks));
  trace.rank = static_cast<std::int32_t>(job.at("rank").integer(0, trace.world_size - 1));
  if (const auto backend = job.find("backend")) trace.backend = backend->text();
  count_in_pipeline(job, trace);
  for (const JsonValue& event : events.elements()) {
    auto range = range_of(event, base_ns);
    if (!range) continue;
    range->name = trace.names.kept(range->name);
    trace.ranges.push_back(*range);
  }
  return trace;
}

}  // namespace

bool is_kineto(std::string_view text) { return holds_words(text, "\"traceEvents\""); }

std::vector<RankTrace> read_kineto(std::string text, const std::string& file_name) {
  const JsonDocument document(std::move(text), file_name);
  const JsonValue root = document.root();
  if (!root.is_object()) root.fail_expected("an object with traceEvents and distributedInfo");
  std::int64_t base_ns = 0;
  if (const auto base = root.find("baseTimeNanoseconds")) base_ns = base->integer(0, kMostBaseNs);
  const JsonValue events = root.at("traceEvents");
  const auto job = root.find("distributedInfo");
  std::vector<RankTrace> traces;
  if (job) {
    traces.push_back(read_one(events, *job, file_name, base_ns));
  } else {
    traces = read_merged(events, file_name, base_ns);
  }
  for (RankTrace& trace : traces) sort_ranges(trace);
  return traces;
}

}  // namespace plumb
