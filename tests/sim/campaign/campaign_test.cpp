#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "sim/campaign/campaign.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

constexpr std::int64_t kSecond = 1000 * kNsPerMillisecond;

LayoutTable small_table() {
  return LayoutTable({{{1, 2}, {{10 * kSecond, 8}, {}}},
                      {{2, 2}, {{6 * kSecond, 8}, {}}},
                      {{1, 3}, {{8 * kSecond, 8}, {}}},
                      {{1, 4}, {{7 * kSecond, 8}, {}}}});
}

/// Seconds of each use.
std::int64_t seconds(const CampaignResult& result, TimeUse use) { return result.time_of(use) / kSecond; }

CampaignResult played(const std::string& rule, const std::string& trace, std::int64_t hours_s,
                      std::map<std::string, std::string> options) {
  LayoutTable table = small_table();
  LayoutBook book(table);
  return run_campaign({.trace = node_trace_from_text(trace, "trace.csv"),
                       .until_ns = hours_s * kSecond,
                       .price_per_node_hour = 3600,
                       .options = std::move(options)},
                      rule, book);
}

void check_sums(const CampaignResult& result) {
  CHECK(std::accumulate(result.time_ns.begin(), result.time_ns.end(), std::int64_t{0}) == result.until_ns);
  std::int64_t at = 0;
  for (const CampaignPhase& phase : result.phases) {
    CHECK(phase.start_ns == at);
    CHECK(phase.end_ns > phase.start_ns);
    at = phase.end_ns;
  }
  CHECK(at == result.until_ns);
}

const std::string kTwo = "0,add,a\n0,add,b\n";

}  // namespace

TEST_CASE("without events a campaign gives the samples of the steps, whatever the rule") {
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    CAPTURE(rule.name);
    LayoutTable table = small_table();
    LayoutBook book(table);
    CampaignProblem problem{.trace = node_trace_from_text(kTwo, "two.csv"), .until_ns = 1005 * kSecond};
    const CampaignResult free = run_campaign(
        [&] {
          CampaignProblem without = problem;
          for (const NamedOption& option : rule.options) {
            if (option.values.begin()->text == kRulePause.text) without.options[std::string(option.name)] = "0";
          }
          if (rule.name == "pipetransformer") without.options["freeze"] = "0";
          return without;
        }(),
        rule.name, book);
    CHECK(free.samples == doctest::Approx(0.8 * 1005).epsilon(1e-12));
    CHECK(free.goodput() == doctest::Approx(1).epsilon(1e-12));
    CHECK(seconds(free, TimeUse::kTraining) == 1005);
    check_sums(free);
  }
}

TEST_CASE("where there are usually fewer nodes than any layout has, all rules are made for the smallest layout") {
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    CAPTURE(rule.name);
    LayoutTable table(
        {{{1, 6}, {{10 * kSecond, 8}, {}}}, {{2, 6}, {{6 * kSecond, 8}, {}}}, {{1, 8}, {{9 * kSecond, 8}, {}}}});
    LayoutBook book(table);
    // Five nodes, and six for the last fifth: 5.2 on average.
    const std::string trace = "0,add,a\n0,add,b\n0,add,c\n0,add,d\n0,add,e\n1600000,add,f\n";
    const CampaignResult result =
        run_campaign({.trace = node_trace_from_text(trace, "five.csv"), .until_ns = 2000 * kSecond}, rule.name, book);
    CHECK(result.samples >= 8 * 20);
    CHECK(seconds(result, TimeUse::kTraining) >= 200);
    for (const CampaignPhase& phase : result.phases) {
      if (phase.use == TimeUse::kTraining) CHECK(phase.layout == JobLayout{1, 6});
    }
    check_sums(result);
  }
}

TEST_CASE("a loss costs checkpoint-and-restart the work since the last checkpoint, a restart and a wait") {
  // Starts at 20; steps end at 30, 40, ..; checkpoints after 50 s of work: 70 to 75, 125 to 130. At 163 the step that
  // began at 160 and three whole ones are lost. A third node came at 170, so it starts again at 190.
  const CampaignResult result = played("checkpoint", kTwo + "163000,remove,a\n170000,add,c\n", 300,
                                       {{"every", "50"}, {"save", "5"}, {"restart", "20"}, {"nodes", "2"}});
  CHECK(seconds(result, TimeUse::kWaiting) == 7);
  CHECK(seconds(result, TimeUse::kReconfiguring) == 40);
  CHECK(seconds(result, TimeUse::kLost) == 33);
  CHECK(seconds(result, TimeUse::kCheckpointing) == 5 + 5 + 5 + 5);
  CHECK(seconds(result, TimeUse::kTraining) == 300 - 7 - 40 - 33 - 20);
  CHECK(result.samples == 20 * 8);
  CHECK(result.steps == 20);
  CHECK(result.fatal == 1);
  CHECK(result.recoveries == 2);
  CHECK(result.cost == doctest::Approx(2 * 300 - 7));
  check_sums(result);
}

TEST_CASE("where neighbours keep each other's state a loss costs the step, and the loss of both the checkpoint") {
  const std::map<std::string, std::string> options{
      {"every", "1000"}, {"save", "5"}, {"restart", "20"}, {"nodes", "2"}, {"peers", "2"}};
  const CampaignResult one = played("checkpoint", kTwo + "163000,remove,a\n163000,add,c\n", 300, options);
  CHECK(seconds(one, TimeUse::kLost) == 3);
  CHECK(one.fatal == 0);
  const CampaignResult both =
      played("checkpoint", kTwo + "163000,remove,a\n163000,add,c\n164000,remove,b\n164000,add,d\n", 300, options);
  CHECK(seconds(both, TimeUse::kLost) == 143);
  CHECK(both.fatal == 1);
  check_sums(both);
}

TEST_CASE("copies of the state to neighbours make a step longer by what its free link does not hide") {
  std::map<std::string, std::string> options{{"every", "1e6"}, {"restart", "0"}, {"nodes", "2"},  {"peers", "3"},
                                             {"state", "5"},   {"link", "2.5"},  {"idle", "0.15"}};
  // Two copies of 2 s beside steps of 10 s, whose link is free for 1.5 s: 12.5 s.
  const CampaignResult shown = played("checkpoint", kTwo, 125, options);
  CHECK(shown.steps == 10);
  CHECK(seconds(shown, TimeUse::kTraining) == 100);
  CHECK(seconds(shown, TimeUse::kSlowed) == 25);
  options["idle"] = "0.4";
  CHECK(played("checkpoint", kTwo, 120, options).steps == 12);
  options["peers"] = "0";
  options["idle"] = "0";
  CHECK(played("checkpoint", kTwo, 120, options).steps == 12);
  check_sums(shown);
}

TEST_CASE("what moves off a slow node takes its bytes over the link") {
  const std::string slow = kTwo + "103000,slow,b,2\n";
  const auto with = [&](const char* option, const char* value) {
    return played("checkpoint", slow, 300,
                  {{"every", "1e6"}, {"restart", "0"}, {"nodes", "2"}, {"link", "0.5"}, {option, value}});
  };
  CHECK(with("layer", "2").samples == with("rebalance", "4").samples);
  CHECK(with("layer", "2").samples < with("rebalance", "0").samples);
}

TEST_CASE("varuna takes the best layout for the nodes that are left, and takes new ones in after a checkpoint") {
  const CampaignResult result = played("varuna", kTwo + "0,add,c\n0,add,d\n200000,remove,a\n300000,add,e\n", 600,
                                       {{"every", "60"}, {"save", "0"}, {"restart", "10"}});
  std::vector<JobLayout> layouts;
  for (const CampaignPhase& phase : result.phases) {
    if (phase.use != TimeUse::kTraining) continue;
    if (layouts.empty() || layouts.back() != phase.layout) layouts.push_back(phase.layout);
  }
  CHECK(layouts == std::vector<JobLayout>{{2, 2}, {1, 3}, {2, 2}});
  CHECK(result.fatal == 1);
  CHECK(result.recoveries == 3);
  check_sums(result);
}

TEST_CASE("a bamboo node stands in for the one behind it, at one and a half times the step") {
  // Meets until 30, steps of 10. Node b goes at 44: its step, of which 6 s are left, takes 3 s more; the steps after it
  // take 15, and after the first they meet in vain.
  const CampaignResult result = played("bamboo", kTwo + "44000,remove,b\n", 53, {{"stages", "2"}});
  CHECK(result.steps == 2);
  CHECK(seconds(result, TimeUse::kSlowed) == 3);
  CHECK(seconds(result, TimeUse::kReconfiguring) == 30);
  CHECK(result.fatal == 0);
  const CampaignResult fatal = played("bamboo", kTwo + "44000,remove,b\n47000,remove,a\n", 90, {{"stages", "2"}});
  CHECK(fatal.fatal == 1);
  check_sums(fatal);
}

TEST_CASE("bamboo meets where nodes that stand in, and those before them, are more than 5 % of all that are active") {
  // Layouts of two stages; a node of the last pipeline goes. Two of n - 1 active nodes must not go: more than 5 % below
  // 41 nodes.
  for (const std::int32_t nodes : {20, 38, 40, 42, 56, 58, 60, 80}) {
    CAPTURE(nodes);
    std::string trace;
    for (std::int32_t node = 0; node < nodes; ++node) trace += "0,add,n" + std::to_string(node) + "\n";
    LayoutTable table({{{nodes / 2, 2}, {{10 * kSecond, 8}, {}}}});
    LayoutBook book(table);
    const CampaignResult result = run_campaign(
        {.trace = node_trace_from_text(trace + "44000,remove,n" + std::to_string(nodes - 1) + "\n", "trace.csv"),
         .until_ns = 400 * kSecond,
         .price_per_node_hour = 3600,
         .options = {{"stages", "2"}}},
        "bamboo", book);
    const bool many = 2.0 / (nodes - 1) > 0.05;
    CHECK((seconds(result, TimeUse::kReconfiguring) > 30) == many);
    CHECK(result.fatal == 0);
    check_sums(result);
  }
}

TEST_CASE("oobleck loses a step with a node, and the checkpoint only with the last holder of a layer") {
  const std::string four = kTwo + "0,add,c\n0,add,d\n";
  const std::map<std::string, std::string> options{{"pause", "10"}, {"every", "1000"}, {"least", "2"}};
  const CampaignResult one = played("oobleck", four + "101000,remove,a\n", 200, options);
  CHECK(one.fatal == 0);
  CHECK(seconds(one, TimeUse::kLost) < 10);
  // a and c hold the first stage of both pipelines.
  const CampaignResult both = played("oobleck", four + "101000,remove,a\n101000,remove,c\n", 200, options);
  CHECK(both.fatal == 1);
  CHECK(seconds(both, TimeUse::kLost) == 91);
  // a and d hold different stages.
  const CampaignResult other = played("oobleck", four + "101000,remove,a\n101000,remove,d\n", 200, options);
  CHECK(other.fatal == 0);
  check_sums(other);
}

TEST_CASE("a node for which oobleck's pipelines have no place goes without any loss") {
  LayoutTable table({{{1, 2}, {{10 * kSecond, 8}, {}}}, {{2, 2}, {{6 * kSecond, 8}, {}}}});
  LayoutBook book(table);
  const auto lost_with = [&](const std::string& gone) {
    const CampaignResult result = run_campaign(
        {.trace = node_trace_from_text(kTwo + "0,add,c\n0,add,d\n0,add,e\n101000,remove," + gone + "\n", "trace.csv"),
         .until_ns = 200 * kSecond,
         .options = {{"pause", "10"}, {"every", "1000"}, {"least", "2"}}},
        "oobleck", book);
    CHECK(result.fatal == 0);
    check_sums(result);
    return std::pair(result.recoveries, result.time_of(TimeUse::kLost) > 0);
  };
  CHECK(lost_with("e") == std::pair(std::int64_t{1}, false));
  CHECK(lost_with("d") == std::pair(std::int64_t{2}, true));
}

TEST_CASE("a slow node makes every step of its layout longer, and the rest of the time is told as slowed") {
  const CampaignResult result =
      played("checkpoint", kTwo + "100000,slow,b,1.5\n", 220, {{"every", "1000"}, {"restart", "0"}, {"nodes", "2"}});
  CHECK(seconds(result, TimeUse::kTraining) == 180);
  CHECK(seconds(result, TimeUse::kSlowed) == 40);
  check_sums(result);
}

TEST_CASE("where layers move off a slow node, its pipeline takes the harmonic mean, after a step that is longer") {
  // Steps of 10 s; b takes three times as long from 105 s on. Moving takes 2 s of the step under way, which ends at
  // 112; from then on two nodes of speeds 1 and 1/3 take 15 s for what both do in 10.
  const CampaignResult result = played("checkpoint", kTwo + "105000,slow,b,3\n", 262,
                                       {{"every", "1000"}, {"restart", "0"}, {"nodes", "2"}, {"rebalance", "2"}});
  CHECK(result.samples == (11 + 10) * 8);
  CHECK(seconds(result, TimeUse::kSlowed) == 2 + 10 * 5);
  const CampaignResult waiting =
      played("checkpoint", kTwo + "105000,slow,b,3\n", 262, {{"every", "1000"}, {"restart", "0"}, {"nodes", "2"}});
  CHECK(waiting.samples < result.samples);
  check_sums(result);
}

TEST_CASE("many seeds of exponential failures agree with Daly's expected time within three standard errors") {
  struct FailureCase {
    double mean, save, down, every, step, efficiency;
  };
  for (const FailureCase& c :
       {FailureCase{11'135, 60, 600, 1'156, 34, 0.854}, FailureCase{11'135, 5, 120, 334, 16.7, 0.960}}) {
    LayoutTable table({{{1, 1}, {{static_cast<std::int64_t>(c.step * 1e9), 1}, {}}}});
    LayoutBook book(table);
    double sum = 0;
    double squares = 0;
    constexpr int kSeeds = 60;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      CampaignProblem problem{.trace = {}, .until_ns = 1000 * 3600 * kSecond, .keep_phases = false};
      problem.ready_ns = static_cast<std::int64_t>(c.down * 1e9);
      problem.trace = random_failures({.nodes = 1,
                                       .mean_ns = static_cast<std::int64_t>(c.mean * 1e9),
                                       .ready_ns = problem.ready_ns,
                                       .until_ns = problem.until_ns,
                                       .seed = static_cast<std::uint64_t>(seed)});
      problem.options = {{"every", std::to_string(c.every)}, {"save", std::to_string(c.save)}, {"restart", "0"}};
      const CampaignResult result = run_campaign(problem, "checkpoint", book);
      const double efficiency =
          static_cast<double>(result.time_of(TimeUse::kTraining)) / static_cast<double>(result.until_ns);
      sum += efficiency;
      squares += efficiency * efficiency;
    }
    const double mean = sum / kSeeds;
    const double error = std::sqrt((squares / kSeeds - mean * mean) / (kSeeds - 1));
    const double expected = c.every / ((c.mean + c.down) * (std::exp((c.every + c.save) / c.mean) - 1));
    CAPTURE(mean);
    CAPTURE(error);
    CHECK(error < 0.001);
    CHECK(std::abs(mean - expected) < 3 * error);
    CHECK(std::abs(expected - c.efficiency) < 0.0005);
  }
}

namespace {

/// A job on six nodes that fail now and then, with every time, also those of the rule's options, `scale` times as long.
CampaignResult scaled_campaign(const CampaignRuleSpec& rule, std::uint64_t seed, std::int64_t scale) {
  CampaignProblem problem{
      .trace = random_failures(
          {.nodes = 6, .mean_ns = 900 * kSecond, .ready_ns = 10 * kSecond, .until_ns = 1500 * kSecond, .seed = seed}),
      .until_ns = 2000 * kSecond * scale,
      .ready_ns = 10 * kSecond * scale,
      .price_per_node_hour = 2};
  // Every third node comes much later, so that layouts change.
  for (NodeEvent& event : problem.trace.events) {
    if (event.kind == NodeEventKind::kAdd && event.node % 3 == 2) event.at_ns += 70 * kSecond;
  }
  std::ranges::stable_sort(problem.trace.events, {}, &NodeEvent::at_ns);
  std::erase_if(problem.trace.events,
                [](const NodeEvent& event) { return event.kind == NodeEventKind::kRemove && event.node % 3 == 2; });
  for (NodeEvent& event : problem.trace.events) event.at_ns = event.at_ns / kSecond * kSecond * scale;
  std::int64_t seconds = 5;
  for (const NamedOption& option : rule.options) {
    if (option.meaning.find("seconds") == std::string_view::npos) continue;
    if (option.name == "rebalance" && rule.name != "swarm")
      continue;  // layers move off slow nodes, of which there are none
    seconds += 4;
    problem.options[std::string(option.name)] = std::to_string(seconds * scale);
  }
  LayoutTable table({{{1, 2}, {{10 * kSecond * scale, 8}, {}}},
                     {{2, 2}, {{6 * kSecond * scale, 8}, {}}},
                     {{3, 2}, {{4 * kSecond * scale, 8}, {}}},
                     {{1, 3}, {{8 * kSecond * scale, 8}, {}}},
                     {{2, 3}, {{5 * kSecond * scale, 8}, {}}},
                     {{1, 4}, {{7 * kSecond * scale, 8}, {}}}});
  LayoutBook book(table);
  return run_campaign(problem, rule.name, book);
}

}  // namespace

TEST_CASE("with all times three times as long every campaign takes three times as long, and gives the same samples") {
  int fatal = 0;
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    CAPTURE(rule.name);
    std::int64_t lost = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(seed);
      const CampaignResult one = scaled_campaign(rule, seed, 1);
      const CampaignResult three = scaled_campaign(rule, seed, 3);
      check_sums(one);
      CHECK(three.samples == doctest::Approx(one.samples).epsilon(1e-4));
      CHECK(three.samples_to_last_step == doctest::Approx(one.samples_to_last_step).epsilon(1e-4));
      CHECK(three.steps == one.steps);
      CHECK(three.fatal == one.fatal);
      CHECK(three.recoveries == one.recoveries);
      CHECK(three.node_hours == doctest::Approx(3 * one.node_hours));
      CHECK(one.cost == doctest::Approx(2 * one.node_hours));
      constexpr std::int64_t kRounded = 50 * kNsPerMillisecond;  // rules that count in whole milliseconds round
      for (std::size_t use = 0; use < one.time_ns.size(); ++use) {
        CHECK(std::abs(three.time_ns[use] - 3 * one.time_ns[use]) < kRounded);
      }
      REQUIRE(three.phases.size() == one.phases.size());
      for (std::size_t at = 0; at < one.phases.size(); ++at) {
        CHECK(three.phases[at].use == one.phases[at].use);
        CHECK(three.phases[at].layout == one.phases[at].layout);
        CHECK(std::abs(three.phases[at].end_ns - 3 * one.phases[at].end_ns) < kRounded);
      }
      lost += one.removals;
      fatal += static_cast<int>(one.fatal);
    }
    CHECK(lost > 12);
  }
  CHECK(fatal > 0);
}

TEST_CASE("a step that the end cuts off trains up to the end, and is slowed only by slow nodes") {
  for (std::int64_t ns = 1; ns < 200; ++ns) {
    LayoutTable table({{{1, 2}, {{997, 8}, {}}}});
    LayoutBook book(table);
    const CampaignResult result = run_campaign({.trace = node_trace_from_text(kTwo, "trace.csv"),
                                                .until_ns = 5 * 997 + ns,
                                                .options = {{"every", "1000"}, {"restart", "0"}, {"nodes", "2"}}},
                                               "checkpoint", book);
    CAPTURE(ns);
    CHECK(result.time_of(TimeUse::kSlowed) == 0);
    CHECK(result.phases.back().use == TimeUse::kTraining);
    CHECK(result.steps == 5);
    CHECK(result.samples == doctest::Approx(8 * (5 + static_cast<double>(ns) / 997)));
    check_sums(result);
  }
}

TEST_CASE(
    "a step takes as much less as layers are frozen, of whose forwards a cache spares the rest, and never no time") {
  LayoutTable table({{{1, 2}, {{900, 8}, {}}}});
  const auto ns = [&](std::int32_t frozen, bool cached) {
    return table.frozen_step({1, 2}, {.frozen = frozen, .all = 6, .cached = cached})->ns;
  };
  CHECK(ns(0, true) == 900);
  CHECK(ns(2, true) == 600);
  CHECK(ns(2, false) == 700);  // their forwards, a third of their work, still run
  CHECK(ns(6, false) == 300);
  CHECK(ns(6, true) == 1);
  CHECK_FALSE(table.frozen_step({1, 3}, {.frozen = 1, .all = 6}));
}

TEST_CASE("unknown rules, options and values are refused in one line") {
  const auto message = [](const std::string& rule, std::map<std::string, std::string> options) {
    return error_message([&] { played(rule, kTwo, 10, std::move(options)); });
  };
  CHECK(message("bambo", {}) == "unknown rule 'bambo' (did you mean 'bamboo'?)");
  CHECK(message("varuna", {{"evry", "3"}}) == "unknown option of the rule varuna 'evry' (did you mean 'every'?)");
  CHECK(message("varuna", {{"every", "-3"}}) == "option every: expected a number from 0 to 1e9, found '-3'");
  CHECK(message("varuna", {{"every", "3h"}}) == "option every: expected a number from 0 to 1e9, found '3h'");
}

}  // namespace plumb::testing

TEST_SUITE_END();
