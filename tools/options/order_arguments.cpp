#include "tools/options/order_arguments.hpp"

#include <array>
#include <iostream>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/events/policy_order.hpp"
#include "sim/events/ready_order.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/choice.hpp"

namespace plumb {
namespace {

enum class Order : std::uint8_t { kFixed, kReady, kBackwardFirst };

constexpr std::array<std::string_view, 3> kOrders{"fixed", "ready", "backward-first"};

}  // namespace

void note_order_without_contention() {
  std::cerr
      << "plumbline: note: the order was decided with times without contention; the run itself includes contention\n";
}

void OrderArguments::add_to(ArgumentParser& parser) {
  parser.group("Order")
      .text("order", order, "RULE",
            "fixed: as listed; ready: each device runs the first listed action that can run; backward-first: backwards "
            "go "
            "first (default: fixed)")
      .text("save-order", save, "FILE", "write the resulting order as a schedule document");
}

Schedule OrderArguments::resolve(Schedule schedule, const CostInput& input,
                                 const SimulationArguments& simulation) const {
  const auto rule = choice<Order>(kOrders, "order", order);
  if (schedule.policy && rule != Order::kFixed)
    throw Error("--order: the schedule has its own run-time policy, expected no --order");
  if (rule == Order::kFixed && !schedule.policy) {
    if (!save.empty())
      throw Error(
          "--save-order: the order is fixed, expected --order ready or backward-first, or a schedule with a policy");
    return schedule;
  }
  check_document_extension(save, "--save-order");
  std::optional<OutputFile> file;
  if (!save.empty()) file.emplace(save);
  ReadyOptions options;
  options.seed = simulation.simulation(schedule).seed;
  const Program program = lower(schedule, input.costs, input.cluster_pointer(), simulation.lowering(schedule));
  if (!program.contention.empty()) note_order_without_contention();
  RunTimeOrder decided = schedule.policy         ? policy_order(schedule, program, options.seed)
                         : rule == Order::kReady ? run_time_order(schedule, program, ListPriority(), options)
                                                 : run_time_order(schedule, program, BackwardFirst(), options);
  if (file) file->finish(schedule_to_json(decided.schedule));
  return std::move(decided.schedule);
}

}  // namespace plumb
