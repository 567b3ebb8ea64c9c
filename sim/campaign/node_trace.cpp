#include "sim/campaign/node_trace.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"

namespace plumb {
namespace {

/// Longest time that a trace may name: a hundred years.
constexpr std::int64_t kMostMilliseconds = 100LL * 366 * 24 * 3600 * 1000;
constexpr std::int64_t kMostNodes = 100'000;
constexpr std::size_t kMostEvents = 4'000'000;

/// Reads the lines of a trace and refuses what cannot be.
class TraceLines {
 public:
  explicit TraceLines(const std::string& file) : file_(file) {}

  void take(std::string_view line) {
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) return;
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() < 3) fail("expected milliseconds,add|remove,node or milliseconds,slow,node,factor");
    NodeEvent event{.at_ns = milliseconds(cells[0]) * kNsPerMillisecond};
    if (!trace_.events.empty() && event.at_ns < trace_.events.back().at_ns) {
      fail("time runs backwards; expected at least that of the line before");
    }
    event.kind = kind(cells[1]);
    if (cells.size() != (event.kind == NodeEventKind::kSlow ? 4U : 3U)) {
      fail("expected 3 cells, or 4 of a slow one, found " + std::to_string(cells.size()));
    }
    event.node = node(cells[2], event.kind);
    if (event.kind == NodeEventKind::kSlow) event.factor = factor(cells[3]);
    trace_.events.push_back(event);
    if (trace_.events.size() > kMostEvents) fail("expected at most " + std::to_string(kMostEvents) + " events");
  }

  NodeTrace finish() {
    if (trace_.events.empty()) throw Error(file_ + ": expected at least one line milliseconds,add,node");
    return std::move(trace_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(file_ + ":" + std::to_string(line_) + ": " + message);
  }

  static std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    for (std::size_t comma = line.find(','); comma != std::string_view::npos; comma = line.find(',')) {
      cells.push_back(line.substr(0, comma));
      line.remove_prefix(comma + 1);
    }
    cells.push_back(line);
    return cells;
  }

  std::int64_t milliseconds(std::string_view cell) const {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (failed != std::errc{} || end != cell.data() + cell.size() || value < 0 || value > kMostMilliseconds) {
      fail("expected whole milliseconds from 0 on, found '" + std::string(cell) + "'");
    }
    return value;
  }

  NodeEventKind kind(std::string_view cell) const {
    if (cell == "add") return NodeEventKind::kAdd;
    if (cell == "remove") return NodeEventKind::kRemove;
    if (cell == "slow") return NodeEventKind::kSlow;
    fail("expected add, remove or slow, found '" + std::string(cell) + "'");
  }

  double factor(std::string_view cell) const {
    double value = 0;
    const auto [end, failed] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (failed != std::errc{} || end != cell.data() + cell.size() || !(value >= 0.01 && value <= 1000)) {
      fail("expected how much longer work takes, from 0.01 to 1000, found '" + std::string(cell) + "'");
    }
    return value;
  }

  std::int32_t node(std::string_view cell, NodeEventKind kind) {
    const auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < ' '; };
    if (cell.empty() || std::ranges::any_of(cell, is_control)) fail("expected the name of a node");
    const auto [found, is_new] = known_.emplace(std::string(cell), static_cast<std::int32_t>(known_.size()));
    if (is_new) trace_.names.emplace_back(cell);
    if (kind == NodeEventKind::kAdd) {
      if (!present_.insert(found->second).second) fail("'" + std::string(cell) + "' is there already");
      if (static_cast<std::int64_t>(present_.size()) > kMostNodes) {
        fail("expected at most " + std::to_string(kMostNodes) + " nodes at once");
      }
    } else if (!present_.contains(found->second)) {
      fail("'" + std::string(cell) + "' is not there; expected an add before");
    }
    if (kind == NodeEventKind::kRemove) present_.erase(found->second);
    return found->second;
  }

  const std::string& file_;
  std::size_t line_ = 0;
  NodeTrace trace_;
  std::map<std::string, std::int32_t> known_;
  std::set<std::int32_t> present_;
};

NodeTrace from_counts(const std::string& text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root = document.root();
  const double gap = root.at("metadata").at("gap_seconds").number(0.001, 1e7);
  NodeTrace trace;
  std::deque<std::int32_t> present;
  std::int64_t tick = 0;
  for (const JsonValue& count : root.at("data").elements()) {
    const std::int64_t wanted = count.integer(0, kMostNodes);
    const std::int64_t at = std::llround(static_cast<double>(tick++) * gap * 1e3) * kNsPerMillisecond;
    while (static_cast<std::int64_t>(present.size()) > wanted) {
      trace.events.push_back({.at_ns = at, .kind = NodeEventKind::kRemove, .node = present.front()});
      present.pop_front();
    }
    while (static_cast<std::int64_t>(present.size()) < wanted) {
      const auto node = static_cast<std::int32_t>(trace.names.size());
      trace.names.push_back("node" + std::to_string(node + 1));
      trace.events.push_back({.at_ns = at, .kind = NodeEventKind::kAdd, .node = node});
      present.push_back(node);
    }
    if (trace.events.size() > kMostEvents) root.at("data").fail("expected fewer changes");
  }
  if (trace.events.empty()) root.at("data").fail("expected a node at some tick");
  return trace;
}

}  // namespace

NodeTrace node_trace_from_text(const std::string& text, const std::string& file_name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return from_counts(text, file_name);
  TraceLines lines(file_name);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    lines.take(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return lines.finish();
}

std::string node_trace_to_text(const NodeTrace& trace) {
  std::string text;
  for (const NodeEvent& event : trace.events) {
    const std::string& name = trace.names[static_cast<std::size_t>(event.node)];
    const char* kind = event.kind == NodeEventKind::kAdd    ? "add"
                       : event.kind == NodeEventKind::kSlow ? "slow"
                                                            : "remove";
    text += std::to_string(event.at_ns / kNsPerMillisecond) + "," + kind + "," + name;
    if (event.kind == NodeEventKind::kSlow) {
      char digits[32];
      const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, event.factor);
      text += "," + std::string(digits, failed == std::errc{} ? end : digits);
    }
    text += "\n";
  }
  return text;
}

std::int32_t most_nodes_of(const NodeTrace& trace) {
  std::int32_t nodes = 0;
  std::int32_t most = 0;
  for (const NodeEvent& event : trace.events) {
    if (event.kind == NodeEventKind::kAdd) most = std::max(most, ++nodes);
    if (event.kind == NodeEventKind::kRemove) --nodes;
  }
  return most;
}

NodeTrace in_intervals(const NodeTrace& trace, std::int64_t interval_ns, std::int64_t& end_ns) {
  constexpr std::int64_t kSecond = 1000 * kNsPerMillisecond;
  NodeTrace result{.names = trace.names, .events = {}};
  std::int64_t number = -1;
  std::int64_t begin = 0;  // of the interval in the trace
  for (const NodeEvent& event : trace.events) {
    const std::int64_t at = event.at_ns / kSecond * kSecond;
    if (number < 0 || at != begin) {
      while (number >= 0 && begin + interval_ns < at) {
        begin += interval_ns;
        ++number;
      }
      begin = at;
      ++number;
    }
    NodeEvent moved = event;
    moved.at_ns = number * interval_ns;
    result.events.push_back(moved);
  }
  end_ns = (number + 1) * interval_ns;
  return result;
}

}  // namespace plumb
