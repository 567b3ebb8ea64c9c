#include "sim/traces/kineto.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"

namespace plumb {
namespace {

constexpr std::int32_t kMostRanks = 1 << 20;
/// A hundred years; so that sums of two fit in 64 bits as nanoseconds.
constexpr double kMostMicroseconds = 3.2e15;
constexpr std::int64_t kMostBaseNs = 4'000'000'000'000'000'000;

std::optional<RangeKind> kind_of(std::string_view category) {
  if (category == "user_annotation") return RangeKind::kAnnotation;
  if (category == "cpu_op") return RangeKind::kOperator;
  if (category == "gpu_user_annotation") return RangeKind::kGpuAnnotation;
  return std::nullopt;
}

std::int64_t to_whole_ns(double us) { return static_cast<std::int64_t>(std::llround(1000 * us)); }

std::optional<TraceRange> range_of(const JsonValue& event, std::int64_t base_ns) {
  const auto phase = event.find("ph");
  if (!phase || !phase->is_string() || phase->text() != "X") return std::nullopt;
  const auto category = event.find("cat");
  const auto kind = category && category->is_string() ? kind_of(category->text()) : std::nullopt;
  if (!kind) return std::nullopt;
  TraceRange range;
  range.name = event.at("name").text();
  range.kind = *kind;
  if (const auto thread = event.find("tid"); thread && thread->is_integer()) range.thread = thread->integer();
  range.start_ns = base_ns + to_whole_ns(event.at("ts").number(-kMostMicroseconds, kMostMicroseconds));
  range.end_ns = range.start_ns + to_whole_ns(event.at("dur").number(0, kMostMicroseconds));
  return range;
}

}  // namespace

RankTrace read_kineto(std::string text, const std::string& file_name) {
  const JsonDocument document(std::move(text), file_name);
  const JsonValue root = document.root();
  if (!root.is_object()) root.fail_expected("an object with traceEvents and distributedInfo");
  RankTrace trace;
  trace.file = file_name;
  const auto job = root.find("distributedInfo");
  if (!job) {
    throw Error(file_name +
                ": does not say which rank it is, expected distributedInfo with rank and world_size, which PyTorch's "
                "profiler writes in a process group");
  }
  trace.world_size = static_cast<std::int32_t>(job->at("world_size").integer(1, kMostRanks));
  trace.rank = static_cast<std::int32_t>(job->at("rank").integer(0, trace.world_size - 1));
  if (const auto backend = job->find("backend")) trace.backend = backend->text();
  std::int64_t base_ns = 0;
  if (const auto base = root.find("baseTimeNanoseconds")) base_ns = base->integer(0, kMostBaseNs);
  for (const JsonValue& event : root.at("traceEvents").elements()) {
    if (auto range = range_of(event, base_ns)) trace.ranges.push_back(std::move(*range));
  }
  std::ranges::sort(trace.ranges, {}, [](const TraceRange& r) { return std::tuple(r.start_ns, -r.end_ns, r.thread); });
  return trace;
}

}  // namespace plumb
