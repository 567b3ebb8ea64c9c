#include <array>

#include "schedules/catalogue/registry.hpp"

namespace plumb {

Schedule torch_gpipe(const ScheduleParams& params);
Schedule torch_1f1b(const ScheduleParams& params);
Schedule torch_interleaved(const ScheduleParams& params);
Schedule torch_looped_bfs(const ScheduleParams& params);
Schedule torch_interleaved_zb(const ScheduleParams& params);
Schedule torch_zbv(const ScheduleParams& params);
Schedule torch_dualpipev(const ScheduleParams& params);

std::span<const ScheduleSpec> torch_schedules() {
  static const std::array kRows{
      ScheduleSpec{.name = "torch-gpipe",
                   .summary = "PyTorch's ScheduleGPipe: gpipe with order=fifo",
                   .year = 2022,
                   .source = "torch.distributed.pipelining, ScheduleGPipe",
                   .alias_of = "gpipe",
                   .make = torch_gpipe},
      ScheduleSpec{.name = "torch-1f1b",
                   .summary = "PyTorch's Schedule1F1B: 1f1b",
                   .year = 2022,
                   .source = "torch.distributed.pipelining, Schedule1F1B",
                   .needs = "m at least p",
                   .alias_of = "1f1b",
                   .make = torch_1f1b},
      ScheduleSpec{.name = "torch-interleaved",
                   .summary = "PyTorch's ScheduleInterleaved1F1B: interleaved in max(1, m div p) equal groups",
                   .year = 2024,
                   .source = "torch.distributed.pipelining, ScheduleInterleaved1F1B",
                   .placement = "looped",
                   .needs = "m a multiple of max(1, m div p)",
                   .alias_of = "interleaved",
                   .make = torch_interleaved},
      ScheduleSpec{
          .name = "torch-looped-bfs",
          .summary =
              "PyTorch's ScheduleLoopedBFS: chunk by chunk all forwards, then all backwards, last microbatch first",
          .year = 2024,
          .source = "torch.distributed.pipelining, ScheduleLoopedBFS",
          .placement = "looped",
          .make = torch_looped_bfs},
      ScheduleSpec{.name = "torch-interleaved-zb",
                   .summary = "PyTorch's ScheduleInterleavedZeroBubble: interleaved-zb in max(1, m div p) equal groups",
                   .year = 2024,
                   .source = "torch.distributed.pipelining, ScheduleInterleavedZeroBubble",
                   .placement = "looped",
                   .needs = "m a multiple of max(1, m div p)",
                   .alias_of = "interleaved-zb",
                   .make = torch_interleaved_zb},
      ScheduleSpec{.name = "torch-zbv",
                   .summary = "PyTorch's ScheduleZBVZeroBubble: zb-v with order=rule",
                   .year = 2024,
                   .source = "torch.distributed.pipelining, ScheduleZBVZeroBubble",
                   .placement = "v",
                   .alias_of = "zb-v",
                   .make = torch_zbv},
      ScheduleSpec{.name = "torch-dualpipev",
                   .summary = "PyTorch's ScheduleDualPipeV: dualpipev",
                   .year = 2025,
                   .source = "torch.distributed.pipelining, ScheduleDualPipeV",
                   .placement = "v",
                   .needs = "m at least 2p",
                   .alias_of = "dualpipev",
                   .make = torch_dualpipev},
  };
  return kRows;
}

}  // namespace plumb
