#include "sim/campaign/layout_forecast.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/campaign/campaign.hpp"
#include "sim/campaign/freezing.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

constexpr std::int64_t kForecastSecond = 1000 * kNsPerMillisecond;

/// Nodes that come and go at random, in half seconds, some at the very beginning of an interval.
CampaignProblem drawn_campaign(std::uint32_t seed) {
  std::mt19937 random(seed);
  CampaignProblem problem;
  problem.until_ns = 100 * kForecastSecond;
  problem.ready_ns = static_cast<std::int64_t>(random() % 15) * kForecastSecond;
  std::map<std::int32_t, bool> there;
  for (std::int32_t node = 0; node < 6; ++node) {
    problem.trace.names.push_back("n" + std::to_string(node));
    there[node] = false;
  }
  for (std::int64_t at = 0; at <= problem.until_ns; at += kForecastSecond / 2) {
    const auto node = static_cast<std::int32_t>(random() % 6);
    if (random() % 5 > 0) continue;
    problem.trace.events.push_back(
        {.at_ns = at, .kind = there[node] ? NodeEventKind::kRemove : NodeEventKind::kAdd, .node = node});
    there[node] = !there[node];
  }
  return problem;
}

}  // namespace

TEST_CASE("the nodes of intervals ahead are those that a watch at their beginnings finds") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const CampaignProblem problem = drawn_campaign(seed);
    const std::int64_t interval = (3 + seed % 5) * kForecastSecond;
    const std::vector<IntervalNodes> intervals = intervals_ahead(problem, interval);
    CHECK(std::ssize(intervals) == problem.until_ns / interval + 2);
    for (std::size_t k = 0; k < intervals.size(); ++k) {
      const std::int64_t now = static_cast<std::int64_t>(k) * interval;
      std::int32_t ready = 0;
      std::int32_t went = 0;
      std::map<std::int32_t, std::int64_t> ready_at;
      for (const NodeEvent& event : problem.trace.events) {
        if (event.at_ns > now) break;
        if (event.kind == NodeEventKind::kAdd) {
          ready_at[event.node] = event.at_ns + problem.ready_ns;
          continue;
        }
        if (event.at_ns >= ready_at[event.node] && event.at_ns > now - interval) ++went;
        ready_at.erase(event.node);
      }
      for (const auto& [node, at] : ready_at) ready += at <= now ? 1 : 0;
      CHECK(intervals[k].ready == ready);
      CHECK(intervals[k].went == went);
    }
  }
}

TEST_CASE("a layout is spared with the probability that none of its nodes is drawn") {
  const auto choose = [](std::int32_t n, std::int32_t k) {
    double ways = 1;
    for (std::int32_t i = 0; i < k; ++i) ways = ways * (n - i) / (i + 1);
    return k > n ? 0 : ways;
  };
  for (std::int32_t all = 0; all <= 7; ++all) {
    for (std::int32_t used = 0; used <= all; ++used) {
      for (std::int32_t went = 0; went <= all; ++went) {
        CHECK(spared(all, used, went) == doctest::Approx(choose(all - used, went) / choose(all, went)));
      }
    }
  }
  CHECK(spared(2, 3, 0) == 1);
  CHECK(spared(2, 3, 1) == 0);
}

TEST_CASE("the layout ahead begins the sequence of layouts with the most expected samples, of all sequences") {
  LayoutTable table(
      {{{1, 1}, {{9 * kForecastSecond, 8}, {}}},
       {{1, 2}, {{6 * kForecastSecond, 8}, LayoutRestart{2 * kForecastSecond, kForecastSecond, 4 * kForecastSecond}}},
       {{2, 2}, {{3 * kForecastSecond, 8}, {}}},
       {{1, 5}, {{2 * kForecastSecond, 8}, {}}}});
  LayoutBook book(table);
  CHECK(change_ns(book, {1, 2}, 1, {}) == 2 * kForecastSecond + 2 * kForecastSecond);  // two nodes of one: added
  CHECK(change_ns(book, {1, 2}, 2, {}) == kForecastSecond + 2 * kForecastSecond);
  CHECK(change_ns(book, {2, 2}, 3, {.added_ns = 7, .removed_ns = 5, .load_ns = 6}) == 7 + 3);
  CHECK(change_ns(book, {2, 2}, 4, {.added_ns = 7, .removed_ns = 5, .load_ns = 6}) == 5 + 3);
  const std::vector<JobLayout> layouts{{1, 1}, {1, 2}, {2, 2}, {1, 5}};
  const LookAhead look{.interval_ns = 10 * kForecastSecond,
                       .intervals = 3,
                       .otherwise = {.added_ns = 5 * kForecastSecond, .removed_ns = 3 * kForecastSecond}};
  std::mt19937 random(71);
  int changes = 0;
  for (int round = 0; round < 80; ++round) {
    CAPTURE(round);
    std::vector<IntervalNodes> nodes;
    for (int k = 0; k < 6; ++k) {
      nodes.push_back({static_cast<std::int32_t>(random() % 7), static_cast<std::int32_t>(random() % 3)});
    }
    const std::size_t now = random() % 6;
    const JobLayout current = round % 3 == 0 ? JobLayout{} : layouts[random() % 4];
    const std::size_t end = std::min<std::size_t>(6, now + 3);
    const auto samples = [&](JobLayout from, JobLayout to, std::size_t at) {
      const std::int32_t before = at > 0 ? nodes[at - 1].ready : 0;
      const std::int32_t went = std::min(nodes[at].went, before);
      const double kept = from == to ? spared(before, to.nodes(), went) : 0;
      const double pause = (1 - kept) * static_cast<double>(change_ns(book, to, before - went, look.otherwise));
      return book.step(to)->samples_per_s() * std::max(0.0, 10e9 - pause) / 1e9;
    };
    // The most samples from `at` on behind a layout; nothing where an interval has no layout.
    const std::function<double(JobLayout, std::size_t)> most = [&](JobLayout from, std::size_t at) -> double {
      double best = 0;
      if (at == end) return best;
      for (const JobLayout& to : layouts) {
        if (to.nodes() <= nodes[at].ready) best = std::max(best, samples(from, to, at) + most(to, at + 1));
      }
      return best;
    };
    const std::optional<JobLayout> chosen = layout_ahead(book, nodes, now, current, look);
    const double best = most(current, now);
    REQUIRE(chosen.has_value() == (best > 0));
    if (!chosen) continue;
    CHECK(chosen->nodes() <= nodes[now].ready);
    CHECK(samples(current, *chosen, now) + most(*chosen, now + 1) == doctest::Approx(best));
    changes += *chosen != current ? 1 : 0;
  }
  CHECK(changes > 20);
}

namespace {

/// Stages as pipe/load_balance.py of PipeTransformer fills them, largest first told: sizes one after another, each
/// stage up to the mean and the variance of what is left over the stages that are left.
double largest_of_released(const std::vector<double>& sizes, std::int32_t stages) {
  std::vector<double> left = sizes;
  double largest = 0;
  for (std::int32_t open = stages; open > 0; --open) {
    double sum = 0;
    for (const double size : left) sum += size;
    double squares = 0;
    for (const double size : left)
      squares += (size - sum / static_cast<double>(left.size())) * (size - sum / static_cast<double>(left.size()));
    const double most = left.empty() ? 0 : sum / open + squares / static_cast<double>(left.size()) / open;
    double stage = 0;
    while (!left.empty() && (open == 1 || stage + left.front() < most)) {
      stage += left.front();
      left.erase(left.begin());
    }
    largest = std::max(largest, stage);
  }
  return largest;
}

}  // namespace

TEST_CASE("pipelines get shorter when the released program's largest stage does not grow, of layers of every width") {
  int halved = 0;
  for (std::int32_t width = 1; width <= 12; ++width) {
    for (std::int32_t layers = 2; layers <= 9; ++layers) {
      for (const double beside : {0.0, 1e-5, 3e-4}) {
        const LayerFreezing network{.layers = layers,
                                    .alpha = 0.25,
                                    .width = static_cast<double>(width),
                                    .embedding_millions = beside,
                                    .head_millions = beside / 2};
        const auto sizes = [&](std::int32_t frozen) {
          std::vector<double> all;
          if (frozen == 0) all.push_back(beside);
          for (std::int32_t layer = frozen; layer < layers; ++layer) {
            // Attention: four matrices, four biases and a norm of two; MLP: 4 x width twice, biases of 5, a norm.
            all.push_back((4.0 * width * width + 4 * width + 2 * width) / 1e6);
            all.push_back((2.0 * 4 * width * width + 5 * width + 2 * width) / 1e6);
          }
          all.push_back(2 * width / 1e6);
          all.push_back(beside / 2);
          return all;
        };
        for (std::int32_t epoch = 0; epoch <= 6; ++epoch) {
          const std::int32_t frozen = network.frozen_after(epoch);
          for (const std::int32_t length : {2, 3, 4, 7, 8}) {
            std::int32_t expected = length;
            const double room = largest_of_released(sizes(0), length);
            while (frozen > 0 && expected >= 2 && largest_of_released(sizes(frozen), expected / 2) <= room)
              expected /= 2;
            CHECK(network.pipeline_length(length, epoch) == expected);
            halved += expected < length ? 1 : 0;
          }
        }
      }
    }
  }
  CHECK(halved > 100);
}

TEST_CASE("a job that runs on more nodes than there usually are is made for the fewest on which it runs") {
  const LayoutTable::Row row{{kForecastSecond, 8}, {}};
  const auto made_for = [&](std::map<JobLayout, LayoutTable::Row> rows, std::int32_t nodes) {
    LayoutTable table(std::move(rows));
    LayoutBook book(table);
    return book.made_for(nodes);
  };
  CHECK(made_for({{{2, 3}, row}}, 1) == JobLayout{2, 3});  // the most pipelines that there are
  CHECK(made_for({{{2, 3}, row}, {{1, 4}, row}}, 1) == JobLayout{1, 4});
  CHECK(made_for({{{2, 3}, row}, {{1, 7}, row}}, 1) == JobLayout{2, 3});
  CHECK(made_for({{{2, 3}, row}, {{1, 7}, row}}, 6) == JobLayout{2, 3});
  CHECK_FALSE(made_for({}, 6));
}

TEST_CASE(
    "ravnest makes as many clusters as a layout has pipelines, where there is none for as many as were asked for") {
  LayoutTable table({{{1, 2}, {{10 * kForecastSecond, 8}, {}}}});
  LayoutBook book(table);
  const CampaignResult result =
      run_campaign({.trace = node_trace_from_text("0,add,a\n0,add,b\n0,add,c\n0,add,d\n", "four.csv"),
                    .until_ns = 400 * kForecastSecond,
                    .options = {{"clusters", "2"}, {"stages", "2"}, {"average", "0"}}},
                   "ravnest", book);
  CHECK(result.samples >= 8 * 30);
  for (const CampaignPhase& phase : result.phases) {
    if (phase.use == TimeUse::kTraining) CHECK(phase.layout == JobLayout{1, 2});
  }
}

TEST_CASE("a market takes and gives nodes in whole seconds of their hour, all of them where it must") {
  constexpr std::int64_t kHour = 3600 * kForecastSecond;
  const NodeTrace all = random_market({.nodes = 5, .taken = 1, .given = 1, .until_ns = 6 * kHour, .seed = 3});
  std::map<std::pair<std::int64_t, NodeEventKind>, int> counts;
  for (const NodeEvent& event : all.events) {
    CHECK(event.at_ns % kForecastSecond == 0);
    ++counts[{event.at_ns / kHour, event.kind}];
  }
  // Taken in hour 0, given back in hour 1, and so on; those at the start are there at 0.
  for (std::int64_t hour = 0; hour < 6; ++hour) {
    CAPTURE(hour);
    CHECK(counts[{hour, NodeEventKind::kRemove}] == (hour % 2 == 0 ? 5 : 0));
    CHECK(counts[{hour, NodeEventKind::kAdd}] == (hour == 0 || hour % 2 == 1 ? 5 : 0));
  }
  CHECK(all.events.size() == 5 + 6 * 5);
  CHECK(random_market({.nodes = 5, .taken = 0, .given = 1, .until_ns = 6 * kHour, .seed = 3}).events.size() == 5);
  CHECK(random_market({.nodes = 5, .taken = 1, .given = 0, .until_ns = 6 * kHour, .seed = 3}).events.size() == 10);
  const auto events = [](std::int64_t until) {
    return random_market({.nodes = 1, .taken = 1, .given = 1, .until_ns = until, .seed = 3}).events.size();
  };
  CHECK(events(kHour) == 2);  // the hour that begins at the end is none of it
  CHECK(events(kHour + 1) == 3);
}

TEST_CASE("a node that fails is replaced in the same moment, and none fails before it is ready or after the end") {
  const RandomFailures failures{.nodes = 4,
                                .mean_ns = 50 * kForecastSecond,
                                .ready_ns = 20 * kForecastSecond,
                                .until_ns = 2000 * kForecastSecond,
                                .seed = 5};
  const NodeTrace trace = random_failures(failures);
  std::map<std::int32_t, std::int64_t> added;
  std::int64_t lives = 0;
  std::int64_t lost = 0;
  std::int64_t last = 0;
  for (std::size_t k = 0; k < trace.events.size(); ++k) {
    const NodeEvent& event = trace.events[k];
    CHECK(event.at_ns >= last);
    last = event.at_ns;
    CHECK(event.at_ns % kNsPerMillisecond == 0);
    CHECK(event.at_ns <= failures.until_ns);
    if (event.kind == NodeEventKind::kAdd) {
      added[event.node] = event.at_ns;
      continue;
    }
    CHECK(event.at_ns >= added.at(event.node) + failures.ready_ns);
    lives += event.at_ns - added.at(event.node) - failures.ready_ns;
    ++lost;
    REQUIRE(k + 1 < trace.events.size());
    CHECK(trace.events[k + 1].at_ns == event.at_ns);
    CHECK(trace.events[k + 1].kind == NodeEventKind::kAdd);
    CHECK(trace.names[static_cast<std::size_t>(trace.events[k + 1].node)] ==
          "node" + std::to_string(trace.events[k + 1].node + 1));
  }
  CHECK(std::ssize(trace.names) == 4 + lost);
  CHECK(std::abs(static_cast<double>(lives / lost) / 50e9 - 1) < 4 / std::sqrt(static_cast<double>(lost)));
}

TEST_CASE("of many nodes some fail in the first millisecond and some in the last one, and none later") {
  // With a mean of 4 ms an eighth of 2000 first lives are rounded to 0, and a tenth of those that last fail in the 8th.
  for (const std::int64_t ready_ms : {0, 3}) {
    const NodeTrace trace = random_failures({.nodes = 2000,
                                             .mean_ns = 4 * kNsPerMillisecond,
                                             .ready_ns = ready_ms * kNsPerMillisecond,
                                             .until_ns = 8 * kNsPerMillisecond,
                                             .seed = 11});
    std::map<std::int64_t, int> failed;
    for (const NodeEvent& event : trace.events) {
      if (event.kind == NodeEventKind::kRemove) ++failed[event.at_ns / kNsPerMillisecond];
    }
    CHECK(failed.begin()->first == ready_ms);
    CHECK(failed.rbegin()->first == 8);
    CHECK(static_cast<std::int64_t>(failed.size()) == 9 - ready_ms);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
