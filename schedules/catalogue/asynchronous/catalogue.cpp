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
Schedule acco(const ScheduleParams& params);

namespace {

constexpr NamedOption kTimingOption{
    "timing", {"1f1b", "slots"}, "1f1b", "one pass at a time, or a forward and a backward at once in every slot"};
constexpr NamedOption kSlotsTimingOption{
    "timing", {"slots", "1f1b"}, "slots", "a forward and a backward at once in every slot, or one pass at a time"};
constexpr NamedOption kFusedTimingOption{
    "timing", {"fused", "1f1b"}, "fused", "a forward and a backward at once in every step, or one pass at a time"};
constexpr NamedOption kAheadOption{
    "ahead",
    {"order", "published"},
    "order",
    "how many updates ahead weights are predicted: what follows from the order of the passes, or the published numbers "
    "for m = 1"};

const std::array kAsynchronousRows{
    ScheduleSpec{.name = "pipedream",
                 .summary = "never flushed; a backward reads the weights that its forward read (weight stashing)",
                 .year = 2018,
                 .source = "Narayanan et al., PipeDream, arXiv 1806.03377",
                 .synchronous = false,
                 .weights = "stash",
                 .options = {kTimingOption},
                 .make = pipedream},
    ScheduleSpec{.name = "pipedream-vs",
                 .summary = "pipedream with vertical sync: every stage reads the version that the first stage read",
                 .year = 2018,
                 .source = "Narayanan et al., PipeDream, arXiv 1806.03377",
                 .synchronous = false,
                 .weights = "vertical_sync",
                 .options = {kTimingOption},
                 .make = pipedream_vs},
    ScheduleSpec{.name = "1f1b-rr",
                 .summary = "pipedream over replicated stages, whose devices take microbatches in turn",
                 .year = 2018,
                 .source = "Narayanan et al., PipeDream, arXiv 1806.03377",
                 .synchronous = false,
                 .weights = "stash",
                 .placement = "replicated",
                 .needs = "m x least common multiple of the replicas below 2^31",
                 .options = {{"replicas", list_form("N-N-..."), "(p-1)-1",
                              "devices of every stage, as 2-1-1; they take microbatches in turn"}},
                 .folds = false,  // stages update at their own pace
                 .make = one_f_one_b_rr},
    ScheduleSpec{.name = "pipedream-2bw",
                 .summary = "never flushed, two versions of the weights: every gradient is one update old",
                 .year = 2020,
                 .source = "Narayanan et al., PipeDream-2BW, arXiv 2006.09503",
                 .synchronous = false,
                 .weights = "double_buffer",
                 .needs = "m x delay at least p - 1 (timing=slots: 2p - 1)",
                 .options = {kTimingOption,
                             {"delay", count_form("N"), 1, "age of the weights in updates; N + 1 versions are kept"}},
                 .make = pipedream_2bw},
    ScheduleSpec{.name = "pipemare",
                 .summary = "never flushed, one version of the weights: every pass reads the newest",
                 .year = 2019,
                 .source = "Yang et al., PipeMare, arXiv 1910.05124",
                 .synchronous = false,
                 .weights = "latest",
                 .options = {kSlotsTimingOption,
                             {"correction", {"none", "t2"}, "none", "t2: discrepancy correction, as --method t2"},
                             {"synchronous", count_form("N", 0), 0, "number of first updates that are flushed"},
                             {"segment", count_form("S"), "no recomputation",
                              "of S stages in a row only the first keeps its input, and the others are recomputed (not "
                              "with timing=1f1b)"}},
                 .make = pipemare},
    ScheduleSpec{.name = "spectrain",
                 .summary = "never flushed; forwards and backwards read predicted weights",
                 .year = 2018,
                 .source = "Chen et al., SpecTrain, arXiv 1809.02839",
                 .synchronous = false,
                 .weights = "predicted",
                 .options = {{"prediction",
                              {"paper", "released"},
                              "paper",
                              "the moment that weights are predicted for: the end of the microbatch's backward on "
                              "stage 0, or the stage's own backward (released code)"},
                             kAheadOption},
                 .make = spectrain},
    ScheduleSpec{.name = "xpipe",
                 .summary = "never flushed; weights are predicted once for all microbatches of an update",
                 .year = 2019,
                 .source = "Guan et al., XPipe, arXiv 1911.04610",
                 .synchronous = false,
                 .weights = "predicted",
                 .make = xpipe},
    ScheduleSpec{.name = "pipeoptim",
                 .summary = "never flushed; a forward predicts the weights that its backward will read",
                 .year = 2023,
                 .source = "Guan et al., PipeOptim, arXiv 2312.00839",
                 .synchronous = false,
                 .weights = "predicted",
                 .options = {kAheadOption},
                 .make = pipeoptim},
    ScheduleSpec{.name = "pipelined-backpropagation",
                 .summary = "never flushed; every stage runs a forward and a backward in every step",
                 .year = 2020,
                 .source = "Kosson et al., Pipelined Backpropagation at Scale, arXiv 2003.11666",
                 .synchronous = false,
                 .weights = "latest",
                 .options = {kFusedTimingOption,
                             {"weights",
                              {"latest", "stash"},
                              "latest",
                              "weights that a backward reads: the newest, or those that its forward read"}},
                 .make = pipelined_backpropagation},
    ScheduleSpec{
        .name = "hetpipe",
        .summary = "data-parallel pipelines (virtual workers) that exchange their updates in waves",
        .year = 2020,
        .source = "Park et al., HetPipe, arXiv 2005.14038",
        .synchronous = false,
        .weights = "stash",
        .placement = "data-parallel",
        .needs = "p and m multiples of virtual-workers; concurrent at most p / virtual-workers",
        .options = {{"virtual-workers", count_form("N"), 2, "number of pipelines"},
                    {"concurrent", count_form("N"), "p / virtual-workers",
                     "minibatches in a pipeline at once; so many make a wave"},
                    {"distance", count_form("N", 0), 0, "waves that a pipeline may be ahead of the slowest one"}},
        .make = hetpipe},
    ScheduleSpec{.name = "avgpipe",
                 .summary = "several copies of the model: while one is flushed, the others keep the devices busy",
                 .year = 2023,
                 .source = "AvgPipe, PPoPP 2023",
                 .synchronous = false,
                 .weights = "latest",
                 .placement = "copies",
                 .needs = "m a multiple of pipelines",
                 .options = {{"pipelines", count_form("N"), 2, "copies of the model"},
                             {"warmup",
                              {"1f1b", "advance"},
                              "1f1b",
                              "forwards of device d before its first backward: p - 1 - d, or 2(p - 1 - d)"}},
                 .folds = false,  // an update is one batch of each pipeline, and none is more than half of it
                 .make = avgpipe},
    ScheduleSpec{
        .name = "wpipe",
        .summary =
            "two groups of stages; the first reads weights one update old, so that no device waits for an update",
        .year = 2022,
        .source = "Yang et al., WPipe, ICLR 2022",
        .synchronous = false,
        .weights = "double_buffer",
        .placement = "looped",
        .needs = "m at least p - 1",
        .make = wpipe},
    ScheduleSpec{.name = "petra",
                 .summary = "never flushed; a backward computes the activations again with the newest weights",
                 .year = 2024,
                 .source = "Rivaud et al., PETRA, arXiv 2406.02052",
                 .synchronous = false,
                 .weights = "latest",
                 .options = {kFusedTimingOption},
                 .make = petra},
    ScheduleSpec{.name = "amdp",
                 .summary = "p/2 pipelines in alternating directions with at most two microbatches each",
                 .year = 2026,
                 .source = "AMDP, arXiv 2605.29664",
                 .synchronous = false,
                 .weights = "latest",
                 .placement = "bidirectional",
                 .needs = "p even; m a multiple of p/2",
                 .make = amdp},
    ScheduleSpec{
        .name = "paci",
        .summary = "never flushed; an update takes so many microbatches that one version of the weights is enough",
        .year = 2026,
        .source = "PACI, arXiv 2606.07881",
        .synchronous = false,
        .weights = "latest",
        .needs = "m at least p - 1 (timing=slots: 2p - 1)",
        .options = {kTimingOption},
        .make = paci},
    ScheduleSpec{.name = "acco",
                 .summary = "data parallelism whose reductions hide behind the passes of the next half of a step",
                 .year = 2024,
                 .source = "Nabli et al., ACCO, arXiv 2406.02613; released code",
                 .synchronous = false,
                 .weights = "delay",
                 .placement = "replicated",
                 .needs = "p at least 2; m, the microbatches of half a step, a multiple of p",
                 .options = {{"rule",
                              {"acco", "dpu"},
                              "acco",
                              "every second update is tentative, or every one counts and is one update late"}},
                 .make = acco},
};

}  // namespace

std::span<const ScheduleSpec> asynchronous_schedules() { return kAsynchronousRows; }

}  // namespace plumb
