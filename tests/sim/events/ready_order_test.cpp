#include "sim/events/ready_order.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

StageCosts costs_of(std::vector<Ticks> forward, std::optional<Ticks> comm) {
  StageCosts costs;
  for (const Ticks f : forward) {
    StageTimes times;
    times.f = f;
    times.b = 2 * f;
    times.i = times.w = f;
    costs.times.push_back(times);
  }
  costs.comm = comm;
  return costs;
}

Schedule generated(std::string_view name, std::int32_t p, std::int64_t m, std::int32_t v = 1) {
  return generate(name, {.num_devices = p, .num_microbatches = m, .chunks = v, .options = {}});
}

Timeline simulated_schedule(const Schedule& made, const StageCosts& costs) { return simulate(lower(made, costs)); }

}  // namespace

TEST_CASE("with equal stages and free transfers nothing overtakes in 1f1b within its own memory") {
  const Schedule made = generated("1f1b", 4, 8);
  const StageCosts costs = costs_of({10, 10, 10, 10}, 0);
  const RunTimeOrder order = run_time_order(made, lower(made, costs), ListPriority());
  CHECK(order.makespan == 330);
  CHECK(lists_to_text(order.schedule).find("0F0 0F1 0F2 0F3 0B0 0F4 0B1") != std::string::npos);
}

TEST_CASE("a weight gradient overtakes when its device would wait") {
  // d0: F0 B.. : I of microbatch 0 waits for d1, W could run
  Schedule made = generated("1f1b", 2, 2);
  made.devices[1].actions.clear();
  for (const char* text : {"1F0", "1I0", "1F1", "1I1", "1W0", "1W1"}) {
    made.devices[1].actions.push_back(parse_action(text, "test"));
  }
  made.devices[1].repeats.clear();
  const StageCosts costs = costs_of({50, 10}, 0);  // the second forward comes late to d1
  const RunTimeOrder order = run_time_order(made, lower(made, costs), ListPriority());
  CHECK(lists_to_text(order.schedule).find("1F0 1I0 1W0 1F1 1I1 1W1") != std::string::npos);
}

TEST_CASE("the fixed lists that came about take as long as the run in which they did, and are valid") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const Schedule made = generated(spec.name, 4, 12, 0);
    if (!made.extra_edges.empty()) continue;  // refused: they could not be kept
    std::vector<Ticks> forward;
    for (std::int32_t stage = 0; stage < made.num_stages; ++stage) forward.push_back(7 + 5 * (stage % 3));
    const StageCosts costs = costs_of(forward, 4);
    const Program program = lower(made, costs);
    for (const bool backward_first : {false, true}) {
      CAPTURE(backward_first);
      const RunTimeOrder order = backward_first ? run_time_order(made, program, BackwardFirst())
                                                : run_time_order(made, program, ListPriority());
      CHECK(validate(order.schedule).empty());
      const Timeline after = simulated_schedule(order.schedule, costs);
      CHECK(after.makespan == order.makespan);
      const Timeline before = simulated_schedule(made, costs);
      for (std::size_t d = 0; d < before.devices.size(); ++d) {
        CHECK(after.devices[d].busy == before.devices[d].busy);
        if (!backward_first) CHECK(after.devices[d].peak_activations <= before.devices[d].peak_activations);
      }
    }
  }
}

TEST_CASE("without a memory limit forwards run ahead, with it they do not") {
  const Schedule made = generated("1f1b", 2, 4);
  const StageCosts costs = costs_of({10, 10}, 100);
  const Program program = lower(made, costs);
  const RunTimeOrder kept = run_time_order(made, program, ListPriority());
  const RunTimeOrder ahead = run_time_order(made, program, ListPriority(), {.keep_memory = false});
  CHECK(simulated_schedule(kept.schedule, costs).devices[0].peak_activations == 2);
  CHECK(simulated_schedule(ahead.schedule, costs).devices[0].peak_activations == 4);
  CHECK(ahead.makespan < kept.makespan);
}

TEST_CASE("a forward overtakes where its stash is the last for which the lane has room, and not where it is one more") {
  Schedule made = generated("1f1b", 2, 3);
  const auto write = [&](std::size_t device, std::initializer_list<const char*> texts) {
    made.devices[device] = {};
    for (const char* text : texts) made.devices[device].actions.push_back(parse_action(text, "test"));
  };
  // Device 0 keeps two at most, as its list does later: while it waits for its first gradient one more forward fits.
  write(0, {"0F0", "0B0", "0F1", "0F2", "0B1", "0B2"});
  write(1, {"1F0", "1B0", "1F1", "1B1", "1F2", "1B2"});
  const RunTimeOrder order = run_time_order(made, lower(made, costs_of({10, 10}, 100)), ListPriority());
  CHECK(lists_to_text(order.schedule).find("0F0 0F1 0B0 0F2 0B1 0B2") != std::string::npos);
  write(0, {"0F0", "0B0", "0F1", "0B1", "0F2", "0B2"});  // one at most
  const RunTimeOrder tight = run_time_order(made, lower(made, costs_of({10, 10}, 100)), ListPriority());
  CHECK(lists_to_text(tight.schedule).find("0F0 0B0 0F1 0B1 0F2 0B2") != std::string::npos);
}

TEST_CASE("a document with extra edges is refused") {
  Schedule made = generated("1f1b", 2, 2);
  const Program program = lower(made, costs_of({1, 1}, 0));
  made.extra_edges.push_back({parse_action("0F0", "test"), parse_action("0F1", "test")});
  CHECK_THROWS_AS(run_time_order(made, program, ListPriority()), Error);
}

TEST_SUITE_END();
