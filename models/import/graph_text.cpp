#include "models/import/graph_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "models/ground/error.hpp"
#include "models/import/limits.hpp"

namespace plumb {
namespace {

constexpr std::string_view kSeparator = " -- ";
constexpr std::size_t kMostNodes = 100'000;
constexpr double kNsPerMs = 1e6;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// One line and where it stands.
struct Line {
  std::string where;
  std::string_view text;

  [[noreturn]] void fail(const std::string& message) const { throw Error(where + ": " + message); }

  double number(std::string_view digits, std::string_view key, double most) const {
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = error == std::errc{} && end == digits.data() + digits.size() && !digits.empty();
    if (!whole || !(value >= 0 && value <= most)) {
      fail(std::string(key) + ": expected a number from 0 to " + std::to_string(std::llround(most)) + ", found '" +
           std::string(digits) + "'");
    }
    return value;
  }

  /// Returns a number, or a list `[a; b]`, whose sum it is.
  double sum(std::string_view value, std::string_view key, double most) const {
    if (!value.starts_with('[')) return number(value, key, most);
    if (!value.ends_with(']')) fail(std::string(key) + ": expected ']' at the end of the list");
    std::string_view rest = value.substr(1, value.size() - 2);
    double total = 0;
    while (true) {
      const std::size_t next = rest.find(';');
      total += number(trimmed(rest.substr(0, next)), key, most);
      if (next == std::string_view::npos) return total;
      rest.remove_prefix(next + 1);
    }
  }
};

class GraphTextReader {
 public:
  GraphTextReader(std::string_view text, std::string_view file_name) : file_(file_name) {
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      read({file_ + ":" + std::to_string(number + 1), text.substr(begin, end - begin)});
      begin = end + 1;
    }
  }

  LayerGraph finish() {
    if (graph_.nodes.empty()) throw Error(file_ + ": has no nodes, expected lines 'id -- description -- figures'");
    for (const Line& line : edges_) add_edge(line);
    std::vector<bool> read(graph_.size(), false);
    for (const LayerEdge& edge : graph_.edges) read[static_cast<std::size_t>(edge.to)] = true;
    for (std::size_t k = 0; k < graph_.size(); ++k) {
      LayerNode& node = graph_.nodes[k];
      node.loads_data = !read[k] && node.name.starts_with("Input");
      node.stash_bytes = node.output_bytes;
    }
    put_in_order(graph_, file_);
    return std::move(graph_);
  }

 private:
  void read(const Line& line) {
    if (trimmed(line.text).empty()) return;
    if (line.text.front() == ' ' || line.text.front() == '\t') {
      edges_.push_back(line);
    } else {
      add_node(line);
    }
  }

  void add_node(const Line& line) {
    const std::size_t first = line.text.find(kSeparator);
    const std::size_t second = first == std::string_view::npos ? first : line.text.find(kSeparator, first + 4);
    if (second == std::string_view::npos) line.fail("expected 'id -- description -- figures'");
    std::string_view figures = line.text.substr(second + 4);
    if (const std::size_t third = figures.find(kSeparator); third != std::string_view::npos) {
      if (!trimmed(figures.substr(third + 4)).starts_with("stage_id=")) line.fail("expected 'stage_id=' at the end");
      figures = figures.substr(0, third);
    }
    LayerNode node;
    node.id = trimmed(line.text.substr(0, first));
    node.name = trimmed(line.text.substr(first + 4, second - first - 4));
    read_figures(line, figures, node);
    if (!position_.emplace(node.id, static_cast<std::int32_t>(graph_.size())).second) {
      line.fail("node '" + node.id + "' was described before, expected every id once");
    }
    if (graph_.size() == kMostNodes) line.fail("expected at most " + std::to_string(kMostNodes) + " nodes");
    graph_.nodes.push_back(std::move(node));
  }

  static void read_figures(const Line& line, std::string_view figures, LayerNode& node) {
    std::map<std::string_view, std::string_view> values;
    while (!figures.empty()) {
      const std::size_t comma = std::min(figures.find(", "), figures.size());
      const std::string_view item = trimmed(figures.substr(0, comma));
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos) line.fail("expected 'key=value', found '" + std::string(item) + "'");
      if (!values.emplace(item.substr(0, equals), item.substr(equals + 1)).second) {
        line.fail("'" + std::string(item.substr(0, equals)) + "' is given twice");
      }
      figures.remove_prefix(std::min(comma + 2, figures.size()));
    }
    const auto take = [&](std::string_view key, double most) {
      const auto found = values.find(key);
      if (found == values.end()) line.fail("missing '" + std::string(key) + "='");
      const double value = line.sum(found->second, key, most);
      values.erase(found);
      return value;
    };
    node.forward_ns = std::llround(take("forward_compute_time", kMostImportedMs) * kNsPerMs);
    node.backward_ns = std::llround(take("backward_compute_time", kMostImportedMs) * kNsPerMs);
    node.output_bytes = std::llround(take("activation_size", kMostImportedBytes));
    node.parameter_bytes = std::llround(take("parameter_size", kMostImportedBytes));
    if (!values.empty()) line.fail("unknown figure '" + std::string(values.begin()->first) + "'");
  }

  std::int32_t known(const Line& line, std::string_view id) const {
    const auto found = position_.find(std::string(id));
    if (found == position_.end()) line.fail("edge with unknown node '" + std::string(id) + "'");
    return found->second;
  }

  void add_edge(const Line& line) {
    const std::string_view text = trimmed(line.text);
    const std::size_t middle = text.find(kSeparator);
    if (middle == std::string_view::npos) line.fail("expected an edge 'id -- id', found '" + std::string(text) + "'");
    const std::int32_t from = known(line, trimmed(text.substr(0, middle)));
    const std::int32_t to = known(line, trimmed(text.substr(middle + 4)));
    graph_.edges.push_back({from, to, graph_.nodes[static_cast<std::size_t>(from)].output_bytes});
  }

  std::string file_;
  LayerGraph graph_;
  std::map<std::string, std::int32_t> position_;
  std::vector<Line> edges_;
};

std::string milliseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(ns / 1'000'000),
                static_cast<long long>(ns % 1'000'000));
  return text;
}

}  // namespace

LayerGraph layer_graph_from_text(std::string_view text, std::string_view file_name) {
  LayerGraph graph = GraphTextReader(text, file_name).finish();
  graph.source = file_name;
  return graph;
}

std::string layer_graph_to_text(const LayerGraph& graph) {
  std::string text;
  for (const LayerNode& node : graph.nodes) {
    text += node.id + " -- " + node.name + " -- forward_compute_time=" + milliseconds(node.forward_ns) +
            ", backward_compute_time=" + milliseconds(node.backward_ns) +
            ", activation_size=" + std::to_string(node.output_bytes) +
            ", parameter_size=" + std::to_string(node.parameter_bytes) + "\n";
  }
  for (const LayerEdge& edge : graph.edges) {
    text += "\t" + graph.nodes[static_cast<std::size_t>(edge.from)].id + " -- " +
            graph.nodes[static_cast<std::size_t>(edge.to)].id + "\n";
  }
  return text;
}

}  // namespace plumb
