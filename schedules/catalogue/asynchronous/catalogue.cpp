#include <array>
#include <vector>

#include "schedules/catalogue/registry.hpp"

namespace plumb {

Schedule one_f_one_b_rr(const ScheduleParams& params);
Schedule hetpipe(const ScheduleParams& params);
Schedule avgpipe(const ScheduleParams& params);
Schedule amdp(const ScheduleParams& params);
Schedule acco(const ScheduleParams& params);

namespace {

const std::array kAsynchronousRows{
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
    ScheduleSpec{.name = "amdp",
                 .summary = "p/2 pipelines in alternating directions with at most two microbatches each",
                 .year = 2026,
                 .source = "AMDP, arXiv 2605.29664",
                 .synchronous = false,
                 .weights = "latest",
                 .placement = "bidirectional",
                 .needs = "p even; m a multiple of p/2",
                 .make = amdp},
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

std::span<const ScheduleSpec> asynchronous_schedules() {
  static const std::vector<ScheduleSpec> rows = with_rules("asynchronous", kAsynchronousRows);
  return rows;
}

}  // namespace plumb
