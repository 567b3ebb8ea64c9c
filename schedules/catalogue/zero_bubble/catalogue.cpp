#include <array>
#include <vector>

#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/catalogue/post_validation.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/searched/best_order.hpp"

namespace plumb {

Schedule zb_1p(const ScheduleParams& params);
Schedule zb_2p(const ScheduleParams& params);
Schedule zb_auto(const ScheduleParams& params);
Schedule zb_v(const ScheduleParams& params);
Schedule v_min(const ScheduleParams& params);
Schedule v_half(const ScheduleParams& params);
Schedule v_zb(const ScheduleParams& params);
Schedule v_auto(const ScheduleParams& params);
Schedule one_f_one_b_v(const ScheduleParams& params);
Schedule gis(const ScheduleParams& params);
Schedule pipeoffload(const ScheduleParams& params);
Schedule bpipe(const ScheduleParams& params);

namespace {

/// Of the heuristic: what is not given is tried both ways. `improve`: whether it is improved by default.
std::vector<NamedOption> search_options(OptionDefault improve) {
  return {kValidationOption,
          {"gap",
           {"both", "yes", "no"},
           "both",
           "whether the search leaves a gap before the first I instead of one more F"},
          {"skip", {"both", "yes", "no"}, "both", "whether the search lets a stage that is ahead leave out a forward"},
          {"fill", {"both", "yes", "no"}, "both", "whether the search puts W into gaps shorter than W, too"},
          improve_option(improve),
          kProofOption};
}

const std::array kZeroBubbleRows{
    ScheduleSpec{.name = "zb-1p",
                 .summary = "order searched for the given costs, with the memory of 1f1b",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .needs = kSearchable,
                 .options = search_options("no"),
                 .folds = false,
                 .make = zb_1p},
    ScheduleSpec{.name = "zb-2p",
                 .summary = "order searched for the given costs, with twice the memory of 1f1b",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .needs = kSearchable,
                 .options = search_options("no"),
                 .folds = false,
                 .make = zb_2p},
    ScheduleSpec{.name = "zb-auto",
                 .summary = "order searched for the given costs, within any memory limit",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .needs = "stages x m at most 4194304; a memory limit of at least one activation",
                 .options = search_options("yes"),
                 .folds = false,
                 .make = zb_auto},
    ScheduleSpec{.name = "zb-v",
                 .options = {{"order",
                              {"rule", "search"},
                              "rule",
                              "the published order, or one searched for the given costs and memory limit"},
                             improve_option("yes with order=search"),
                             kProofOption,
                             kValidationOption},
                 .make = zb_v},
    ScheduleSpec{.name = "v-min",
                 .summary = "one block of passes repeated, two stages per device in a V: a third of the memory of 1f1b",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = kSearchable,
                 .folds = false,
                 .make = v_min},
    ScheduleSpec{.name = "v-half",
                 .summary = "one block of passes repeated, two stages per device in a V: half of the memory of 1f1b",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = kSearchable,
                 .folds = false,
                 .make = v_half},
    ScheduleSpec{
        .name = "v-zb",
        .summary =
            "one block of passes repeated, two stages per device in a V: no idle time if F, I and W take equally long",
        .year = 2024,
        .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
        .placement = "v",
        .needs = kSearchable,
        .folds = false,
        .make = v_zb},
    ScheduleSpec{.name = "v-auto",
                 .summary = "the best repeated block on a V for the given costs, within any memory limit",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = "stages x m at most 4194304; a memory limit of at least about a third of the memory of 1f1b",
                 .folds = false,
                 .make = v_auto},
    ScheduleSpec{.name = "1f1b-v",
                 .summary = "1f1b with two stages per device in a V: two thirds of its memory",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = kSearchable,
                 .folds = false,
                 .make = one_f_one_b_v},
    ScheduleSpec{
        .name = "gis",
        .summary =
            "interleaved in groups with the backward split: little idle time in the memory of 1f1b, or in half of it",
        .year = 2025,
        .source = "Wan et al., PipeOffload, arXiv 2503.01328",
        .placement = "looped",
        .options = {{"group", count_form("N"), "p",
                     "microbatches that pass through a chunk before the device turns to the next chunk, from p / 2 to "
                     "p; a smaller group takes less memory"},
                    {"recompute", count_form("R", 0), 0,
                     "chunks of every device whose forward runs again right before I"}},
        .make = gis},
    ScheduleSpec{
        .name = "pipeoffload",
        .summary = "gis with activations in host memory between forward and backward",
        .year = 2025,
        .source = "Wan et al., PipeOffload, arXiv 2503.01328",
        .placement = "looped",
        .needs = kSearchable,
        .options = {{"group", count_form("N"), "p",
                     "microbatches that pass through a chunk before the device turns to the next chunk, from "
                     "p / 2 to p; a smaller group takes less memory"},
                    {"offload", count_form("N"), "all", "chunks of every device whose activations go to the host"},
                    {"solo", count_form("N"), 70,
                     "time of a copy while nothing is copied the other way, in percent of its usual time"}},
        .folds = false,
        .make = pipeoffload},
    ScheduleSpec{.name = "bpipe",
                 .summary = "1f1b in which early devices store activations on late devices",
                 .year = 2023,
                 .source = "Kim et al., BPipe, ICML 2023",
                 .placement = "linear",
                 .needs = kSearchable,
                 .options = {{"load",
                              {"ahead", "late"},
                              "ahead",
                              "when activations come back: during the forward before their backward, or just in time"}},
                 .folds = false,
                 .make = bpipe},
};

}  // namespace

std::span<const ScheduleSpec> zero_bubble_schedules() {
  static const std::vector<ScheduleSpec> rows = with_rules("zero_bubble", kZeroBubbleRows);
  return rows;
}

}  // namespace plumb
