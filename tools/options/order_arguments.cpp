#include "tools/options/order_arguments.hpp"

#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/events/policy_order.hpp"
#include "sim/events/ready_order.hpp"
#include "sim/rules/run_size.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/choice.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

enum class Order : std::uint8_t { kFixed, kReady, kBackwardFirst };

constexpr std::array<std::string_view, 3> kOrders{"fixed", "ready", "backward-first"};

}  // namespace

void note_order_without_contention() {
  note("plumbline: note: the order was decided with times without contention; the run itself includes contention");
}

void OrderArguments::add_to(OptionTable& parser) {
  parser.group("Order")
      .text("order", order, "RULE",
            "fixed: as listed; ready: each device runs the first listed action that can run; backward-first: backwards "
            "go first (default: fixed)")
      .words(kOrders);
}

Schedule OrderArguments::resolve(Schedule schedule, const CostInput& input,
                                 const SimulationArguments& simulation) const {
  const auto rule = choice<Order>(kOrders, "order", order);
  if (schedule.policy && rule != Order::kFixed)
    throw Error("--order: the schedule has its own run-time policy, expected no --order");
  if (rule == Order::kFixed && !schedule.policy) return schedule;
  ReadyOptions options;
  options.seed = simulation.simulation(schedule).seed;
  const LowerOptions lowering = simulation.lowering(schedule);
  check_run_size(schedule, makes_transfers(input.costs, input.cluster_pointer(), lowering), {});
  const Program program = lower(schedule, input.costs, input.cluster_pointer(), lowering);
  if (!program.contention.empty()) note_order_without_contention();
  RunTimeOrder decided = schedule.policy         ? policy_order(schedule, program, options.seed)
                         : rule == Order::kReady ? run_time_order(schedule, program, ListPriority(), options)
                                                 : run_time_order(schedule, program, BackwardFirst(), options);
  return std::move(decided.schedule);
}

std::optional<OutputFile> OrderArguments::file_for(const Schedule& schedule, const std::string& path) const {
  if (path.empty()) return std::nullopt;
  if (choice<Order>(kOrders, "order", order) == Order::kFixed && !schedule.policy) {
    throw Error(
        "--save-order: the order is fixed, expected --order ready or backward-first, or a schedule with a policy");
  }
  check_document_extension(path, "--save-order");
  return OutputFile(path);
}

}  // namespace plumb
