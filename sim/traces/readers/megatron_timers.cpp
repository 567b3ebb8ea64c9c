#include "sim/traces/readers/megatron_timers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/lanes/metrics.hpp"
#include "sim/traces/readers/words_of_file.hpp"

namespace plumb {
namespace {

constexpr std::string_view kHeader = "times across ranks (ms):";
constexpr std::string_view kMinMaxHeader = "time across ranks (ms):";
constexpr std::int32_t kMostTimedRanks = 1 << 20;
constexpr double kMostTimerMs = 1e12;

using RankTimes = std::map<std::int32_t, double>;  ///< ms by rank
using Timers = std::map<std::string, RankTimes, std::less<>>;

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return line;
}

/// "     rank  3: 12.34", with any prefix.
std::optional<std::pair<std::int32_t, double>> rank_time(std::string_view line) {
  const std::size_t word = line.rfind("rank ");
  if (word == std::string_view::npos) return std::nullopt;
  line = trimmed(line.substr(word + 5));
  std::int32_t rank = 0;
  const auto [colon, error] = std::from_chars(line.data(), line.data() + line.size(), rank);
  if (error != std::errc{} || rank < 0 || rank >= kMostTimedRanks) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(colon - line.data()));
  if (!line.starts_with(": ")) return std::nullopt;
  line = trimmed(line.substr(2));
  double ms = 0;
  const auto [end, wrong] = std::from_chars(line.data(), line.data() + line.size(), ms);
  if (wrong != std::errc{} || end != line.data() + line.size() || !(ms >= 0 && ms <= kMostTimerMs)) return std::nullopt;
  return std::pair(rank, ms);
}

/// "  forward-compute:", with any prefix; empty for other lines.
std::string_view timer_name(std::string_view line) {
  line = trimmed(line);
  if (!line.ends_with(':')) return {};
  line.remove_suffix(1);
  return line.substr(line.rfind(' ') + 1);
}

Ticks whole_ticks(double ms) { return static_cast<Ticks>(std::llround(1e6 * ms)); }

const RankTimes& timer_of(const Timers& timers, std::string_view name, const std::string& where) {
  const auto found = timers.find(name);
  if (found == timers.end()) {
    throw Error(where + ": has no timer " + std::string(name) +
                ", expected a run of a pipeline with --timing-log-level 2 --timing-log-option all");
  }
  return found->second;
}

Timeline timeline_of(const Timers& timers, const std::string& where) {
  Timeline timeline;
  timeline.kind = Timeline::Kind::kMeasured;
  timeline.schedule = "traced run";
  for (const auto& [rank, ms] : timer_of(timers, "forward-backward", where)) {
    timeline.makespan = std::max(timeline.makespan, whole_ticks(ms));
  }
  const RankTimes& forward = timer_of(timers, "forward-compute", where);
  const RankTimes& backward = timer_of(timers, "backward-compute", where);
  std::int32_t expected = 0;
  for (const auto& [rank, ms] : forward) {
    const auto other = backward.find(rank);
    if (rank != expected++ || other == backward.end()) {
      throw Error(where + ": has no forward-compute and backward-compute of rank " + std::to_string(expected - 1) +
                  ", expected those of all ranks");
    }
    DeviceSummary device;
    device.busy = device.useful = whole_ticks(ms) + whole_ticks(other->second);
    device.last_end = timeline.makespan;
    if (device.busy > timeline.makespan) {
      throw Error(where + ": rank " + std::to_string(rank) +
                  " computes longer than the longest forward-backward, expected timers of the same steps");
    }
    timeline.devices.push_back(device);
  }
  timeline.machine = "timed by Megatron-LM, " + std::to_string(timeline.devices.size()) + " ranks";
  fill_metrics(timeline, {}, false, {});
  return timeline;
}

/// Line by line: a header, then names and the times of their ranks.
class TimerLog {
 public:
  TimerLog(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  std::vector<Timeline> read() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      read_line(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
    }
    finish();
    return std::move(timelines_);
  }

 private:
  std::string here() const { return file_ + ":" + std::to_string(line_); }

  void read_line(std::string_view line) {
    ++line_;
    const bool header = line.find(kHeader) != std::string_view::npos;
    if (!header && line.find(kMinMaxHeader) != std::string_view::npos) {
      throw Error(here() + ": gives the timers of no rank, expected a run with --timing-log-option all");
    }
    if (header) {
      finish();
      begin_ = here();
    } else if (!begin_.empty()) {
      read_timer(line);
    }
  }

  void read_timer(std::string_view line) {
    if (const auto time = rank_time(line)) {
      if (!name_.empty()) timers_[name_].insert(*time);
    } else if (const std::string_view name = timer_name(line); !name.empty()) {
      name_ = name;
    } else {
      finish();
    }
  }

  /// A block without the timers of a pipeline (of loading, of saving) is none of a step.
  void finish() {
    if (timers_.contains("forward-backward")) timelines_.push_back(timeline_of(timers_, begin_));
    timers_.clear();
    name_.clear();
    begin_.clear();
  }

  std::string_view rest_;
  std::string file_;
  std::size_t line_ = 0;
  std::string begin_;  ///< begin of the block that is read; empty outside of one
  std::string name_;
  Timers timers_;
  std::vector<Timeline> timelines_;
};

}  // namespace

bool is_timer_log(std::string_view text) { return holds_words(text, kHeader) || holds_words(text, kMinMaxHeader); }

std::vector<Timeline> read_timer_log(std::string_view text, std::string_view file_name) {
  std::vector<Timeline> timelines = TimerLog(text, std::string(file_name)).read();
  if (timelines.empty()) {
    throw Error(std::string(file_name) +
                ": has no timer forward-backward, expected a run of a pipeline with --timing-log-level 2 "
                "--timing-log-option all");
  }
  return timelines;
}

}  // namespace plumb
