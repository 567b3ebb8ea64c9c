#include "sim/traces/readers/pp_dumps.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "sim/traces/readers/words_of_file.hpp"
#include "sim/traces/readers/work_order.hpp"

namespace plumb {
namespace {

constexpr std::int32_t kMostSize = 1 << 15;
constexpr double kMostMs = 1e12;

std::int64_t whole_ns(double ms) { return static_cast<std::int64_t>(std::llround(1e6 * ms)); }

/// Ranks and chunks of a pipeline, and its microbatches.
struct PipelineSize {
  std::int32_t ranks = 0;
  std::int32_t chunks = 1;
  std::int32_t microbatches = 0;
};

std::optional<std::int32_t> whole_number(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0 || number >= kMostSize)
    return std::nullopt;
  return number;
}

/// Returns the number behind the last `key` of a file's name.
std::int32_t number_in_name(std::string_view file_name, std::string_view key, std::string_view expected) {
  const std::string_view name = file_name.substr(file_name.rfind('/') + 1);
  const std::size_t at = name.rfind(key);
  if (at != std::string_view::npos) {
    const std::string_view rest = name.substr(at + key.size());
    const auto number = whole_number(rest.substr(0, rest.find_first_not_of("0123456789")));
    if (number) return *number;
  }
  throw Error(std::string(file_name) + ": does not tell its rank by its name, expected " + std::string(expected));
}

Action stage_action(const PipelineSize& size, std::int32_t rank, Op op, std::int32_t chunk, std::int32_t microbatch) {
  return {.stage = StageId{chunk * size.ranks + rank}, .microbatch = MicrobatchId{microbatch}, .op = op};
}

/// Returns a list of one iteration of Primus ("fwd_start"); empty where there is none.
std::vector<JsonValue> list_of(const JsonValue& iteration, std::string_view series, std::string_view part) {
  const auto list = iteration.find(std::string(series) + "_" + std::string(part));
  std::vector<JsonValue> values;
  if (!list) return values;
  for (const JsonValue& value : list->elements()) values.push_back(value);
  return values;
}

class PrimusReader {
 public:
  explicit PrimusReader(const JsonValue& config) {
    const auto either = [&](std::string_view name, std::string_view older) {
      return config.find(name) ? config.at(name) : config.at(older);
    };
    size_.ranks = static_cast<std::int32_t>(config.at("pp_size").integer(1, kMostSize));
    size_.chunks = static_cast<std::int32_t>(either("vp_size", "vpp_size").integer(1, kMostSize));
    size_.microbatches = static_cast<std::int32_t>(either("num_mbs", "micro_batches").integer(1, kMostSize));
  }

  RankRun read(const JsonValue& root, std::string_view file_name) {
    RankRun run;
    run.file = file_name;
    run.rank = number_in_name(file_name, "pp_rank_", "a name like pp_rank_3.json");
    run.world_size = size_.ranks;
    run.stages = size_.ranks * size_.chunks;
    run.own_zeros = true;
    run.numbers_chunks = size_.chunks > 1;
    run.runtime = "megatron";
    if (run.rank >= size_.ranks) {
      throw Error(run.file + ": is of rank " + std::to_string(run.rank) + ", but config.json says that there are " +
                  std::to_string(size_.ranks));
    }
    for (const JsonValue::Member& iteration : root.members()) {
      if (!whole_number(iteration.key)) iteration.value.fail("expected the number of an iteration as key");
      read_iteration(iteration.value, run);
      ++run.steps;
    }
    if (run.steps == 0) root.fail("has no iterations");
    put_device_in_order(run);
    return run;
  }

 private:
  void read_iteration(const JsonValue& iteration, RankRun& run) const {
    const std::size_t first = run.work.size();
    const bool splits = !list_of(iteration, "wgrad", "start").empty();
    read_series(iteration, "fwd", Op::kF, run);
    read_series(iteration, "bwd", splits ? Op::kI : Op::kB, run);
    if (splits) read_series(iteration, "wgrad", Op::kW, run);
    std::stable_sort(run.work.begin() + static_cast<std::ptrdiff_t>(first), run.work.end(),
                     [](const TracedAction& a, const TracedAction& b) { return a.start_ns < b.start_ns; });
    const auto of_one_call = [](const TracedAction& a, const TracedAction& b) {
      return a.start_ns == b.start_ns && a.end_ns == b.end_ns && a.end_ns > a.start_ns;
    };
    if (std::adjacent_find(run.work.begin() + static_cast<std::ptrdiff_t>(first), run.work.end(), of_one_call) !=
        run.work.end()) {
      iteration.fail(
          "has a forward and a backward with the same times, so how long each took is not known; expected a "
          "run that does not combine them in one call");
    }
  }

  void read_series(const JsonValue& iteration, std::string_view series, Op op, RankRun& run) const {
    const std::vector<JsonValue> starts = list_of(iteration, series, "start");
    const std::vector<JsonValue> ends = list_of(iteration, series, "end");
    std::vector<JsonValue> numbers = list_of(iteration, series, "minibatch");
    const std::vector<JsonValue> chunks = list_of(iteration, series, "chunk");
    const auto expected = static_cast<std::size_t>(size_.microbatches) * static_cast<std::size_t>(size_.chunks);
    const auto fits = [&](const std::vector<JsonValue>& names) { return names.empty() || names.size() == expected; };
    if (starts.size() != expected || ends.size() != expected || !fits(numbers) || !fits(chunks)) {
      iteration.fail("expected " + std::to_string(expected) + " times in " + std::string(series) + "_start and _end (" +
                     std::to_string(size_.microbatches) + " microbatches of " + std::to_string(size_.chunks) +
                     " chunks), found " + std::to_string(starts.size()) + " and " + std::to_string(ends.size()));
    }
    if (numbers.empty() && size_.chunks > 1 && size_.microbatches % size_.ranks != 0) {
      iteration.fail("names no microbatches; expected as many as a multiple of the ranks, or " + std::string(series) +
                     "_minibatch");
    }
    if (op == Op::kW && numbers.empty()) numbers = numbers_of_queue(iteration);
    for (std::size_t k = 0; k < expected; ++k) {
      auto [chunk, microbatch] = nth(static_cast<std::int32_t>(k), op != Op::kF);
      if (!chunks.empty()) chunk = static_cast<std::int32_t>(chunks[k].integer(0, size_.chunks - 1));
      if (!numbers.empty()) microbatch = static_cast<std::int32_t>(numbers[k].integer(0, size_.microbatches - 1));
      const double start = starts[k].number(-kMostMs, kMostMs);
      const std::int64_t end = whole_ns(ends[k].number(start, kMostMs));
      run.work.push_back(
          {stage_action(size_, run.rank, op, chunk, microbatch), run.steps, whole_ns(start), whole_ns(start), end});
    }
  }

  /// Weight gradients of a rank wait in one queue by chunk; with one chunk they come in the order of the backwards.
  std::vector<JsonValue> numbers_of_queue(const JsonValue& iteration) const {
    if (size_.chunks > 1)
      iteration.fail("names no microbatches of weight gradients; expected wgrad_minibatch and wgrad_chunk");
    return list_of(iteration, "bwd", "minibatch");  // as many, they were read before
  }

  /// Chunk and microbatch of the k-th forward or backward of a rank of Megatron-LM.
  std::pair<std::int32_t, std::int32_t> nth(std::int32_t k, bool backward) const {
    if (size_.chunks == 1) return {0, k};
    const std::int32_t round = k / (size_.ranks * size_.chunks);
    const std::int32_t in_round = k % (size_.ranks * size_.chunks);
    const std::int32_t chunk = in_round / size_.ranks;
    return {backward ? size_.chunks - 1 - chunk : chunk, round * size_.ranks + in_round % size_.ranks};
  }

  PipelineSize size_;
};

/// "forward-7-start", "backward-1-7-end" in its parts.
struct TimerKey {
  bool backward = false;
  std::int32_t chunk = 0;
  std::int32_t microbatch = 0;
  bool end = false;
};

std::optional<TimerKey> timer_key(std::string_view key) {
  TimerKey parts;
  parts.backward = key.starts_with("backward-");
  if (!parts.backward && !key.starts_with("forward-")) return std::nullopt;
  parts.end = key.ends_with("-end");
  if (!parts.end && !key.ends_with("-start")) return std::nullopt;
  key.remove_prefix(key.find('-') + 1);
  key = key.substr(0, key.rfind('-'));
  const std::size_t dash = key.find('-');
  const auto last = whole_number(key.substr(dash == std::string_view::npos ? 0 : dash + 1));
  const auto chunk = dash == std::string_view::npos ? std::optional(0) : whole_number(key.substr(0, dash));
  if (!last || !chunk) return std::nullopt;
  parts.chunk = *chunk;
  parts.microbatch = *last;
  return parts;
}

constexpr std::string_view kTimerName = "a name like event_times_PP4_VPP1_TPxCPxDP_rank_0_pp_rank_3_rank_3.json";

RankRun read_timers(const JsonValue& root, std::string_view file_name) {
  RankRun run;
  run.file = file_name;
  PipelineSize size;
  size.ranks = number_in_name(file_name, "event_times_PP", kTimerName);
  size.chunks = number_in_name(file_name, "_VPP", kTimerName);
  run.rank = number_in_name(file_name, "_pp_rank_", kTimerName);
  run.world_size = size.ranks;
  run.stages = size.ranks * size.chunks;
  run.steps = 1;
  run.own_zeros = true;
  run.numbers_chunks = size.chunks > 1;
  run.runtime = "megatron";
  if (run.rank >= size.ranks)
    throw Error(run.file + ": names rank " + std::to_string(run.rank) + " of " + std::to_string(size.ranks));
  for (const JsonValue::Member& member : root.members()) {
    const auto key = timer_key(member.key);
    if (!key || key->end) continue;
    if (key->chunk >= size.chunks)
      member.value.fail("is of chunk " + std::to_string(key->chunk) + " of " + std::to_string(size.chunks));
    const std::string end_key = std::string(member.key.substr(0, member.key.size() - 5)) + "end";
    const double start = member.value.number(-kMostMs, kMostMs);
    const double end = root.at(end_key).number(start, kMostMs);
    run.work.push_back({stage_action(size, run.rank, key->backward ? Op::kB : Op::kF, key->chunk, key->microbatch), 0,
                        whole_ns(start), whole_ns(start), whole_ns(end)});
  }
  std::ranges::stable_sort(run.work, {}, &TracedAction::start_ns);
  put_device_in_order(run);
  return run;
}

}  // namespace

bool is_pp_dump(std::string_view text) {
  const auto has = [&](std::string_view key) { return holds_words(text, key); };
  return has("\"fwd_start\"") || has("\"forward-0-") ||
         (has("\"pp_size\"") && (has("\"train_iters\"") || has("\"micro_batches\"")));
}

std::vector<RankRun> read_pp_dumps(std::span<const DumpText> files) {
  std::vector<JsonDocument> documents;
  std::optional<PrimusReader> primus;
  for (const DumpText& file : files) {
    documents.emplace_back(std::string(file.text), std::string(file.file_name));
    const JsonValue root = documents.back().root();
    if (!root.is_object()) root.fail_expected("an object of times");
    if (!root.find("pp_size")) continue;
    if (primus) root.fail("is a second config.json");
    primus.emplace(root);
  }
  std::vector<RankRun> runs;
  for (std::size_t at = 0; at < files.size(); ++at) {
    const JsonValue root = documents[at].root();
    if (root.find("pp_size")) continue;
    if (root.find("forward-0-start") || root.find("forward-0-0-start")) {
      runs.push_back(read_timers(root, files[at].file_name));
      continue;
    }
    if (!primus) root.fail("is a rank of Primus's dump; expected config.json of the same folder, too");
    runs.push_back(primus->read(root, files[at].file_name));
  }
  if (runs.empty())
    throw Error(std::string(files.front().file_name) +
                ": says how large a pipeline is; expected its ranks' files, too");
  return runs;
}

}  // namespace plumb
