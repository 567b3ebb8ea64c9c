#include "tools/catalogue/schedule_example.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>

#include "models/ground/error.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

struct ExampleSize {
  std::int32_t devices = 0;
  std::int64_t microbatches = 0;  ///< per update
};

/// The first that a schedule accepts and that can be drawn action by action is taken.
constexpr std::array kSynchronousSizes{ExampleSize{4, 8}, ExampleSize{4, 4}, ExampleSize{3, 6},
                                       ExampleSize{3, 4}, ExampleSize{2, 4}, ExampleSize{3, 3},
                                       ExampleSize{2, 2}, ExampleSize{2, 5}, ExampleSize{2, 1}};
constexpr std::array kAsynchronousSizes{ExampleSize{4, 2}, ExampleSize{4, 4}, ExampleSize{3, 2},
                                        ExampleSize{3, 3}, ExampleSize{2, 2}, ExampleSize{2, 1}};
constexpr int kExampleColumns = 116;
constexpr std::int64_t kAsynchronousUpdates = 3;  ///< the pipeline fills, is full, and drains

/// One unit for a forward and for each half of a backward, and for the shortest piece of extra work.
std::string natural_costs(const Schedule& schedule) {
  std::set<Op> ops;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : expand(list)) ops.insert(action.op);
  }
  const bool split = ops.contains(Op::kI) || ops.contains(Op::kW);
  std::string costs = split ? "F=1,I=1,W=1" : ops.contains(Op::kB) ? "F=1,B=2" : "F=1";
  if (schedule.vocabulary) costs += ",S=0.5,T=0.5";
  if (ops.contains(Op::kX)) {
    double least = 1;
    for (const auto& [number, extra] : schedule.extras) {
      if (extra.units > 0) least = std::min(least, extra.units);
    }
    costs += ",X=" + number_text(1 / least);
  }
  return costs;
}

/// Does what the command `simulate` does with these arguments.
Timeline predicted(const std::string& name, const ScheduleArguments& size, const std::string& costs) {
  const CostSource source{.kind = AbstractUnits{.times = costs}};
  Schedule schedule =
      load_schedule(name, size, {.costs = costs_for_search(source, static_cast<std::int32_t>(*size.devices))});
  PricedPipeline priced = price(source, schedule);
  const PreparedRun run = prepare_run(std::move(schedule), std::move(priced), source, {});
  const Program program = program_of(run);
  Timeline timeline = predict(run, program, {}, run.rules.simulation(run.schedule));
  timeline.delays = stage_delays(run.schedule, program);
  return timeline;
}

/// The example of this size; none when the schedule does not accept the size.
std::optional<ScheduleExample> example_of(const ScheduleSpec& spec, ExampleSize of) {
  ScheduleArguments size;
  size.devices = of.devices;
  size.microbatches = of.microbatches;
  if (!spec.synchronous) size.updates = kAsynchronousUpdates;
  const std::string name(spec.name);
  try {
    const std::string costs = natural_costs(load_schedule(name, size));
    return ScheduleExample{"simulate " + name + " -p " + std::to_string(of.devices) + " -m " +
                               std::to_string(of.microbatches) +
                               (size.updates ? " --updates " + std::to_string(*size.updates) : "") + " --cost " + costs,
                           predicted(name, size, costs),
                           {}};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ScheduleExample schedule_example(const ScheduleSpec& spec, bool colour) {
  const std::span<const ExampleSize> sizes =
      spec.synchronous ? std::span<const ExampleSize>(kSynchronousSizes) : kAsynchronousSizes;
  for (const int columns : {kExampleColumns, kMostExampleColumns}) {
    for (const ExampleSize size : sizes) {
      std::optional<ScheduleExample> example = example_of(spec, size);
      if (!example || !is_drawn_in_cells(example->timeline, columns)) continue;
      example->drawing = text_timeline(example->timeline, {.columns = columns, .colour = colour});
      return *std::move(example);
    }
  }
  throw std::logic_error(std::string(spec.name) + ": no size of an example fits its rule and a drawing");
}

}  // namespace plumb
