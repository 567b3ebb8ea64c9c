#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/checks/validate.hpp"
#include "tests/trainer/methods/scalar_pipeline.hpp"
#include "tests/trainer/predicted_run.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb::scalar {
namespace {

constexpr std::int64_t kRecomputedUpdates = 12;

/// PipeMare on three stages, one by one, where stage 0 runs its forwards again just before the update in front of their
/// backwards: forwards are two updates late there, replays one, backwards none.
Schedule with_replays() {
  Schedule schedule = generate(
      "pipemare",
      {.num_devices = 3, .num_microbatches = 1, .updates = kRecomputedUpdates, .options = {{"timing", "1f1b"}}});
  DeviceList list;
  for (const Action& action : expand(schedule.devices[0])) {
    Action replay = action;
    replay.op = Op::kR;
    if (action.op == Op::kB && action.microbatch == MicrobatchId{0}) list.actions.push_back(replay);
    list.actions.push_back(action);
    replay.microbatch = MicrobatchId{static_cast<std::int32_t>(action.microbatch) + 1};
    if (action.op == Op::kB && static_cast<std::int32_t>(replay.microbatch) < kRecomputedUpdates)
      list.actions.push_back(replay);
  }
  schedule.devices[0] = list;
  return schedule;
}

/// y = w3 w2 b a x: the first stage has two factors, so that what is run again matters.
TrainOptions four_factors(Schedule schedule) {
  TrainOptions options = three_factors(std::move(schedule));
  options.model.network.layers.insert(
      options.model.network.layers.begin() + 1,
      {.kind = LayerKind::kLinear, .name = "a", .width = 1, .outputs = 1, .bias = false});
  options.model.initial_parameters["a.weight"] = {0.95};
  options.model.partition = {{0, 3, 4, 6}};
  return options;
}

/// The versions of `a`, as a loop; the velocity kept as delta.
std::vector<double> plain(bool corrected) {
  std::vector<double> a{0.95};
  std::vector<double> b{0.9};
  std::vector<double> w2{0.8};
  std::vector<double> w3{0.7};
  double delta_b = 0;
  const auto late = [](std::size_t k, std::size_t updates) { return k < updates ? 0 : k - updates; };
  for (std::size_t k = 0; k < kRecomputedUpdates; ++k) {
    const double x = 1 + 0.25 * static_cast<double>(k % 4);
    const double y0 = b[late(k, 2)] * a[late(k, 2)] * x;
    const double y1 = w2[late(k, 1)] * y0;
    const double g2 = w3[k] * y1 - 1.5 * x;
    const double g1 = g2 * w3[k];
    const double g0 = g1 * w2[corrected ? late(k, 1) : k];  // t2 with a delay of one update: the version itself
    const double again = a[corrected ? late(k, 2) : late(k, 1)] * x;
    const double read_b = b[k] - (corrected ? 2 * delta_b : 0);
    a.push_back(a[k] - 0.05 * g0 * read_b * x);
    b.push_back(b[k] - 0.05 * g0 * again);
    w2.push_back(w2[k] - 0.05 * g1 * y0);
    w3.push_back(w3[k] - 0.05 * g2 * y1);
    delta_b = delta_b / 3 + (b[k + 1] - b[k]) * 2 / 3;
  }
  return a;
}

/// y = w4 w3 w2 w1 x, a factor per stage, in slots.
TrainOptions four_stages(Schedule schedule) {
  TrainOptions options = three_factors(std::move(schedule));
  options.model.network.layers.insert(
      options.model.network.layers.end() - 1,
      {.kind = LayerKind::kLinear, .name = "w4", .width = 1, .outputs = 1, .bias = false});
  options.model.initial_parameters["w4.weight"] = {0.95};
  options.model.partition = {{0, 2, 3, 4, 6}};
  return options;
}

/// A weight with T2's two extrapolations, by version: for backwards, `lag` updates, and for replays, `replay_lag`.
struct CorrectedWeight {
  double lag = 0;
  double replay_lag = 0;
  std::vector<double> w;
  std::vector<double> delta{0};
  std::vector<double> replay_delta{0};

  double newest(std::size_t k, std::size_t updates) const { return w[k < updates ? 0 : k - updates]; }
  double backward(std::size_t k) const { return w[k] - lag * delta[k]; }
  double replay(std::size_t k, std::size_t updates) const {
    const std::size_t v = k < updates ? 0 : k - updates;
    return w[v] - replay_lag * replay_delta[v];
  }
  void update(double gradient) {
    w.push_back(w.back() - 0.05 * gradient);
    const double step = w.back() - w[w.size() - 2];
    for (const auto& [of, mean] : {std::pair{lag, &delta}, std::pair{replay_lag, &replay_delta}}) {
      const double gamma = std::max(0.0, 1 - 2 / (of + 1));
      mean->push_back(gamma * mean->back() + (1 - gamma) * step);
    }
  }
};

/// Four stages in two segments of two, one microbatch per update: forwards are 7, 5, 3, 1 updates late, replays 3, 1,
/// 3, 1 (PipeMare-Recompute: 2 (S - r) + 1 slots before the backward), backwards none. The versions of all weights.
std::vector<std::vector<double>> plain_segments(std::size_t updates, bool corrected) {
  const double on = corrected ? 1 : 0;
  std::vector<CorrectedWeight> s{{7 * on, 4 * on, {0.9}}, {5 * on, 4 * on, {0.8}}, {3 * on, 0, {0.7}}, {on, 0, {0.95}}};
  for (std::size_t k = 0; k < updates; ++k) {
    const double x = 1 + 0.25 * static_cast<double>(k % 4);
    const double y2 = s[1].newest(k, 5) * s[0].newest(k, 7) * x;  // what the second segment keeps
    const double z1 = s[0].replay(k, 3) * x;
    const double z3 = s[2].replay(k, 3) * y2;
    const double g4 = s[3].replay(k, 1) * z3 - 1.5 * x;
    const double g3 = g4 * s[3].backward(k);
    const double g2 = g3 * s[2].backward(k);
    const double g1 = g2 * s[1].backward(k);
    s[0].update(g1 * x);
    s[1].update(g2 * z1);
    s[2].update(g3 * y2);
    s[3].update(g4 * z3);
  }
  return {s[0].w, s[1].w, s[2].w, s[3].w};
}

}  // namespace

TEST_CASE("t2 with recompute over segments is its formula: backwards and replays extrapolated, each by its own delay") {
  constexpr std::int64_t kLong = 32;
  for (const bool corrected : {false, true}) {
    CAPTURE(corrected);
    const Schedule schedule = generate("pipemare", {.num_devices = 4,
                                                    .num_microbatches = 1,
                                                    .updates = kLong,
                                                    .options = {{"timing", "slots"}, {"segment", "2"}}});
    const TrainOptions options = four_stages(with_methods(schedule, corrected ? "t2" : ""));
    recorded().clear();
    const TrainResult result = train(options);
    check_same_memory(result.timeline.value(), predicted(options));
    const std::vector<std::vector<double>> expected = plain_segments(static_cast<std::size_t>(kLong), corrected);
    const std::vector<std::string> names{"w1.weight", "w2.weight", "w3.weight", "w4.weight"};
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(names[i]);
      const std::vector<double>& versions = recorded().at(names[i]);
      REQUIRE(versions.size() == expected[i].size());
      for (std::size_t v = 0; v < versions.size(); ++v) CHECK(std::abs(versions[v] - expected[i][v]) < 1e-12);
    }
  }
}

TEST_CASE("t2 corrects what is run again by its own delay, with one more buffer, and memory is as predicted") {
  for (const bool corrected : {false, true}) {
    CAPTURE(corrected);
    const Schedule schedule = with_methods(with_replays(), corrected ? "t2" : "");
    REQUIRE(validate(schedule).empty());
    const TrainOptions options = four_factors(schedule);
    recorded().clear();
    const TrainResult result = train(options);
    check_same_memory(result.timeline.value(), predicted(options));
    const std::vector<double>& versions = recorded().at("a.weight");
    const std::vector<double> expected = plain(corrected);
    REQUIRE(versions.size() == expected.size());
    for (std::size_t v = 0; v < expected.size(); ++v) {
      CAPTURE(v);
      CHECK(std::abs(versions[v] - expected[v]) < 1e-13);
    }
  }
  CHECK(std::abs(plain(true).back() - plain(false).back()) > 1e-4);
}

}  // namespace plumb::scalar

TEST_SUITE_END();
