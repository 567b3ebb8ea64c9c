#include "tools/devices/nccl_tests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr double kLeastBytes = 1024;  // below it, latencies alone are measured, with a spread of their own
constexpr double kMostBytes = 1e15;
constexpr std::array<std::pair<std::string_view, CollectiveOp>, 5> kNcclTests{
    {{"all_reduce", CollectiveOp::kAllReduce},
     {"all_gather", CollectiveOp::kAllGather},
     {"reduce_scatter", CollectiveOp::kReduceScatter},
     {"alltoall", CollectiveOp::kAllToAll},
     {"broadcast", CollectiveOp::kBroadcast}}};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Returns the line without what mpirun or srun put before it.
std::string_view without_prefix(std::string_view line) {
  const std::size_t tag = line.find("<stdout>:");
  if (tag != std::string_view::npos) return line.substr(tag + 9);
  const std::size_t digits = line.find_first_not_of(" 0123456789");
  if (digits != std::string_view::npos && digits > 0 && line[digits] == ':') return line.substr(digits + 1);
  return line;
}

/// A line of numbers: size, count, type, [reduction, root,] then time, algbw, busbw, #wrong for each of two buffers.
struct TestRow {
  std::size_t line = 0;
  double bytes = 0;
  std::string_view reduction;
  double micros = 0;
  double algorithm_gb = 0;
  double bus_gb = 0;
};

/// Reads the output line by line.
class NcclReader {
 public:
  NcclReader(std::string_view text, const std::string& file_name) : file_name_(file_name) {
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      read_line(without_prefix(text.substr(0, end)), line);
      text.remove_prefix(std::min(text.size(), end + 1));
    }
    if (hosts_.empty()) throw Error(file_name + ": no line '#  Rank ... on HOST device ...', expected one per rank");
    if (rows_.empty()) throw Error(file_name + ": no line of numbers with size, time, algbw and busbw");
  }

  NcclTestRun run(std::optional<CollectiveOp> op) const {
    NcclTestRun run{.device = device_, .ranks = ranks_, .nodes = static_cast<std::int64_t>(hosts_.size()), .timed = {}};
    if (ranks_ < 2) throw Error(file_name_ + ": 1 rank, expected at least 2");
    for (const TestRow& row : rows_) {
      const CollectiveOp which = op ? *op : stated_op_ ? *stated_op_ : guess(row);
      check(row, which);
      if (row.bytes >= kLeastBytes && row.micros > 0) {
        run.timed.push_back({which, run.ranks, run.nodes, row.bytes, row.micros * 1e-6});
      }
    }
    if (run.timed.empty()) throw Error(file_name_ + ": no message of at least 1024 bytes, expected some");
    return run;
  }

 private:
  void read_line(std::string_view line, std::size_t number) {
    if (line.find("Collective test starting:") != std::string_view::npos) {
      for (const auto& [name, op] : kNcclTests) {
        if (line.find(name) != std::string_view::npos) stated_op_ = op;
      }
      return;
    }
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() > 2 && words[0] == "#" && words[1] == "Rank") return read_rank(line, words);
    if (words.size() >= 7 && words[0] != "#") read_row(words, number);
  }

  /// "#  Rank  0 Group  0 Pid 123 on HOST device  0 [0000:05:00] NAME"
  void read_rank(std::string_view line, const std::vector<std::string_view>& words) {
    const auto on = std::ranges::find(words, "on");
    if (on == words.end() || on + 1 == words.end()) return;
    hosts_.emplace(*(on + 1));
    ++ranks_;
    const std::size_t bracket = line.find("] ");
    if (device_.empty() && bracket != std::string_view::npos) {
      device_ = line.substr(bracket + 2);
      while (!device_.empty() && (device_.back() == ' ' || device_.back() == '\r')) device_.pop_back();
    }
  }

  void read_row(const std::vector<std::string_view>& words, std::size_t line) {
    const std::optional<double> bytes = number_of(words[0]);
    if (!bytes || *bytes < 0 || *bytes > kMostBytes || !number_of(words[1]) || number_of(words[2])) return;
    TestRow row{.line = line, .bytes = *bytes, .reduction = {}};
    std::size_t at = 3;
    if (!number_of(words[at])) row.reduction = words[at++];
    const std::size_t rest = words.size() - at;
    if (rest % 4 == 1) ++at;           // the root, where there is one, stands before the four numbers of each buffer
    constexpr std::size_t kWide = 16;  // with minimum, maximum and two more of single iterations
    const std::size_t step = rest >= kWide ? 8 : 4;
    for (std::size_t begin = at; begin + 2 < words.size(); begin += step) {
      const auto micros = number_of(words[begin]);
      const auto algorithm = number_of(words[begin + 1]);
      const auto bus = number_of(words[begin + 2]);
      if (!micros || !algorithm || !bus || *micros <= 0) break;
      if (row.micros == 0 || *micros < row.micros) {
        row.micros = *micros;
        row.algorithm_gb = *algorithm;
        row.bus_gb = *bus;
      }
    }
    if (row.micros == 0) {
      throw Error(where(row) + ": expected time, algbw and busbw behind size, count and type");
    }
    rows_.push_back(row);
  }

  std::string where(const TestRow& row) const { return file_name_ + ":" + std::to_string(row.line); }

  double passes(CollectiveOp op) const {
    if (op == CollectiveOp::kBroadcast) return 1;
    const auto ranks = static_cast<double>(ranks_);
    return (op == CollectiveOp::kAllReduce ? 2 : 1) * (ranks - 1) / ranks;
  }

  CollectiveOp guess(const TestRow& row) const {
    constexpr double kPrecise = 1;  // GB/s from which two decimals tell
    for (const TestRow& precise : rows_) {
      if (precise.algorithm_gb < kPrecise) continue;
      const double ratio = precise.bus_gb / precise.algorithm_gb;
      if (ranks_ > 2 && std::abs(ratio - passes(CollectiveOp::kAllReduce)) < 0.02) return CollectiveOp::kAllReduce;
      if (std::abs(ratio - passes(CollectiveOp::kReduceScatter)) < 0.02 && precise.reduction == "sum") {
        return CollectiveOp::kReduceScatter;
      }
    }
    throw Error(where(row) +
                ": which test printed this is not said, expected '# Collective test starting: all_reduce_perf' before "
                "it, or --op NAME");
  }

  /// The printed bus bandwidth is that of size, time and ranks.
  void check(const TestRow& row, CollectiveOp op) const {
    const double own = passes(op) * row.bytes / row.micros * 1e-3;
    if (row.bus_gb < 1 || std::abs(own - row.bus_gb) <= 0.02 * row.bus_gb + 0.01) return;
    throw Error(where(row) + ": busbw " + std::to_string(row.bus_gb) + " GB/s, expected " + std::to_string(own) +
                " of this size, time, test and " + std::to_string(ranks_) + " ranks");
  }

  std::string file_name_;
  std::optional<CollectiveOp> stated_op_;
  std::set<std::string, std::less<>> hosts_;
  std::int64_t ranks_ = 0;
  std::string device_;
  std::vector<TestRow> rows_;
};

}  // namespace

bool is_nccl_test_output(std::string_view text) {
  return text.find("busbw") != std::string_view::npos && text.find("algbw") != std::string_view::npos;
}

NcclTestRun nccl_test_run(std::string_view text, const std::string& file_name, std::optional<CollectiveOp> op) {
  return NcclReader(text, file_name).run(op);
}

CollectiveOp collective_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [known, op] : kNcclTests) {
    if (name == known) return op;
    names.push_back(known);
  }
  throw_unknown("collective", name, names);
}

}  // namespace plumb
