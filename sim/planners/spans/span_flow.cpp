#include "sim/planners/spans/span_flow.hpp"

#include <cmath>
#include <limits>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace plumb {
namespace {

using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t, FlowTraits::edge_descriptor>>>>;

constexpr double kFlowUnits = 3.6e6;  ///< of one microbatch per second

void add_flow_edge(FlowGraph& graph, std::size_t from, std::size_t to, double rate) {
  const double most = 1e15;
  const auto capacity = static_cast<std::int64_t>(std::min(most, rate * kFlowUnits));
  const auto there = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, there, capacity);
  boost::put(boost::edge_capacity, graph, back, 0);
  boost::put(boost::edge_reverse, graph, there, back);
  boost::put(boost::edge_reverse, graph, back, there);
}

}  // namespace

double span_flow(std::int32_t blocks, std::span<const FlowServer> servers, double link_rate) {
  // Source, sink, and every server as two vertices with its rate between them.
  FlowGraph graph(2 + 2 * servers.size());
  const double unlimited = std::numeric_limits<double>::infinity();
  const auto in = [](std::size_t server) { return 2 + 2 * server; };
  const auto out = [](std::size_t server) { return 3 + 2 * server; };
  for (std::size_t one = 0; one < servers.size(); ++one) {
    const BlockSpan& span = servers[one].span;
    add_flow_edge(graph, in(one), out(one), servers[one].rate);
    if (span.begin == 0) add_flow_edge(graph, 0, in(one), unlimited);
    if (span.end == blocks) add_flow_edge(graph, out(one), 1, unlimited);
    for (std::size_t next = 0; next < servers.size(); ++next) {
      const BlockSpan& other = servers[next].span;
      if (next == one || span.end >= blocks || span.end < other.begin || span.end >= other.end) continue;
      add_flow_edge(graph, out(one), in(next), link_rate);
    }
  }
  const std::int64_t flow = boost::push_relabel_max_flow(graph, std::size_t{0}, std::size_t{1});
  return static_cast<double>(flow) / kFlowUnits;
}

}  // namespace plumb
