#include <array>

#include "schedules/registry.hpp"

namespace plumb {

Schedule gpipe(const ScheduleParams& params);
Schedule one_f_one_b(const ScheduleParams& params);
Schedule interleaved(const ScheduleParams& params);
Schedule chimera(const ScheduleParams& params);

std::span<const ScheduleSpec> synchronous_schedules() {
  static constexpr std::array kRows{
      ScheduleSpec{.name = "gpipe",
                   .summary = "all forwards, then all backwards",
                   .year = 2018,
                   .source = "Huang et al., GPipe, arXiv 1811.06965",
                   .options = "order=reverse|fifo: order of the backwards",
                   .make = gpipe},
      ScheduleSpec{.name = "1f1b",
                   .summary = "alternate one forward with one backward",
                   .year = 2020,
                   .source = "Narayanan et al., PipeDream-Flush, arXiv 2006.09503",
                   .make = one_f_one_b},
      ScheduleSpec{.name = "interleaved",
                   .summary = "1f1b over several chunks per device",
                   .year = 2021,
                   .source = "Narayanan et al., Megatron-LM, arXiv 2104.04473",
                   .placement = "looped",
                   .needs = "m a multiple of group, or a rest of at least p; or m < p",
                   .options = "group=N: microbatches that pass a chunk together (default p)",
                   .make = interleaved},
      ScheduleSpec{.name = "chimera",
                   .summary = "pipelines in both directions over the same devices",
                   .year = 2021,
                   .source = "Li and Hoefler, Chimera, arXiv 2107.06925",
                   .placement = "bidirectional",
                   .needs = "p even; m < p or a multiple of p; m >= 2f",
                   .options = "pipelines=f: pipelines in each direction (divides p/2)",
                   .make = chimera},
  };
  return kRows;
}

}  // namespace plumb
