#include <array>

#include "schedules/registry.hpp"
#include "schedules/zero_bubble/pass_costs.hpp"

namespace plumb {

Schedule zb_h1(const ScheduleParams& params);
Schedule zb_h2(const ScheduleParams& params);
Schedule zb_1p(const ScheduleParams& params);
Schedule zb_2p(const ScheduleParams& params);
Schedule zb_auto(const ScheduleParams& params);

std::span<const ScheduleSpec> zero_bubble_schedules() {
  static constexpr std::array kRows{
      ScheduleSpec{.name = "zb-h1",
                   .summary = "1f1b with the weight gradient put off into the drain",
                   .year = 2023,
                   .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                   .make = zb_h1},
      ScheduleSpec{.name = "zb-h2",
                   .summary = "more forwards first and more weight gradients put off: no idle time with equal passes",
                   .year = 2023,
                   .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                   .make = zb_h2},
      ScheduleSpec{.name = "zb-1p",
                   .summary = "order searched for the given costs, with the memory of 1f1b",
                   .year = 2023,
                   .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                   .needs = kSearchable,
                   .folds = false,
                   .make = zb_1p},
      ScheduleSpec{.name = "zb-2p",
                   .summary = "order searched for the given costs, with twice the memory of 1f1b",
                   .year = 2023,
                   .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                   .needs = kSearchable,
                   .folds = false,
                   .make = zb_2p},
      ScheduleSpec{.name = "zb-auto",
                   .summary = "order searched for the given costs, under any memory limit",
                   .year = 2023,
                   .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                   .needs = "stages x m at most 4194304; a memory limit of at least one activation",
                   .folds = false,
                   .make = zb_auto},
  };
  return kRows;
}

}  // namespace plumb
