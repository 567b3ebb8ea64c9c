#include <array>

#include "schedules/registry.hpp"

namespace plumb {

Schedule zb_h1(const ScheduleParams& params);

std::span<const ScheduleSpec> zero_bubble_schedules() {
  static constexpr std::array kRows{
      ScheduleSpec{.name = "zb-h1",
                   .summary = "1f1b with the weight gradient put off into the drain",
                   .year = 2023,
                   .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                   .make = zb_h1},
  };
  return kRows;
}

}  // namespace plumb
