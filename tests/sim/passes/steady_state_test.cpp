#include "sim/passes/steady_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::Case;

/// The summary by unfolding everything.
Timeline the_long_way(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster = nullptr,
                      TransferMode mode = TransferMode::kBuffered) {
  return simulate(lower(schedule, costs, cluster), {.transfers = mode, .spans = false, .memory_curve = false});
}

/// It says something about single microbatches, which do not come again, or its stages update at different paces.
bool goes_the_long_way(const Schedule& schedule) {
  const auto named = [](const Recompute& rule) { return !rule.microbatches.empty(); };
  return schedule.microbatches_per_update.size() > 1 || !schedule.extra_edges.empty() ||
         std::ranges::any_of(schedule.recompute, named);
}

/// Whether a summary equals that of the long way in every field, and, where it must be, was found by jumping.
void check_jump(const Schedule& schedule, const StageCosts& costs, bool must_jump = true) {
  if (must_jump) CHECK(fold(schedule, 4, 1).has_value() != goes_the_long_way(schedule));
  const Timeline expected = the_long_way(schedule, costs);
  const Timeline found = simulate_summary(schedule, costs);
  CHECK(found.makespan == expected.makespan);
  CHECK(found.step_time == expected.step_time);
  CHECK(found == expected);
}

StageCosts unequal(std::int32_t num_stages, Ticks comm) {
  StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = num_stages});
  testing::set_uneven_times(costs);
  for (StageTimes& times : costs.times) times.u = 5;
  costs.comm = comm;
  return costs;
}

/// Links of their own between all devices: 40 bytes take 40 ticks, and 7 more until they arrive.
Cluster links(std::int32_t num_devices, double bytes_per_s = 1e9) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(num_devices));
  cluster.devices_per_node = num_devices;
  cluster.intra_node = {.latency_ns = 7, .bytes_per_s = bytes_per_s};
  cluster.finish();
  return cluster;
}

/// With bytes of everything that memory is made of.
StageCosts with_bytes(StageCosts costs) {
  costs.comm.reset();
  StageMemory memory;
  memory.weight_bytes = 1000;
  memory.gradient_bytes = 1001;
  memory.optimizer_bytes = 2003;
  memory.stash = {{"kept for I", 30, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                  {"kept for W", 50, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}};
  memory.input_bytes = memory.output_bytes = 40;
  memory.output_grad_bytes = memory.input_grad_bytes = 36;
  memory.input_last_use = LastUse::kWeightGrad;
  memory.workspace_f_bytes = 5;
  memory.workspace_b_bytes = memory.workspace_i_bytes = 9;
  memory.workspace_w_bytes = 7;
  costs.memory.assign(costs.times.size(), memory);
  costs.memory.front().input_bytes = costs.memory.front().input_grad_bytes = 0;
  costs.memory.back().output_bytes = costs.memory.back().output_grad_bytes = 0;
  return costs;
}

}  // namespace

TEST_CASE("jumping over the steady state gives the answer of the long way for every schedule given by rule") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.folds) continue;
    for (const std::int32_t p : {2, 4}) {
      for (const Ticks comm : {Ticks{0}, Ticks{30}}) {
        for (const std::int64_t m : {240, 300 + p}) {
          CAPTURE(spec.name);
          CAPTURE(p);
          CAPTURE(comm);
          CAPTURE(m);
          const Schedule schedule = testing::schedule_of({.name = spec.name, .p = p, .m = m / p * p, .updates = 1});
          // On two devices some loops degenerate; the directions of dualpipe number their microbatches in ranges of
          // their own, which would have to be cut apart.
          const bool must_jump = p == 4 && spec.name != "dualpipe";
          check_jump(schedule, unequal(schedule.num_stages, comm), must_jump);
          check_jump(schedule, abstract_costs("F=1,B=2,comm=0.1", "", {.num_stages = schedule.num_stages}), must_jump);
        }
      }
    }
  }
}

TEST_CASE("where a schedule is long enough none of its actions are run one by one, and its makespan grows evenly") {
  static int full_runs = 0;
  full_runs = 0;
  SimOptions options;
  options.on_full_run = [](const WorkSize&) { ++full_runs; };
  const auto makespan = [&](std::string_view name, std::int64_t m, std::int64_t updates, Ticks comm) {
    const Schedule schedule = testing::schedule_of({.name = std::string(name), .p = 4, .m = m, .updates = updates});
    return simulate_summary(schedule, unequal(schedule.num_stages, comm), nullptr, {}, options).makespan;
  };
  for (const std::string_view name : {"gpipe", "1f1b", "eager-1f1b", "interleaved", "zb-h1", "zb-v", "pipedream"}) {
    CAPTURE(name);
    for (const Ticks comm : {Ticks{0}, Ticks{30}}) {
      CAPTURE(comm);
      const Ticks first = makespan(name, 4'800, 1, comm);
      const Ticks second = makespan(name, 7'200, 1, comm);
      CHECK(makespan(name, 9'600, 1, comm) - second == second - first);
      const Ticks few = makespan(name, 120, 300, comm);
      const Ticks more = makespan(name, 120, 450, comm);
      CHECK(makespan(name, 120, 600, comm) - more == more - few);
      CHECK(full_runs == 0);
    }
  }
}

TEST_CASE("whole updates are jumped over, with and without a steady state inside each of them") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int64_t m : {6, 120}) {
      CAPTURE(spec.name);
      CAPTURE(m);
      const Schedule schedule =
          testing::schedule_of({.name = spec.name, .p = m == 6 ? 2 : 4, .m = m, .updates = m == 6 ? 100 : 30});
      // Forward pipelines update nothing; extra work is numbered through all updates; the order of several jobs is
      // played through all of theirs.
      const bool repeats = !schedule.forward_only && schedule.extras.empty() && spec.name != "mlora";
      check_jump(schedule, unequal(schedule.num_stages, 30), repeats);
    }
  }
}

TEST_CASE("overlapped pairs and options of the generators are jumped over") {
  const std::vector<Case> cases = {
      {.name = "pipemare", .p = 4, .m = 1, .updates = 400, .options = {{"timing", "slots"}}},
      {.name = "pipedream", .p = 3, .m = 5, .updates = 90, .options = {{"timing", "slots"}}},
      {.name = "gpipe", .p = 4, .m = 300, .options = {{"order", "fifo"}}},
      {.name = "interleaved", .p = 4, .m = 300, .chunks = 3, .options = {{"group", "6"}}},
      {.name = "interleaved", .p = 4, .m = 307, .chunks = 2, .options = {{"group", "7"}}},
      {.name = "chimera", .p = 4, .m = 240, .options = {{"pipelines", "2"}}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Schedule schedule = testing::schedule_of(c);
    check_jump(schedule, unequal(schedule.num_stages, 30));
    check_jump(schedule, unequal(schedule.num_stages, 0));
  }
}

TEST_CASE("with messages on links and memory in bytes the jump gives the answer of the long way") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.folds) continue;
    for (const std::int32_t p : {2, 4}) {
      for (const TransferMode mode : {TransferMode::kBuffered, TransferMode::kFifo, TransferMode::kRendezvous}) {
        CAPTURE(spec.name);
        CAPTURE(p);
        CAPTURE(static_cast<int>(mode));
        const Schedule schedule = testing::schedule_of({.name = spec.name, .p = p, .m = 240, .updates = 1});
        for (const double bytes_per_s : {1e9, 1e8}) {
          const Cluster cluster = links(schedule.num_devices, bytes_per_s);
          for (const StageCosts& plain :
               {unequal(schedule.num_stages, 0), abstract_costs("F=1,B=2", "", {.num_stages = schedule.num_stages})}) {
            const StageCosts costs = with_bytes(plain);
            CHECK(simulate_summary(schedule, costs, &cluster, {}, {.transfers = mode}) ==
                  the_long_way(schedule, costs, &cluster, mode));
          }
        }
      }
    }
  }
}

TEST_CASE("memory in bytes is jumped over between devices that exchange nothing but latencies") {
  for (const std::string_view name : {"gpipe", "1f1b", "zb-h1", "pipedream", "interleaved"}) {
    CAPTURE(name);
    const Schedule schedule = testing::schedule_of({.name = name, .p = 4, .m = 400, .updates = 1});
    StageCosts costs = with_bytes(unequal(schedule.num_stages, 30));
    costs.comm = 30;
    check_jump(schedule, costs);
  }
}

TEST_CASE("a billion microbatches over links take a thousand times as long as a million, with the same peaks") {
  for (const std::string_view name : {"1f1b", "zb-h1", "interleaved", "gpipe"}) {
    CAPTURE(name);
    const auto run = [&](std::int64_t m) {
      const Schedule schedule = testing::schedule_of({.name = name, .p = 4, .m = m, .updates = 1});
      const Cluster cluster = links(4);
      return simulate_summary(schedule, with_bytes(abstract_costs("F=1,B=2", "", {.num_stages = schedule.num_stages})),
                              &cluster);
    };
    const Timeline thousand = run(4'000);
    const Timeline million = run(4'000'000);
    const Timeline billion = run(1'000'000'000);
    CHECK((billion.makespan - million.makespan) / 996'000 == (million.makespan - thousand.makespan) / 3'996);
    const bool keeps_all = name == "gpipe";
    const auto growth = [](std::size_t d) { return std::int64_t{d == 0 ? 80 : 120}; };  // the first input has no bytes
    for (std::size_t d = 0; d < 4; ++d) {
      const std::int64_t grows = million.devices[d].peak_memory_bytes - thousand.devices[d].peak_memory_bytes;
      CHECK(grows == (keeps_all ? 3'996'000 * growth(d) : 0));
      CHECK(billion.devices[d].peak_memory_bytes ==
            million.devices[d].peak_memory_bytes + (keeps_all ? 996'000'000 * growth(d) : 0));
    }
  }
}

TEST_CASE("peaks in abstract memory grow over what is jumped over") {
  const Schedule schedule = testing::schedule_of({.name = "gpipe", .p = 3, .m = 200});
  check_jump(schedule, abstract_costs("F=1,I=1,W=1", "F=2,I=-1,W=-1", {.num_stages = 3}));
}

TEST_CASE("a billion microbatches take as long as their closed forms say, though nothing could unfold them") {
  const std::int64_t m = 1'000'000'000;
  const auto makespan = [&](std::string_view name) {
    const Case c{.name = name, .p = 4, .m = m, .chunks = 1, .updates = 1};
    const Schedule schedule = testing::schedule_of(c);
    const Timeline timeline = simulate_summary(schedule, testing::costs_of(c, schedule));
    return testing::in_units(timeline.makespan, timeline.base);
  };
  CHECK(makespan("gpipe") == 3.0 * (m + 3));
  CHECK(makespan("1f1b") == 3.0 * (m + 3));
  CHECK(makespan("interleaved") == 3.0 * (m + 3));
  CHECK(makespan("zb-h1") == 3.0 * m + 3.0 * (1 + 1 - 1));
  CHECK(makespan("pipedream") == 3.0 * (m + 3));
  CHECK(makespan("pipemare") == 3.0 * (m + 3));
  CHECK(makespan("chimera") == 3.0 * m + (m / 4 + 1) * 2.0);
}

TEST_CASE("chunks that read what other devices made a billion microbatches ago are jumped over: it was over long ago") {
  const std::int64_t m = 1'000'000'000;
  for (const std::string_view name : {"breadth-first", "fold3d"}) {
    CAPTURE(name);
    const Schedule schedule = testing::schedule_of({.name = name, .p = 4, .m = m, .chunks = 2, .updates = 1});
    const Timeline timeline =
        simulate_summary(schedule, abstract_costs("F=1,B=2", "", {.num_stages = schedule.num_stages}));
    CHECK(testing::in_units(timeline.makespan, timeline.base) == 6.0 * m + 9);
  }
}

TEST_CASE("a schedule that says something about single microbatches is not folded") {
  Schedule schedule = testing::schedule_of({.name = "1f1b", .p = 2, .m = 300});
  REQUIRE(fold(schedule, 4, 1).has_value());
  schedule.recompute.emplace_back().microbatches = {17};
  CHECK_FALSE(fold(schedule, 4, 1).has_value());
}

TEST_CASE("lists whose loops go on by unlike numbers of microbatches are not shortened, and run the long way") {
  Schedule schedule = testing::schedule_of({.name = "gpipe", .p = 2, .m = 200, .options = {{"order", "fifo"}}});
  const Schedule alike = schedule;
  REQUIRE(fold(alike, 4, 1).has_value());
  DeviceList twice{.actions = {}, .repeats = {}};
  for (const Op op : {Op::kF, Op::kB}) {
    const std::size_t begin = twice.actions.size();
    for (const std::int32_t microbatch : {0, 1}) twice.actions.push_back(action_of(1, op, microbatch));
    twice.repeats.push_back({begin, begin + 2, 100, {.microbatch = 2}});
  }
  twice.actions.push_back(expand(alike.devices[1]).back());
  REQUIRE(expand(twice) == expand(alike.devices[1]));
  schedule.devices[1] = twice;
  CHECK(!fold(schedule, 4, 1).has_value());
  CHECK(simulate_summary(schedule, unequal(2, 30)) == simulate_summary(alike, unequal(2, 30)));
}

}  // namespace plumb

TEST_SUITE_END();
