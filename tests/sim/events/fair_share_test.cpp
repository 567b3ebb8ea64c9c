#include "sim/events/fair_share.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "sim/events/event_engine.hpp"
#include "tests/support/program_builder.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::ProgramBuilder;

namespace {

/// A message for the textbook: starts at `start`, moves `bytes` over `links`, no faster than `own` (0: not limited).
struct TextbookFlow {
  double start = 0;
  double bytes = 0;
  std::vector<std::size_t> links;
  double own = 0;
  double rate = 0;
  double done = -1;
};

/// Progressive filling as textbooks write it: all rates grow together; a flow stops growing when a link of it is full.
void fill(std::vector<TextbookFlow*>& active, const std::vector<double>& capacity) {
  std::vector<TextbookFlow*> growing = active;
  for (TextbookFlow* flow : active) flow->rate = 0;
  while (!growing.empty()) {
    double step = std::numeric_limits<double>::infinity();
    std::vector<double> used(capacity.size(), 0);
    std::vector<double> count(capacity.size(), 0);
    for (const TextbookFlow* flow : active) {
      for (const std::size_t link : flow->links) used[link] += flow->rate;
    }
    for (const TextbookFlow* flow : growing) {
      for (const std::size_t link : flow->links) ++count[link];
      if (flow->own > 0) step = std::min(step, flow->own - flow->rate);
    }
    for (std::size_t link = 0; link < capacity.size(); ++link) {
      if (count[link] > 0) step = std::min(step, (capacity[link] - used[link]) / count[link]);
    }
    for (TextbookFlow* flow : growing) flow->rate += step;
    std::erase_if(growing, [&](const TextbookFlow* flow) {
      if (flow->own > 0 && flow->rate >= flow->own * (1 - 1e-12)) return true;
      return std::ranges::any_of(flow->links, [&](std::size_t link) {
        return used[link] + count[link] * step >= capacity[link] * (1 - 1e-12);
      });
    });
  }
}

/// Runs all flows to their ends, in real numbers.
void run_textbook(std::vector<TextbookFlow>& flows, const std::vector<double>& capacity) {
  double now = 0;
  for (;;) {
    std::vector<TextbookFlow*> active;
    double next = std::numeric_limits<double>::infinity();
    for (TextbookFlow& flow : flows) {
      if (flow.done >= 0) continue;
      if (flow.start <= now) active.push_back(&flow);
      if (flow.start > now) next = std::min(next, flow.start);
    }
    if (active.empty() && std::isinf(next)) return;
    fill(active, capacity);
    for (const TextbookFlow* flow : active) next = std::min(next, now + flow->bytes / flow->rate);
    for (TextbookFlow* flow : active) {
      flow->bytes -= flow->rate * (next - now);
      if (flow->bytes <= 1e-6) flow->done = next;
    }
    now = next;
  }
}

}  // namespace

TEST_CASE(
    "§6.11: random messages over random shared links end when real-number max-min fairness says, to a few ticks") {
  std::mt19937_64 random(7);
  const auto pick = [&](std::uint64_t from, std::uint64_t to) { return from + random() % (to - from + 1); };
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const std::size_t count = pick(2, 7);
    std::vector<double> capacity;
    for (std::size_t link = 0; link < 3; ++link) capacity.push_back(static_cast<double>(pick(1, 9)));
    ProgramBuilder::Lanes lanes;
    std::vector<TextbookFlow> flows(count);
    for (TextbookFlow& flow : flows) {
      flow.start = static_cast<double>(pick(0, 2000));
      flow.bytes = static_cast<double>(pick(1, 9000));
      if (pick(0, 2) == 0) flow.own = static_cast<double>(pick(1, 3));
      for (std::size_t link = 0; link < capacity.size(); ++link) {
        if (pick(0, 1) == 0) flow.links.push_back(link);
      }
      if (flow.links.empty()) flow.links.push_back(0);
      lanes.push_back({static_cast<Ticks>(flow.start)});
      lanes.push_back({0});
    }
    ProgramBuilder builder(lanes);
    for (std::size_t k = 0; k < count; ++k) {
      builder.message({2 * k, 0}, {2 * k + 1, 0}, static_cast<std::int64_t>(flows[k].bytes));
    }
    Program program = builder.build();
    for (const double bytes_per_ns : capacity) program.shared_links.push_back({"link", bytes_per_ns * 1e9});
    for (std::size_t k = 0; k < count; ++k) {
      Route& route = program.channels[k].route;
      route.bytes_per_s = flows[k].own * 1e9;
      for (const std::size_t link : flows[k].links) route.shared.push_back(static_cast<std::int32_t>(link));
    }
    const auto times = run_events(program, {});
    REQUIRE(times.has_value());
    run_textbook(flows, capacity);
    for (std::size_t k = 0; k < count; ++k) {
      CAPTURE(k);
      // Every end is rounded to half a tick and may shift every later change of rate by as much.
      CHECK(std::abs(static_cast<double>(times->transfers[k].done) - flows[k].done) <= static_cast<double>(count));
    }
  }
}

TEST_SUITE_END();
