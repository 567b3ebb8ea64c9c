#include "schedules/catalogue/zero_bubble/zb_search.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <map>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/program/list_times.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/half_stash_peak.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

namespace {

/// F, I and W of every stage in units of one tick and one byte.
std::function<StageCosts(std::int32_t)> stage_costs(std::int64_t f, std::int64_t i, std::int64_t w) {
  return [=](std::int32_t num_stages) {
    StageCosts costs;
    costs.times.assign(static_cast<std::size_t>(num_stages), {.f = f, .b = i + w, .i = i, .w = w});
    StageMemory memory;
    memory.stash = {{"for I", 1, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                    {"for W", 1, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}};
    costs.memory.assign(static_cast<std::size_t>(num_stages), memory);
    return costs;
  };
}

std::int64_t span(const Schedule& schedule) { return longest_device_span(schedule, {.f = 5, .i = 6, .w = 4}); }

/// 3 devices, 6 microbatches, passes of 5, 6 and 4: the example of the released scheduler. `limit` in halves of a
/// stash.
Schedule example(double limit) {
  return generate("zb-auto",
                  {.num_devices = 3, .num_microbatches = 6, .costs = stage_costs(5, 6, 4), .memory_limit = limit});
}

/// The same with hyper-parameters.
Schedule example(double limit, std::map<std::string, std::string> options) {
  return generate("zb-auto", {.num_devices = 3,
                              .num_microbatches = 6,
                              .options = std::move(options),
                              .costs = stage_costs(5, 6, 4),
                              .memory_limit = limit});
}

/// How long the order takes with other costs, the slow way: as a schedule whose stages' times are looked up.
Ticks timed(const std::vector<OrderWord>& words, const PassCosts& costs) {
  constexpr std::array kOps{Op::kF, Op::kI, Op::kW};
  Schedule schedule = generate("zb-h1", {.num_devices = static_cast<std::int32_t>(words.size()),
                                         .num_microbatches = static_cast<std::int64_t>(words[0].size()) / 3});
  for (std::size_t d = 0; d < words.size(); ++d) {
    std::map<Op, std::int32_t> next;
    schedule.devices[d] = {};
    for (const std::uint8_t kind : words[d]) {
      const Op op = kOps[kind];
      Action action;
      action.stage = StageId{static_cast<std::int32_t>(d)};
      action.op = op;
      action.microbatch = MicrobatchId{next[op]++};
      schedule.devices[d].actions.push_back(action);
    }
  }
  const auto duration = [&](const Action& action) {
    const StagePasses& stage = costs.stages[index(action.stage)];
    return action.op == Op::kF ? stage.f.time : action.op == Op::kI ? stage.i.time : stage.w.time;
  };
  Ticks longest = 0;
  for (const auto& spans : list_times(schedule, duration, costs.comm).devices) {
    longest = std::max(longest, spans.back().end - spans.front().start);
  }
  return longest;
}

}  // namespace

TEST_CASE("the searched order is as long as the released scheduler's at every limit") {
  CHECK(span(example(6)) == 104);
  CHECK(span(example(9)) == 97);
  CHECK(span(example(12)) == 93);
}

TEST_CASE("zb-auto proves the order of four devices and eight microbatches that the released linear program finds") {
  const Schedule schedule =
      generate("zb-auto", {.num_devices = 4, .num_microbatches = 8, .costs = stage_costs(5, 6, 4), .memory_limit = 16});
  CHECK(span(schedule) == 125);
  CHECK(schedule.parameters.at("search_span_ms") == schedule.parameters.at("search_bound_ms"));
}

TEST_CASE("the hyper-parameters of the search have the effect that the released scheduler's have") {
  for (const std::string gap : {"yes", "no"}) {
    for (const std::string skip : {"yes", "no"}) {
      CAPTURE(gap);
      CAPTURE(skip);
      CHECK(span(example(6, {{"gap", gap}, {"skip", skip}, {"fill", "no"}})) == 104);
      CHECK(span(example(6, {{"gap", gap}, {"skip", skip}, {"fill", "yes"}})) == 107);
      for (const std::string fill : {"yes", "no"}) {
        CHECK(span(example(9, {{"gap", gap}, {"skip", skip}, {"fill", fill}})) == 97);
        const std::int64_t twice = span(example(12, {{"gap", gap}, {"skip", skip}, {"fill", fill}}));
        CHECK((twice == 93) == (gap == "no" && skip == "no"));
        CHECK(twice <= 97);
      }
    }
  }
}

TEST_CASE("the best order for twice the memory is the published one") {
  const Schedule schedule = example(12);
  CHECK(list_text(schedule, 0) == "0F0 0F1 0F2 0F3 0F4 0F5 0I0 0W0 0I1 0W1 0I2 0W2 0I3 0W3 0I4 0W4 0I5 0W5 0U0");
  CHECK(list_text(schedule, 1) == "1F0 1F1 1F2 1F3 1I0 1F4 1I1 1F5 1I2 1W0 1I3 1W1 1I4 1W2 1I5 1W3 1W4 1W5 1U0");
  CHECK(list_text(schedule, 2) == "2F0 2I0 2F1 2I1 2F2 2I2 2F3 2I3 2F4 2I4 2F5 2I5 2W0 2W1 2W2 2W3 2W4 2W5 2U0");
}

TEST_CASE("zb-auto keeps every limit from one activation up and gets no slower with more memory") {
  for (const std::int32_t p : {2, 4, 7}) {
    for (const std::int64_t m : {1, 3, 16}) {
      std::int64_t before = 1'000'000;
      for (const std::int64_t limit : {2, 3, 4, 8, 14, 28}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(limit);
        const Schedule schedule = generate("zb-auto", {.num_devices = p,
                                                       .num_microbatches = m,
                                                       .costs = stage_costs(5, 6, 4),
                                                       .memory_limit = static_cast<double>(limit)});
        CHECK(half_stash_peak(schedule) <= limit);
        CHECK(span(schedule) <= before);
        before = span(schedule);
      }
    }
  }
}

TEST_CASE("zb-1p is as good as zb-h1, zb-2p as good as zb-h2") {
  for (const std::int32_t p : {2, 4, 8}) {
    const ScheduleParams params{.num_devices = p, .num_microbatches = 3 * p, .costs = stage_costs(5, 6, 4)};
    CAPTURE(p);
    CHECK(span(generate("zb-1p", params)) <= span(generate("zb-h1", params)));
    CHECK(span(generate("zb-2p", params)) <= span(generate("zb-h2", params)));
    CHECK(half_stash_peak(generate("zb-1p", params)) <= 2 * p);
    CHECK(half_stash_peak(generate("zb-2p", params)) <= 4 * p);
  }
}

TEST_CASE("with equal passes zb-1p takes 24p + p - 1 for 8p microbatches") {
  for (const std::int32_t p : {8, 16}) {
    const Schedule schedule = generate("zb-1p", {.num_devices = p, .num_microbatches = 8 * std::int64_t{p}});
    CHECK(longest_device_span(schedule, kEqualPasses) == 24 * p + p - 1);
  }
}

TEST_CASE("stages that differ are never worse off than with the order for their median times") {
  for (const std::int64_t slow : {1, 4, 9}) {
    PassCosts costs;
    costs.stages.assign(6, {.f = {5, 2}, .i = {6, -1}, .w = {4, -1}});
    costs.stages.back().f.time += slow;
    costs.stages.front().i.time += slow;
    for (const std::int64_t limit : {12, 18, 24}) {
      const std::vector<std::int64_t> limits(6, limit);
      const auto own = search_zero_bubble(costs, limits, 18);
      const auto median = search_zero_bubble(*with_median_times(costs), limits, 18);
      REQUIRE(own);
      REQUIRE(median);
      CAPTURE(slow);
      CAPTURE(limit);
      CHECK(own->found <= timed(median->words, costs));
    }
  }
}

TEST_CASE("without given stashes zb-2p counts memory as its paper, so plain zb-2p has the published bubble rate") {
  // The paper's 6.2 B parameters with m = 24: 0.0029. Counted as whole stashes from F to W it would be 0.0607.
  const auto costs = [](std::int32_t num_stages) {
    StageCosts of;
    of.times.assign(static_cast<std::size_t>(num_stages), {.f = 29718, .b = 49371, .i = 29444, .w = 19927});
    of.comm = 527;
    return of;
  };
  const Schedule schedule = generate("zb-2p", {.num_devices = 8, .num_microbatches = 24, .costs = costs});
  const double work = 24 * (29718 + 29444 + 19927);
  const double span_ms = std::get<double>(schedule.parameters.at("search_span_ms"));
  CHECK(1 - work / (span_ms * 1e6) == doctest::Approx(0.0029).epsilon(0.01));
  CHECK(half_stash_peak(schedule) <= 4 * 8);
}

TEST_CASE("a searched schedule says its span and a bound that is proved, zb-1p of the paper that it is the shortest") {
  const auto said = [](const Schedule& schedule, const char* what) {
    return std::get<double>(schedule.parameters.at(what)) * 1e6;
  };
  const ScheduleParams params{.num_devices = 8, .num_microbatches = 24, .costs = stage_costs(5, 6, 4)};
  const Schedule one = generate("zb-1p", params);
  CHECK(said(one, "search_span_ms") == doctest::Approx(static_cast<double>(span(one))));
  CHECK(said(one, "search_bound_ms") == doctest::Approx(static_cast<double>(span(one))));
  const Schedule two = generate("zb-2p", params);
  CHECK(said(two, "search_span_ms") == doctest::Approx(static_cast<double>(span(two))));
  CHECK(said(two, "search_bound_ms") <= static_cast<double>(span(two)));
  CHECK(said(two, "search_bound_ms") >= 24 * 15);
}

TEST_CASE("zb-auto with little memory is far shorter than the published heuristic, and never longer") {
  for (const std::int64_t limit : {4, 6, 9, 12, 20}) {
    const auto order = [&](const char* improve) {
      return generate("zb-auto", {.num_devices = 8,
                                  .num_microbatches = 24,
                                  .options = {{"improve", improve}},
                                  .costs = stage_costs(5, 6, 4),
                                  .memory_limit = static_cast<double>(limit)});
    };
    CAPTURE(limit);
    CHECK(span(order("yes")) <= span(order("no")));
    CHECK(half_stash_peak(order("yes")) <= limit);
    if (limit == 9) CHECK(2 * span(order("yes")) < span(order("no")));
  }
}

TEST_CASE("proof finds the order of 125 that the authors' integer programme finds, and proves it") {
  const Schedule schedule = generate("zb-auto", {.num_devices = 4,
                                                 .num_microbatches = 8,
                                                 .options = {{"proof", "1"}},
                                                 .costs = stage_costs(5, 6, 4),
                                                 .memory_limit = 16});
  CHECK(span(schedule) == 125);
  CHECK(schedule.parameters.at("search_bound_ms") == schedule.parameters.at("search_span_ms"));
}

TEST_CASE("a proof is refused where it cannot be had: too many passes, or states") {
  const auto message = [](std::int64_t m, const char* proof) {
    return error_message([&] {
      generate("zb-auto", {.num_devices = 4, .num_microbatches = m, .options = {{"proof", proof}}});
    });
  };
  CHECK(message(2084, "1") == "zb-auto: option proof: the problem has 25008 passes, expected at most 25000");
  CHECK(message(8, "1000001") == "zb-auto: option proof: expected at most 1000000, found '1000001'");
  CHECK(message(8, "1").empty());
}

TEST_CASE("a first stage slower than those behind it still runs all its forwards") {
  const auto costs = [](std::int32_t num_stages) {
    StageCosts of = stage_costs(0, 0, 0)(num_stages);
    const std::array<std::array<std::int64_t, 3>, 4> measured{
        {{75, 40, 22}, {47, 89, 24}, {48, 116, 38}, {43, 155, 30}}};
    for (std::size_t s = 0; s < of.times.size(); ++s) {
      const auto [f, i, w] = measured[s];
      of.times[s] = {.f = f, .b = i + w, .i = i, .w = w};
    }
    return of;
  };
  for (const std::string name : {"zb-1p", "zb-2p", "zb-auto"}) {
    CAPTURE(name);
    CHECK(validate(generate(name, {.num_devices = 4, .num_microbatches = 8, .costs = costs})).empty());
  }
}

TEST_CASE("a limit that holds not even one activation is refused") {
  const auto with_limit = [](double limit) {
    return error_message(
        [&] { generate("zb-auto", {.num_devices = 2, .num_microbatches = 2, .memory_limit = limit}); });
  };
  CHECK(with_limit(0.5) == "zb-auto: the memory limit must hold what the forward of one microbatch keeps");
  CHECK(with_limit(1).empty());
}

TEST_CASE("where I makes more than it frees, every forward leaves room for the I that must follow") {
  const auto costs = [](std::int32_t num_stages) {
    StageCosts of = stage_costs(1, 1, 1)(num_stages);
    for (StageMemory& memory : of.memory) {
      memory.stash.push_back({"made by I for W", 4, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad});
    }
    return of;
  };
  const auto schedule = [&](std::string_view name, double limit) {
    return generate(name, {.num_devices = 3, .num_microbatches = 6, .costs = costs, .memory_limit = limit});
  };
  // Between 1F1B (24) and what free memory allows (20): little room is left for W to be put off.
  CHECK(longest_device_span(schedule("zb-1p", 0), kEqualPasses) == 22);
  // One microbatch at a time: F 2, I 3 more, W frees all.
  CHECK(list_text(schedule("zb-auto", 5), 0).starts_with("0F0 0I0 0W0 0F1 0I1 0W1"));
  CHECK_THROWS_AS(schedule("zb-auto", 4), Error);
}

TEST_CASE("the picture of zb-2p is the one in tests/golden") {
  const std::string actual = picture(generate("zb-2p", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/zb_2p.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
