#include <array>

#include "schedules/catalogue/registry.hpp"

namespace plumb {

Schedule pipedream(const ScheduleParams& params);
Schedule pipedream_vs(const ScheduleParams& params);
Schedule one_f_one_b_rr(const ScheduleParams& params);
Schedule pipedream_2bw(const ScheduleParams& params);
Schedule pipemare(const ScheduleParams& params);
Schedule spectrain(const ScheduleParams& params);
Schedule xpipe(const ScheduleParams& params);
Schedule pipeoptim(const ScheduleParams& params);
Schedule pipelined_backpropagation(const ScheduleParams& params);
Schedule hetpipe(const ScheduleParams& params);
Schedule avgpipe(const ScheduleParams& params);
Schedule wpipe(const ScheduleParams& params);
Schedule petra(const ScheduleParams& params);
Schedule amdp(const ScheduleParams& params);
Schedule paci(const ScheduleParams& params);

namespace {

constexpr std::string_view kTiming = "timing=1f1b|slots: one action at a time, or a forward and a backward at once";
constexpr std::array kAsynchronousRows{
    ScheduleSpec{.name = "pipedream",
                 .summary = "never flushed; a backward reads the weights of its forward",
                 .year = 2018,
                 .source = "Narayanan et al., PipeDream, arXiv 1806.03377",
                 .synchronous = false,
                 .weights = "stash",
                 .options = kTiming,
                 .make = pipedream},
    ScheduleSpec{.name = "pipedream-vs",
                 .summary = "pipedream with vertical sync: all stages read the version of the first",
                 .year = 2018,
                 .source = "Narayanan et al., PipeDream, arXiv 1806.03377",
                 .synchronous = false,
                 .weights = "vertical_sync",
                 .options = kTiming,
                 .make = pipedream_vs},
    ScheduleSpec{.name = "1f1b-rr",
                 .summary = "pipedream over replicated stages, which take microbatches in turn",
                 .year = 2018,
                 .source = "Narayanan et al., PipeDream, arXiv 1806.03377",
                 .synchronous = false,
                 .weights = "stash",
                 .placement = "replicated",
                 .needs = "m (of one device per update) times the round of all replicas fits an index",
                 .options = "replicas=2-1-1: devices of each stage (default (p-1)-1)",
                 .folds = false,  // stages update at their own pace
                 .make = one_f_one_b_rr},
    ScheduleSpec{.name = "pipedream-2bw",
                 .summary = "never flushed, two versions of the weights: every gradient is one update old",
                 .year = 2020,
                 .source = "Narayanan et al., PipeDream-2BW, arXiv 2006.09503",
                 .synchronous = false,
                 .weights = "double_buffer",
                 .needs = "m x delay at least p - 1 (slots: 2p - 1)",
                 .options = "timing=1f1b|slots: one action at a time, or a forward and a backward at once; delay=N: "
                            "updates behind, N + 1 versions (default 1)",
                 .make = pipedream_2bw},
    ScheduleSpec{.name = "pipemare",
                 .summary = "never flushed, one version of the weights, whatever is newest",
                 .year = 2019,
                 .source = "Yang et al., PipeMare, arXiv 1910.05124",
                 .synchronous = false,
                 .weights = "latest",
                 .options = "timing=1f1b|slots: one action at a time, or a forward and a backward at once; "
                            "correction=none|t2: the method t2; synchronous=N: first N updates "
                            "flushed (default 0); segment=S: of S stages only the first keeps its input, slots replay "
                            "the rest (default: no recompute)",
                 .make = pipemare},
    ScheduleSpec{.name = "spectrain",
                 .summary = "never flushed, predicted weights in forward and backward",
                 .year = 2018,
                 .source = "Chen et al., SpecTrain, arXiv 1809.02839",
                 .synchronous = false,
                 .weights = "predicted",
                 .options =
                     "prediction=paper|released: for one moment of the round trip, or for the own backward; "
                     "ahead=order|published: as many updates as follow from the order, or as published for m = 1",
                 .make = spectrain},
    ScheduleSpec{.name = "xpipe",
                 .summary = "never flushed, weights predicted once for the microbatches of an update",
                 .year = 2019,
                 .source = "Guan et al., XPipe, arXiv 1911.04610",
                 .synchronous = false,
                 .weights = "predicted",
                 .make = xpipe},
    ScheduleSpec{
        .name = "pipeoptim",
        .summary = "never flushed, a forward predicts the weights of its backward",
        .year = 2023,
        .source = "Guan et al., PipeOptim, arXiv 2312.00839",
        .synchronous = false,
        .weights = "predicted",
        .options = "ahead=order|published: as many updates as follow from the order, or as published for m = 1",
        .make = pipeoptim},
    ScheduleSpec{.name = "pipelined-backpropagation",
                 .summary = "every stage runs a forward and a backward in every step",
                 .year = 2020,
                 .source = "Kosson et al., Pipelined Backpropagation at Scale, arXiv 2003.11666",
                 .synchronous = false,
                 .weights = "latest",
                 .options = "timing=fused|1f1b: a forward and a backward at once, or one action at a time; "
                            "weights=latest|stash: what a backward reads",
                 .make = pipelined_backpropagation},
    ScheduleSpec{.name = "hetpipe",
                 .summary = "data-parallel pipelines that exchange weights in waves",
                 .year = 2020,
                 .source = "Park et al., HetPipe, arXiv 2005.14038",
                 .synchronous = false,
                 .weights = "stash",
                 .placement = "data-parallel",
                 .needs = "p and m multiples of virtual-workers; concurrent <= p / virtual-workers",
                 .options = "virtual-workers=N: pipelines (default 2); concurrent=N: minibatches of a wave (default p "
                            "/ virtual-workers); distance=N: waves ahead of the slowest (default 0)",
                 .make = hetpipe},
    ScheduleSpec{.name = "avgpipe",
                 .summary = "several copies of the model take turns in filling each other's flushes",
                 .year = 2023,
                 .source = "AvgPipe, PPoPP 2023",
                 .synchronous = false,
                 .weights = "latest",
                 .placement = "copies",
                 .needs = "m a multiple of pipelines",
                 .options = "pipelines=N: copies of the model (default 2); warmup=1f1b|advance: forwards ahead, p - "
                            "1 - d or 2(p - 1 - d)",
                 .folds = false,  // an update is one batch of each pipeline, and none is more than half of it
                 .make = avgpipe},
    ScheduleSpec{.name = "wpipe",
                 .summary = "two groups of stages; one is an update behind, so nothing has to wait",
                 .year = 2022,
                 .source = "Yang et al., WPipe, ICLR 2022",
                 .synchronous = false,
                 .weights = "double_buffer",
                 .placement = "looped",
                 .needs = "m >= p - 1",
                 .make = wpipe},
    ScheduleSpec{.name = "petra",
                 .summary = "a backward makes the activations again with the weights of the moment",
                 .year = 2024,
                 .source = "Rivaud et al., PETRA, arXiv 2406.02052",
                 .synchronous = false,
                 .weights = "latest",
                 .options = "timing=fused|1f1b: a forward and a backward at once, or one action at a time",
                 .make = petra},
    ScheduleSpec{.name = "amdp",
                 .summary = "p/2 pipelines in alternating directions with two microbatches each",
                 .year = 2026,
                 .source = "AMDP, arXiv 2605.29664",
                 .synchronous = false,
                 .weights = "latest",
                 .placement = "bidirectional",
                 .needs = "p even; m a multiple of p/2",
                 .make = amdp},
    ScheduleSpec{.name = "paci",
                 .summary = "never flushed, updates so far apart that one version does",
                 .year = 2026,
                 .source = "PACI, arXiv 2606.07881",
                 .synchronous = false,
                 .weights = "latest",
                 .needs = "m >= p - 1 (slots: 2p - 1)",
                 .options = kTiming,
                 .make = paci},
};

}  // namespace

std::span<const ScheduleSpec> asynchronous_schedules() { return kAsynchronousRows; }

}  // namespace plumb
