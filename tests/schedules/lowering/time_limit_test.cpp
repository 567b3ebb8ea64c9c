#include "schedules/lowering/time_limit.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/program_builder.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

using Place = ProgramBuilder::Place;

constexpr Ticks kMost = Ticks{1} << 61;

bool fits(const Program& program) {
  return error_message([&] { check_time(program, "x"); }).empty();
}

/// Whether exactly `more` is what `program` takes besides its first action.
bool takes_besides(Program program, Ticks more) {
  program.durations[0] = kMost - more;
  const bool at_most = fits(program);
  program.durations[0] += 1;
  return at_most && !fits(program);
}

ProgramBuilder two_lanes(const Route& route = {0, 1e9, {}, false}) {
  return ProgramBuilder(ProgramBuilder::Lanes{{0, 5}, {7, 0}}, route);
}

/// Two lanes and a message between them over `route`.
Program with_message(const Route& route, std::int64_t bytes, std::int64_t ticks_per_ns = 1) {
  ProgramBuilder builder = two_lanes(route);
  builder.message(Place{0, 0}, Place{1, 1}, bytes);
  Program program = builder.build();
  program.base.ticks_per_ns = ticks_per_ns;
  return program;
}

/// One F of stage 0 for every entry, in a list with repeats.
Schedule repeated(std::size_t actions, const std::vector<Repeat>& repeats) {
  Schedule schedule;
  schedule.name = "long";
  schedule.num_devices = schedule.num_stages = 1;
  schedule.devices.resize(1);
  for (std::size_t k = 0; k < actions; ++k) schedule.devices[0].actions.push_back(action_of(0, Op::kF, 0));
  schedule.devices[0].repeats = repeats;
  return schedule;
}

bool fits(const Schedule& schedule, const Program& program) {
  return error_message([&] { check_time(schedule, program); }).empty();
}

}  // namespace

TEST_CASE("actions, messages, latencies and collectives may take 2^61 ticks together, and not one more") {
  CHECK(takes_besides(two_lanes().build(), 5 + 7));
  CHECK(takes_besides(with_message({3, 1e9, {}, false}, 100), 12 + 3 + 100 + 1));
  CHECK(takes_besides(with_message({3, 0, {}, false}, 100), 12 + 3));
  CHECK(takes_besides(with_message({3, 1e9, {}, false}, 0), 12 + 3));
  CHECK(takes_besides(with_message({3, 3, {}, false}, 10), 12 + 3 + 3'333'333'333 + 1));
  CHECK(takes_besides(with_message({3, 3.9, {}, false}, 10), 12 + 3 + 3'333'333'333 + 1));  // at 3 bytes per second
  CHECK(takes_besides(with_message({0, 0.5, {}, false}, 2), 12 + 2'000'000'000 + 1));       // at 1
  CHECK(takes_besides(with_message({0, 1, {}, false}, 2), 12 + 2'000'000'000 + 1));
  CHECK(takes_besides(with_message({0, 1e300, {}, false}, 1), 12 + 1));
  CHECK(takes_besides(with_message({5, 1e9, {}, false}, 100, 7), 12 + 7 * (5 + 100) + 1));
  ProgramBuilder builder = two_lanes();
  builder.message(Place{0, 0}, Place{1, 1}, 10);
  builder.message(Place{1, 0}, Place{0, 1}, 20);
  CHECK(takes_besides(builder.build(), 12 + 10 + 1 + 20 + 1));
  builder = two_lanes();
  builder.latency(Place{0, 0}, Place{1, 1}, 9);
  builder.latency(Place{1, 0}, Place{0, 1}, 9);
  builder.direct(Place{0, 0}, Place{1, 0});
  CHECK(takes_besides(builder.build(), 12 + 9 + 9));
  builder = two_lanes();
  builder.collective({Place{0, 1}, Place{1, 0}}, Place{1, 1}, 30);
  builder.collective({Place{0, 1}, Place{1, 0}}, Place{1, 1}, 40);
  CHECK(takes_besides(builder.build(), 12 + 30 + 40));
}

TEST_CASE("what is longer than the limit by itself is refused: a message, a latency, a collective, an action") {
  CHECK_FALSE(fits(with_message({0, 1, {}, false}, std::int64_t{1} << 40)));
  CHECK_FALSE(fits(with_message({kMost, 1e9, {}, false}, 1)));
  CHECK_FALSE(fits(with_message({kMost / 100, 1e9, {}, false}, 1, 101)));
  ProgramBuilder builder = two_lanes();
  builder.latency(Place{0, 0}, Place{1, 1}, kMost);
  CHECK_FALSE(fits(builder.build()));
  builder = two_lanes();
  builder.collective({Place{0, 1}, Place{1, 0}}, Place{1, 1}, kMost);
  CHECK_FALSE(fits(builder.build()));
  CHECK_FALSE(fits(ProgramBuilder(ProgramBuilder::Lanes{{kMost, 1}}).build()));
  CHECK(fits(ProgramBuilder(ProgramBuilder::Lanes{{kMost, 0}}).build()));
  CHECK(fits(ProgramBuilder(ProgramBuilder::Lanes{{}}).build()));
}

TEST_CASE("the calls of a runtime count: the host before actions, the longer kind of a send, a receive") {
  Program program = with_message({3, 1e9, {}, false}, 100);
  program.runtime.host.assign(program.rows.size(), 2);
  CHECK(takes_besides(program, 12 + 3 + 100 + 1 + 4 * 2));
  program.runtime.calls = {{.send = 11, .send_posted = 13, .receive = 17}};
  CHECK(takes_besides(program, 12 + 3 + 100 + 1 + 4 * 2 + 13 + 17));
  program.runtime.calls = {{.send = 19, .send_posted = 13, .receive = 17}};
  CHECK(takes_besides(program, 12 + 3 + 100 + 1 + 4 * 2 + 19 + 17));
}

TEST_CASE("where actions may take longer than their time, the most that they can counts") {
  // `times`: how much longer; the sum of a program with one action of 2^61 / times fits, a little more does not.
  const auto is_slowed = [](Program program, double times) {
    const auto most = static_cast<double>(kMost) / times;
    program.durations = {static_cast<Ticks>(most * 0.9999)};
    if (!fits(program)) return false;
    program.durations = {static_cast<Ticks>(most * 1.0001)};
    return !fits(program);
  };
  const Program one = ProgramBuilder(ProgramBuilder::Lanes{{1}}).build();
  CHECK(is_slowed(one, 1));
  Program program = one;
  program.device_specs.resize(3);
  CHECK(is_slowed(program, 1));
  program.device_specs[1].jitter = 0.2;
  program.device_specs[2].jitter = 0.1;
  CHECK(is_slowed(program, 1 + 3.5 * 0.2));
  program = one;
  program.contention.slowdowns.resize(2);
  CHECK(is_slowed(program, 1));
  program.contention.slowdowns[0].gamma = {0.5, 3, 1};
  CHECK(is_slowed(program, 4));
  program.contention.slowdowns[1].gamma = {-2, -1};  // makes nothing faster than alone
  CHECK(is_slowed(program, 4));
  program.contention.slowdowns[1].gamma = {2};
  CHECK(is_slowed(program, 6));
  program = one;
  program.contention.clock = ClockModel{};
  CHECK(is_slowed(program, 1));
  program.contention.clock->points = {{0, 1}, {1, 0.5}, {2, 0.8}};
  CHECK(is_slowed(program, 2));
  program.contention.slowdowns = {{0, 0, {0.5}}};
  CHECK(is_slowed(program, 3));
  program = one;
  program.contention.message_share = 0.1;
  CHECK(is_slowed(program, 100));
  program = one;
  program.contention.collective_share = 0.1;
  CHECK(is_slowed(program, 100));
  program.contention.slowdowns.resize(1);
  program.contention.slowdowns[0].gamma = {1};
  CHECK(is_slowed(program, 200));
}

TEST_CASE("the refusal says how long everything takes, in ns, and what makes it longer") {
  Program program = ProgramBuilder(ProgramBuilder::Lanes{{kMost, kMost}}).build();
  CHECK(error_message([&] { check_time(program, "my schedule"); }) ==
        "my schedule: the actions, messages and collectives take 4.612e+18 ns together; expected at most 2.306e+18 ns "
        "(2^61 ticks of a ns)");
  program.base.ticks_per_ns = 4;
  program.device_specs.resize(1);
  program.device_specs[0].jitter = 1;
  CHECK(error_message([&] { check_time(program, "my schedule"); }) ==
        "my schedule: the actions, messages and collectives take 1.153e+18 ns together, and up to 4.5 times as long "
        "with jitter and contention; expected at most 5.765e+17 ns (2^61 ticks of 1/4 ns)");
}

TEST_CASE("of a folded schedule every action takes as long as the longest of its kind, as often as its repeats say") {
  const Program program = ProgramBuilder(ProgramBuilder::Lanes{{8, 16, 4}}).build();  // 16 the longest F
  const std::int64_t times = kMost / 16;
  CHECK(fits(repeated(1, {{0, 1, times, {}}}), program));
  CHECK_FALSE(fits(repeated(1, {{0, 1, times + 1, {}}}), program));
  CHECK(fits(repeated(2, {{0, 1, times - 1, {}}}), program));
  CHECK_FALSE(fits(repeated(2, {{0, 1, times, {}}}), program));
  CHECK(fits(repeated(2, {{1, 2, times - 1, {}}}), program));
  CHECK_FALSE(fits(repeated(2, {{1, 2, times, {}}}), program));
  CHECK(fits(repeated(2, {{0, 2, times / 2, {}}}), program));
  CHECK_FALSE(fits(repeated(2, {{0, 2, times / 2 + 1, {}}}), program));
  const std::int64_t root = std::int64_t{1} << 28;
  CHECK(fits(repeated(2, {{0, 2, root, {}}, {1, 2, times / root - 1, {}}}), program));
  CHECK_FALSE(fits(repeated(2, {{0, 2, root, {}}, {1, 2, times / root, {}}}), program));
  const std::vector<Repeat> far{
      {0, 1, std::int64_t{1} << 60, {}}, {0, 1, std::int64_t{1} << 60, {}}, {0, 1, std::int64_t{1} << 60, {}}};
  CHECK_FALSE(fits(repeated(1, far), program));
  CHECK(error_message([&] { check_time(repeated(1, far), program); }).find("schedule 'long': the actions") == 0);
}

TEST_CASE(
    "an action of a folded schedule counts with every message and latency that it waits for, and its collective") {
  const std::int64_t times = std::int64_t{1} << 50;
  const Schedule many = repeated(1, {{0, 1, times, {}}});
  const std::int64_t most = kMost / times;  // 2048 for each action
  // An action of 7 that takes two messages, of 100 bytes and 3 ns and of 50: as long as the longest both.
  const auto with_edges = [&](Ticks action) {
    ProgramBuilder builder(ProgramBuilder::Lanes{{action}, {1, 1}}, Route{3, 1e9, {}, false});
    builder.message(Place{1, 0}, Place{0, 0}, 100);
    builder.message(Place{1, 1}, Place{0, 0}, 50);
    return builder.build();
  };
  CHECK(fits(many, with_edges(most - 2 * (3 + 100 + 1))));
  CHECK_FALSE(fits(many, with_edges(most - 2 * (3 + 100 + 1) + 1)));
  const auto with_latency = [&](Ticks action) {
    ProgramBuilder builder(ProgramBuilder::Lanes{{action}, {1, 1}});
    builder.latency(Place{1, 0}, Place{0, 0}, 30);
    return builder.build();
  };
  CHECK(fits(many, with_latency(most - 30)));
  CHECK_FALSE(fits(many, with_latency(most - 30 + 1)));
  // Only who joins a collective counts with it; who waits for it does not.
  const auto with_collective = [&](Ticks action) {
    ProgramBuilder builder(ProgramBuilder::Lanes{{action}, {1, 1}});
    builder.collective({Place{1, 0}, Place{1, 1}}, Place{0, 0}, 500);
    return builder.build();
  };
  CHECK(fits(many, with_collective(most)));
  CHECK_FALSE(fits(many, with_collective(most + 1)));
  Schedule joining = many;
  joining.devices[0].actions[0].op = Op::kReduceGrad;
  const auto joined = [&](Ticks action) {
    ProgramBuilder builder(ProgramBuilder::Lanes{{action, 1}, {1}});
    builder.collective({Place{0, 0}, Place{1, 0}}, Place{0, 1}, 500);
    return builder.build();
  };
  CHECK(fits(joining, joined(most - 500)));
  CHECK_FALSE(fits(joining, joined(most - 500 + 1)));
}

}  // namespace plumb::testing

TEST_SUITE_END();
