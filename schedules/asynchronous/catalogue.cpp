#include <array>

#include "schedules/registry.hpp"

namespace plumb {

Schedule pipedream(const ScheduleParams& params);
Schedule pipemare(const ScheduleParams& params);

std::span<const ScheduleSpec> asynchronous_schedules() {
  static constexpr std::string_view kTiming =
      "timing=1f1b|slots: one action at a time, or a forward and a backward at once";
  static constexpr std::array kRows{
      ScheduleSpec{.name = "pipedream",
                   .summary = "never flushed; a backward reads the weights of its forward",
                   .year = 2018,
                   .source = "Narayanan et al., PipeDream, arXiv 1806.03377",
                   .synchronous = false,
                   .weights = "stash",
                   .options = kTiming,
                   .make = pipedream},
      ScheduleSpec{.name = "pipemare",
                   .summary = "never flushed, one version of the weights, whatever is newest",
                   .year = 2019,
                   .source = "Yang et al., PipeMare, arXiv 1910.05124",
                   .synchronous = false,
                   .weights = "latest",
                   .options = kTiming,
                   .make = pipemare},
  };
  return kRows;
}

}  // namespace plumb
