#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/program/in_flight.hpp"
#include "sim/plan_search/bounds/copy_bounds.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/bounds/steady_bounds.hpp"
#include "sim/plan_search/plan_setups.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "tests/support/drawn_prices.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

using Places = std::vector<std::vector<std::vector<DeviceId>>>;

/// Priced stages with small numbers on devices of two nodes, whose speeds are powers of two.
PricedStages drawn_stages(std::mt19937& random, std::size_t stages, std::int32_t devices, bool alike) {
  const auto draw = [&](std::int64_t low, std::int64_t high) { return drawn_number(random, low, high); };
  PricedStages priced;
  for (std::size_t s = 0; s < stages; ++s) {
    priced.costs.times.push_back(
        {.f = draw(3, 30), .b = draw(6, 50), .i = draw(3, 30), .w = draw(3, 30), .u = draw(2, 9)});
    priced.costs.memory.push_back(
        {.weight_bytes = draw(1, 9), .gradient_bytes = draw(1, 90), .optimizer_bytes = draw(1, 9)});
    priced.costs.memory.back().output_bytes = draw(1, 40);
    priced.costs.memory.back().input_grad_bytes = draw(1, 40);
  }
  constexpr std::array kSpeeds{0.5, 1.0, 2.0};
  for (std::int32_t d = 0; d < devices; ++d) {
    DeviceSpec device;
    device.speed = alike ? 1.0 : kSpeeds[static_cast<std::size_t>(draw(0, 2))];
    priced.pipeline.devices.push_back(device);
  }
  priced.pipeline.devices_per_node = devices / 2;
  priced.pipeline.intra_node = {.latency_ns = draw(0, 4), .bytes_per_s = 2e9};
  priced.pipeline.inter_node = {.latency_ns = draw(4, 9), .bytes_per_s = 5e8};
  priced.pipeline.finish();
  return priced;
}

Ticks backward_of(const StageTimes& times) { return std::min(times.b, times.i + times.w); }

/// On its device, as long as it takes at least: a tick less for each rounding where the speed is not 1.
Ticks at_least(Ticks ticks, double speed, Ticks roundings) {
  const auto whole = static_cast<Ticks>(std::floor(static_cast<double>(ticks) / speed));
  return speed == 1 ? whole : std::max<Ticks>(0, whole - roundings);
}

double speed_at(const PricedStages& priced, DeviceId device) { return priced.pipeline.devices[index(device)].speed; }

/// A message and its time in the link.
std::pair<Ticks, Ticks> message_of(const PricedStages& priced, DeviceId from, DeviceId to, std::int64_t bytes) {
  if (from == to) return {0, 0};
  if (priced.costs.comm) return {*priced.costs.comm, 0};
  const Route route = priced.pipeline.route(from, to);
  const auto sending = static_cast<Ticks>(std::floor(static_cast<double>(bytes) / route.bytes_per_s * 1e9));
  return {sending + route.latency_ns, sending};
}

/// The words of `placement_bound`, device by device.
Ticks plain_placement(const PricedStages& priced, const std::vector<DeviceId>& at, std::int64_t m) {
  const std::size_t n = at.size();
  std::vector<Ticks> before(n + 1, 0);  // forwards and messages before stage s
  std::vector<Ticks> behind(n + 1, 0);  // gradients and messages of the stages before it
  Ticks bound = 0;
  const auto forward = [&](std::size_t s) { return at_least(priced.costs.times[s].f, speed_at(priced, at[s]), 1); };
  const auto input = [&](std::size_t s) {
    return at_least(std::min(priced.costs.times[s].b, priced.costs.times[s].i), speed_at(priced, at[s]), 1);
  };
  const auto backward = [&](std::size_t s) {
    return at_least(backward_of(priced.costs.times[s]), speed_at(priced, at[s]), 2);
  };
  for (std::size_t s = 0; s < n; ++s) {
    before[s + 1] = before[s] + forward(s);
    behind[s + 1] = behind[s] + input(s);
    if (s + 1 == n || priced.costs.memory.empty()) continue;
    const auto [down, carried] = message_of(priced, at[s], at[s + 1], priced.costs.memory[s].output_bytes);
    const auto [up, carried_up] = message_of(priced, at[s + 1], at[s], priced.costs.memory[s + 1].input_grad_bytes);
    bound = std::max(bound, before[s + 1] + m * carried);
    before[s + 1] += down;
    behind[s + 1] += up;
  }
  for (std::size_t first = 0; first < n; ++first) {
    Ticks forwards = 0;
    Ticks inputs = 0;
    Ticks backwards = 0;
    Ticks update = 0;
    std::size_t first_of_device = n;
    std::size_t last_of_device = 0;
    for (std::size_t s = 0; s < n; ++s) {
      if (at[s] != at[first]) continue;
      if (s >= first) forwards += forward(s);
      inputs += input(s);
      backwards += backward(s);
      update += at_least(priced.costs.times[s].u, speed_at(priced, at[s]), 1);
      first_of_device = std::min(first_of_device, s);
      last_of_device = s;
    }
    const Ticks comes_back = before[n] + behind[n] - behind[last_of_device] - input(last_of_device);
    for (const auto& [from, own] : {std::pair{before[first], forwards}, std::pair{comes_back, Ticks{0}}}) {
      bound =
          std::max({bound, from + m * (own + backwards) + update, from + m * (own + inputs) + behind[first_of_device]});
    }
  }
  return bound;
}

Places in_places(const std::vector<DeviceId>& at) {
  Places placement(1);
  for (const DeviceId device : at) placement[0].push_back({device});
  return placement;
}

std::vector<DeviceId> drawn_devices(std::mt19937& random, std::size_t stages, std::int32_t devices) {
  std::vector<DeviceId> at;
  for (std::size_t s = 0; s < stages; ++s)
    at.push_back(DeviceId{static_cast<std::int32_t>(drawn_number(random, 0, devices - 1))});
  return at;
}

}  // namespace

TEST_CASE("the bound of a placement is the largest that one of its devices or links needs") {
  std::mt19937 random(44);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto stages = static_cast<std::size_t>(drawn_number(random, 1, 6));
    PricedStages priced = drawn_stages(random, stages, 4, round % 2 == 0);
    if (round % 5 == 1) priced.costs.comm = 7;
    if (round % 5 == 2) priced.costs.memory.clear();
    const std::vector<DeviceId> at = drawn_devices(random, stages, 4);
    const std::int64_t m = drawn_number(random, 1, 6);
    CHECK(placement_bound(priced, in_places(at), m) == plain_placement(priced, at, m));
    // Never flushed: 31 of 32 parts of what a device computes, or a link carries.
    std::map<DeviceId, Ticks> computes;
    std::map<std::pair<DeviceId, DeviceId>, Ticks> carries;
    for (std::size_t s = 0; s < stages; ++s) {
      const StageTimes& times = priced.costs.times[s];
      const double speed = speed_at(priced, at[s]);
      computes[at[s]] += m * at_least(times.f + backward_of(times), speed, 3) + at_least(times.u, speed, 1);
      if (s == 0 || priced.costs.memory.empty()) continue;
      carries[{at[s - 1], at[s]}] +=
          m * message_of(priced, at[s - 1], at[s], priced.costs.memory[s - 1].output_bytes).second;
      carries[{at[s], at[s - 1]}] +=
          m * message_of(priced, at[s], at[s - 1], priced.costs.memory[s].input_grad_bytes).second;
    }
    Ticks most = 0;
    for (const auto& [device, ticks] : computes) most = std::max(most, ticks);
    for (const auto& [link, ticks] : carries) most = std::max(most, ticks);
    CHECK(steady_placement_bound(priced, in_places(at), m) == most / 32 * 31);
  }
}

TEST_CASE("nothing is proved of copies, and of stages with several holders, by where their stages stand") {
  std::mt19937 random(45);
  const PricedStages priced = drawn_stages(random, 2, 4, true);
  const Places one = in_places({DeviceId{0}, DeviceId{1}});
  const Places two{one[0], one[0]};
  const Places held{{{DeviceId{0}}, {DeviceId{1}, DeviceId{2}}}};
  CHECK(placement_bound(priced, one, 2) > 0);
  CHECK(steady_placement_bound(priced, one, 20) > 0);
  for (const Places& several : {two, held}) {
    CHECK(placement_bound(priced, several, 2) == 0);
    CHECK(steady_placement_bound(priced, several, 20) == 0);
  }
}

TEST_CASE("a place lacks what its stages hold and the fullest of them keeps, beyond what it can use") {
  std::mt19937 random(46);
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "interleaved", "chimera"}) {
    CAPTURE(name);
    const Schedule schedule =
        generate(name, {.num_devices = 4, .num_microbatches = 8, .chunks = std::string(name) == "interleaved" ? 2 : 1});
    PricedStages priced = drawn_stages(random, static_cast<std::size_t>(schedule.num_stages), 4, true);
    for (StageMemory& memory : priced.costs.memory) {
      memory.input_bytes = drawn_number(random, 1, 9);
      memory.input_last_use = LastUse::kInputGrad;
      memory.stash = {
          {.name = "read by I", .bytes = drawn_number(random, 1, 9), .last_use = LastUse::kInputGrad},
          {.name = "read by W", .bytes = drawn_number(random, 1, 9), .last_use = LastUse::kWeightGrad},
          {.name = "of I", .bytes = 99, .made_by = StashTensor::MadeBy::kInputGrad, .last_use = LastUse::kWeightGrad}};
    }
    const std::vector<std::int64_t> in_flight = peak_in_flight(schedule);
    const bool split = std::string(name) == "zb-h1";
    std::vector<std::int64_t> needs(4, 0);
    std::vector<std::int64_t> keeps(4, 0);
    for (const auto& copy : schedule.placement) {
      for (std::size_t s = 0; s < copy.size(); ++s) {
        const StageMemory& memory = priced.costs.memory[s];
        const std::int64_t stash = memory.stash[1].bytes + (split ? 0 : memory.stash[0].bytes + memory.input_bytes);
        const auto device = index(copy[s].front());
        needs[device] += memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes;
        if (schedule.placement.size() == 1) keeps[device] = std::max(keeps[device], in_flight[s] * stash);
      }
    }
    for (const std::int64_t less : {-1, 0, 1, 20}) {
      priced.usable_bytes.clear();
      for (std::size_t d = 0; d < 4; ++d) priced.usable_bytes.push_back(needs[d] + keeps[d] - less);
      priced.usable_bytes[3] = 0;  // no limit
      CHECK(excess_by_place(priced, schedule) == std::vector<std::int64_t>{std::max<std::int64_t>(0, less),
                                                                           std::max<std::int64_t>(0, less),
                                                                           std::max<std::int64_t>(0, less), 0});
    }
    Schedule again = schedule;
    again.recompute.push_back({.first_stage = 0, .last_stage = 0});
    CHECK(excess_by_place(priced, again) == std::vector<std::int64_t>(4, 0));
    again = schedule;
    again.devices[0].actions.front().op = Op::kEvict;
    CHECK(excess_by_place(priced, again) == std::vector<std::int64_t>(4, 0));
    priced.costs.memory.clear();
    CHECK(excess_by_place(priced, schedule) == std::vector<std::int64_t>(4, 0));
  }
}

TEST_CASE(
    "documents of pipelines that never flush are as long as their steady share needs, and keep to their microbatches") {
  // K updates of m microbatches: between 2 for filling and draining there are n of which 32 n m >= 31 n m + 2 p 32.
  for (const std::int32_t places : {1, 2, 3, 8}) {
    CHECK(most_ahead(places) == 2 * places);
    for (const std::int64_t m : {1, 2, 5, 64, 66, 67}) {
      CAPTURE(places);
      CAPTURE(m);
      const std::int64_t between = scored_updates(places, m) - 2;
      CHECK(between * m >= 33 * 2 * places);
      CHECK((between - 1) * m < 33 * 2 * places);
    }
  }
  Schedule schedule = generate("pipedream", {.num_devices = 4, .num_microbatches = 1, .updates = 12});
  check_ahead(schedule);  // 4 in flight
  const Schedule many = generate("gpipe", {.num_devices = 4, .num_microbatches = 9});
  CHECK(error_message([&] { check_ahead(many); }) ==
        "schedule 'gpipe': has 9 microbatches in flight, expected at most 8");
  check_ahead(generate("gpipe", {.num_devices = 4, .num_microbatches = 8}));
  std::mt19937 random(47);
  const LayerPrices prices = drawn_prices(random, 3, 4, 2, 0);
  CHECK(steady_setup_bound(prices, 3, 50) == setup_bound(prices, 3, 50, {.sliced = true}) / 32 * 31);
}

TEST_CASE("a plan at its places is bounded as a pipeline that flushes or never does, or as copies with their shares") {
  std::mt19937 random(50);
  const auto variant_of_name = [](const char* name) {
    return schedule_variants({.chunks = {2}, .schedules = {name}}).front();
  };
  int unlike = 0;
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    PricedStages priced = drawn_stages(random, 2, 4, round % 2 == 0);
    for (StageTimes& times : priced.costs.times) times.f_comm.shown = 2;
    const std::vector<std::int32_t> order{2, 1};
    const Places there = in_places({DeviceId{2}, DeviceId{1}});
    PlanSetup setup{.places = 2, .microbatches = drawn_number(random, 1, 6)};
    const Ticks flushed = placement_bound(priced, there, setup.microbatches);
    const Ticks steady = steady_placement_bound(priced, there, setup.microbatches);
    CHECK(placed_bound(setup, variant_of_name("1f1b"), {order}, priced) == flushed);
    CHECK(placed_bound(setup, variant_of_name("pipedream"), {order}, priced) == steady);
    CHECK(placed_bound(setup, variant_of_name("1f1b-overlap"), {order}, priced) ==
          placement_bound(without_communication(priced), there, setup.microbatches));
    unlike += flushed != steady ? 1 : 0;
    setup.copies = 2;
    setup.microbatches = 7;
    const std::vector<std::int32_t> all{2, 1, 0, 3};
    const CopiesPlacement copies{there[0], in_places({DeviceId{0}, DeviceId{3}})[0]};
    const std::vector<std::int64_t> shares{2, 5};
    CHECK(placed_bound(setup, variant_of_name("1f1b"), {all, shares}, priced) == copies_bound(priced, copies, shares));
    CHECK(placed_bound(setup, variant_of_name("1f1b"), {all, {}}, priced) ==
          copies_bound(priced, copies, least_bounded_shares(priced, copies, 7)));
  }
  CHECK(unlike > 20);
}

TEST_CASE("the bound of copies is the slowest copy's, with the ring in which its stages' holders add up gradients") {
  std::mt19937 random(48);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    PricedStages priced = drawn_stages(random, 2, 4, round % 2 == 0);
    if (round % 4 == 1) priced.costs.times[1].all_reduce = 90;
    if (round % 4 == 2) priced.costs.tied = {{StageId{0}, StageId{1}, 5}, {StageId{0}, StageId{0}, 3}};
    const CopiesPlacement placement{{{DeviceId{0}}, {DeviceId{1}}}, {{DeviceId{2}}, {DeviceId{3}}}};
    std::vector<std::int64_t> shares{drawn_number(random, 1, 6), drawn_number(random, 1, 6)};
    Ticks bound = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      bound = std::max(bound, placement_bound(priced, {placement[k]}, shares[k]));
      Ticks before = 0;
      for (std::size_t s = 0; s < 2; ++s) {
        const StageTimes& times = priced.costs.times[s];
        const double speed = speed_at(priced, placement[k][s].front());
        const std::int64_t bytes =
            std::max<std::int64_t>(0, priced.costs.memory[s].gradient_bytes - (round % 4 == 2 ? 5 : 0));
        // Two steps of half the bytes between the nodes of the two holders, two nanoseconds a byte.
        const double step = static_cast<double>(priced.pipeline.inter_node.latency_ns) + static_cast<double>(bytes);
        auto ring = static_cast<Ticks>(std::floor(2 * step)) - 1;
        if (times.all_reduce > 0) ring = times.all_reduce;
        const Ticks passes = at_least(times.f, speed, 1) + at_least(backward_of(times), speed, 2);
        bound = std::max(bound, before + shares[k] * passes + std::max<Ticks>(0, ring) + at_least(times.u, speed, 1));
        before += at_least(times.f, speed, 1);
      }
    }
    CHECK(copies_bound(priced, placement, shares) == bound);
    // The best shares of so many microbatches, in units: no other way to give them is better.
    const std::int64_t unit = 1 + round % 2;
    const auto least = least_bounded_shares(priced, placement, 8 * unit, unit, unit);
    CHECK(least[0] + least[1] == 8 * unit);
    CHECK((least[0] >= unit && least[1] >= unit && least[0] % unit == 0));
    for (std::int64_t one = unit; one < 8 * unit; one += unit) {
      CHECK(copies_bound(priced, placement, least) <= copies_bound(priced, placement, {one, 8 * unit - one}));
    }
  }
}

TEST_CASE("a setup of copies is bounded by its work, by one pipeline's share, and by a ring of the fullest stage") {
  std::mt19937 random(49);
  int by_ring = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    LayerPrices prices = drawn_prices(random, 3, 6, 3, 0);
    prices.least_gradient_bytes *= 1 + 20 * (round % 2);
    const std::int64_t m = drawn_number(random, 3, 8);
    const CopiesSetup setup{.places = 2, .copies = 3, .microbatches = m, .stages = 2};
    const ScheduleKinds kinds{.linear = true, .fuses = true};
    const std::vector<double> speed(6, 1.0);
    // A third of half the gradients in each of four steps between places that may be in one node.
    const double part = static_cast<double>(prices.least_gradient_bytes / 2) / 3;
    const double near = static_cast<double>(prices.near.latency_ns) + part / 4e9 * 1e9;
    const double far = static_cast<double>(prices.far.latency_ns) + part / 1e9 * 1e9;
    const auto ring = static_cast<Ticks>(std::floor(4 * std::min(near, far) - 1));
    const Ticks reduced = ring > 0 ? std::max<Ticks>(0, prices.whole.f - 3) - 3 + ring : 0;
    const Ticks work = held_bound(prices, speed, m, kinds) - 1;
    const Ticks others = std::max(work, setup_bound(prices, 2, (m + 2) / 3, kinds));
    CHECK(copies_setup_bound(prices, setup, kinds) == std::max(others, reduced));
    by_ring += reduced > others ? 1 : 0;
  }
  CHECK(by_ring > 5);
}

}  // namespace plumb::testing

TEST_SUITE_END();
