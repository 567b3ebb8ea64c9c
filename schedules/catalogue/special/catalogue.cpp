#include <array>

#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/slice_lengths.hpp"

namespace plumb {

Schedule bamboo(const ScheduleParams& params);
Schedule diffusionpipe(const ScheduleParams& params);
Schedule mobius(const ScheduleParams& params);
Schedule pipeedge(const ScheduleParams& params);
Schedule pipefusion(const ScheduleParams& params);

std::span<const ScheduleSpec> special_schedules() {
  static constexpr std::array kRows{
      ScheduleSpec{.name = "bamboo",
                   .summary = "1f1b; devices repeat the forward of the next stage where they wait",
                   .year = 2022,
                   .source = "Thorpe et al., Bamboo, arXiv 2204.12013",
                   .needs = "m updates at most 2^20",
                   .options = "wrap=no|yes: the last device repeats the forward of the first stage; lost=S: the step "
                              "after the device of "
                              "stage S is gone",
                   .folds = false,
                   .make = bamboo},
      ScheduleSpec{.name = "mobius",
                   .summary = "weights in host memory; loaded while the chunk before runs all microbatches",
                   .year = 2023,
                   .source = "Feng et al., Mobius, ASPLOS 2023, doi 10.1145/3575693.3575703",
                   .placement = "looped",
                   .options = "complexes=N: root complexes of the host that the ring of stages visits in turn "
                              "(divides p; default 1)",
                   .make = mobius},
      ScheduleSpec{.name = "diffusionpipe",
                   .summary = "frozen layers of the next iteration fill the bubbles of 1f1b",
                   .year = 2024,
                   .source = "Tian et al., DiffusionPipe, arXiv 2405.01248",
                   .needs = "m p at most 2^24; layers x parts at most 4096, with updates 2^20",
                   .options =
                       "layers=N: frozen layers (default 4); parts=N: parts of the batch that they may be cut "
                       "into (default 4); work=N: units of X of a layer for a whole batch (default m); like=A-B: "
                       "one frozen layer for each of the layers A to B - 1 of the network",
                   .folds = false,
                   .make = diffusionpipe},
      ScheduleSpec{.name = "pipeedge",
                   .summary = "inference: forwards only, microbatch behind microbatch",
                   .year = 2022,
                   .source = "Hu et al., PipeEdge, DSD 2022, arXiv 2110.14895",
                   .options = kSliceLengthOptions,
                   .make = pipeedge},
      ScheduleSpec{
          .name = "pipefusion",
          .summary = "inference: patches of an image stream through step after step, none waits for the others",
          .year = 2024,
          .source = "Fang et al., PipeFusion, arXiv 2405.14430",
          .needs = "m = patches x steps; patches at most 128; warmup at most the steps; m updates at most 2^16",
          .options = "patches=M: of an image (default p, or m when that is less); warmup=N: steps over the "
                     "whole image (default 1)",
          .folds = false,
          .make = pipefusion},
  };
  return kRows;
}

}  // namespace plumb
