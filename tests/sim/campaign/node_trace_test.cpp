#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/campaign/layout_steps.hpp"
#include "sim/campaign/node_trace.hpp"
#include "sim/sharing/pipeline_instances.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {

TEST_CASE("a trace of nodes comes back as it was, and a wrong line is named") {
  const std::string text = "0,add,a\n1500,add,b\n1500,slow,a,1.25\n90000,remove,a\n95000,add,a\n";
  const NodeTrace trace = node_trace_from_text(text, "t.csv");
  CHECK(node_trace_to_text(trace) == text);
  CHECK(trace.names == std::vector<std::string>{"a", "b"});
  CHECK(trace.events[4].node == 0);
  const auto message = [](const std::string& wrong) {
    return error_message([&] { node_trace_from_text(wrong, "t.csv"); });
  };
  CHECK(message("0,add,a\n0,add,a\n") == "t.csv:2: 'a' is there already");
  CHECK(message("0,remove,a\n") == "t.csv:1: 'a' is not there; expected an add before");
  CHECK(message("5,add,a\n4,add,b\n") == "t.csv:2: time runs backwards; expected at least that of the line before");
  CHECK(message("x,add,a\n") == "t.csv:1: expected whole milliseconds from 0 on, found 'x'");
  CHECK(message("0,come,a\n") == "t.csv:1: expected add, remove or slow, found 'come'");
  CHECK(message("0,add\n") == "t.csv:1: expected milliseconds,add|remove,node or milliseconds,slow,node,factor");
  CHECK(message("0,add,a\n1,slow,a,0\n") ==
        "t.csv:2: expected how much longer work takes, from 0.01 to 1000, found '0'");
  CHECK(message("") == "t.csv: expected at least one line milliseconds,add,node");
}

TEST_CASE("counts of nodes at every tick are a trace whose oldest nodes go first") {
  const NodeTrace trace =
      node_trace_from_text(R"({"metadata": {"gap_seconds": 300, "region": "x"}, "data": [2, 2, 1, 3]})", "counts.json");
  CHECK(node_trace_to_text(trace) ==
        "0,add,node1\n0,add,node2\n600000,remove,node1\n900000,add,node3\n900000,add,node4\n");
  CHECK(error_message([] { node_trace_from_text(R"({"metadata": {"gap_seconds": 300}, "data": [-1]})", "c.json"); }) ==
        "c.json:1:45: data[0]: expected an integer from 0 to 100000, found -1");
}

TEST_CASE("random nodes are the same for the same seed, and fail and come as often as they should") {
  const RandomFailures failures{.nodes = 10,
                                .mean_ns = 3'600'000 * kNsPerMillisecond,
                                .until_ns = std::int64_t{36} * 100'000'000'000'000,
                                .seed = 7};
  const NodeTrace trace = random_failures(failures);
  CHECK(trace == random_failures(failures));
  const auto lost = std::ranges::count(trace.events, NodeEventKind::kRemove, &NodeEvent::kind);
  CHECK(std::abs(static_cast<double>(lost) - 10'000) < 400);  // four standard deviations
  const NodeTrace market =
      random_market({.nodes = 10, .taken = 0.5, .given = 0.5, .until_ns = failures.until_ns, .seed = 7});
  CHECK(most_nodes_of(market) <= 10);
  CHECK(node_trace_from_text(node_trace_to_text(market), "m.csv").events.size() == market.events.size());
}

TEST_CASE("layouts come back as they were written, and the best one has the most samples per second") {
  const std::string text = R"({"format": "plumbline-layouts", "version": 1, "samples": 32, "layouts": [
    {"pipelines": 1, "stages": 4, "ms": 100}, {"pipelines": 2, "stages": 2, "ms": 50.5, "samples": 16},
    {"pipelines": 2, "stages": 4, "ms": 60, "restart_ms": {"added": 5, "removed": 4.5, "load": 1}}]})";
  const auto rows = layouts_from_json(text, "l.json");
  const auto again = layouts_from_json(layouts_to_json(rows), "again.json");
  REQUIRE(again.size() == 3);
  CHECK(again.at({2, 4}).step.ns == 60'000'000);
  CHECK(again.at({2, 4}).restart->removed_ns == 4'500'000);
  CHECK(again.at({2, 2}).step.samples == 16);
  LayoutTable table(rows);
  LayoutBook book(table);
  CHECK(!book.best(3));
  CHECK(*book.best(4) == JobLayout{1, 4});
  CHECK(*book.best(9) == JobLayout{2, 4});
  CHECK(*book.made_for(9) == JobLayout{2, 4});
  CHECK(*book.made_for(3) == JobLayout{1, 4});  // no layout has so few
  CHECK(error_message([] {
          layouts_from_json(R"({"format": "plumbline-layouts", "version": 1, "samples": 1, "layouts": [
{"pipelines": 1, "stages": 1, "ms": 1}, {"pipelines": 1, "stages": 1, "ms": 2}]})",
                            "l.json");
        }) == "l.json:2:41: layouts[1]: this layout is there already");
}

TEST_CASE("13 nodes are five sets of pipelines of 2, 3 and 4 nodes") {
  std::vector<InstanceCounts> all;
  for_each_instance(13, std::vector<std::int32_t>{2, 3, 4}, [&](const InstanceCounts& counts) {
    all.push_back(counts);
    return true;
  });
  CHECK(all == std::vector<InstanceCounts>{{0, 3, 1}, {1, 1, 2}, {2, 3, 0}, {3, 1, 1}, {5, 1, 0}});
}

TEST_CASE("microbatches are shared so that the slowest pipeline is done as early as can be") {
  CHECK(shared_microbatches(std::vector<double>{1, 2}, 9) == std::vector<std::int64_t>{6, 3});
  CHECK(shared_microbatches(std::vector<double>{3, 3, 3}, 2).empty());
  for (std::int64_t b = 3; b < 20; ++b) {
    const std::vector<double> times{2, 3, 5};
    const auto shares = shared_microbatches(times, b);
    double longest = 0;
    for (std::size_t i = 0; i < 3; ++i) longest = std::max(longest, static_cast<double>(shares[i]) * times[i]);
    for (std::int64_t x = 1; x < b - 1; ++x) {
      for (std::int64_t y = 1; x + y < b; ++y) {
        CHECK(longest <= std::max({2.0 * static_cast<double>(x), 3.0 * static_cast<double>(y),
                                   5.0 * static_cast<double>(b - x - y)}));
      }
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
