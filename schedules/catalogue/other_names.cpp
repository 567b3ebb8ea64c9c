#include "schedules/catalogue/other_names.hpp"

#include <array>

namespace plumb {
namespace {

constexpr std::string_view kTorch = "PyTorch, torchtitan";
constexpr std::string_view kMegatron = "Megatron-LM";
constexpr std::string_view kPrimus = "Primus";
constexpr std::string_view kVisualization = "PP-Schedule-Visualization";

constexpr std::array kOtherNames{
    OtherName{"ScheduleGPipe", "torch-gpipe", kTorch},
    OtherName{"Schedule1F1B", "torch-1f1b", kTorch},
    OtherName{"Interleaved1F1B", "torch-interleaved", kTorch},
    OtherName{"ScheduleInterleaved1F1B", "torch-interleaved", kTorch},
    OtherName{"LoopedBFS", "torch-looped-bfs", kTorch},
    OtherName{"ScheduleLoopedBFS", "torch-looped-bfs", kTorch},
    OtherName{"InterleavedZeroBubble", "torch-interleaved-zb", kTorch},
    OtherName{"ScheduleInterleavedZeroBubble", "torch-interleaved-zb", kTorch},
    OtherName{"ZBVZeroBubble", "torch-zbv", kTorch},
    OtherName{"ScheduleZBVZeroBubble", "torch-zbv", kTorch},
    OtherName{"ScheduleDualPipeV", "torch-dualpipev", kTorch},
    OtherName{"forward_backward_pipelining_without_interleaving", "1f1b", kMegatron},
    OtherName{"forward_backward_pipelining_with_interleaving", "interleaved", kMegatron},
    OtherName{"TrainSchedule", "1f1b", "DeepSpeed"},
    OtherName{"PipeDream-Flush", "1f1b", "PipeDream-2BW's paper"},
    OtherName{"2BW", "pipedream-2bw", "PipeDream-2BW's paper"},
    OtherName{"FThenB", "gpipe", "PaddlePaddle"},
    OtherName{"VPP", "interleaved", "PaddlePaddle"},
    OtherName{"AFAB", "gpipe", "picotron, nanotron"},
    OtherName{"1f1b-interleaved", "interleaved", kPrimus},
    OtherName{"zbv-formatted", "zb-v", kPrimus},
    OtherName{"1f1b_interleave", "interleaved", kVisualization},
};

}  // namespace

std::span<const OtherName> other_names() { return kOtherNames; }

}  // namespace plumb
