#include <array>
#include <string>

#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/zero_bubble/post_validation.hpp"

namespace plumb {

Schedule zb_h1(const ScheduleParams& params);
Schedule zb_h2(const ScheduleParams& params);
Schedule zb_1p(const ScheduleParams& params);
Schedule zb_2p(const ScheduleParams& params);
Schedule zb_auto(const ScheduleParams& params);
Schedule zb_v(const ScheduleParams& params);
Schedule v_min(const ScheduleParams& params);
Schedule v_half(const ScheduleParams& params);
Schedule v_zb(const ScheduleParams& params);
Schedule v_auto(const ScheduleParams& params);
Schedule one_f_one_b_v(const ScheduleParams& params);
Schedule interleaved_zb(const ScheduleParams& params);
Schedule dualpipe(const ScheduleParams& params);
Schedule dualpipev(const ScheduleParams& params);
Schedule stp(const ScheduleParams& params);
Schedule gis(const ScheduleParams& params);
Schedule pipeoffload(const ScheduleParams& params);
Schedule bpipe(const ScheduleParams& params);

namespace {

const std::string kSearchOptions =
    std::string(kValidationOption) +
    "; gap=both|yes|no: a gap before the first I rather than one more F; skip=both|yes|no: a stage that is ahead "
    "leaves "
    "out a forward; fill=both|yes|no: W also into gaps shorter than itself (hyper-parameters of the search)";

const std::array kZeroBubbleRows{
    ScheduleSpec{.name = "zb-h1",
                 .summary = "1f1b with the weight gradient put off into the drain",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .options = kValidationOption,
                 .make = zb_h1},
    ScheduleSpec{.name = "zb-h2",
                 .summary = "more forwards first and more weight gradients put off: no idle time with equal passes",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .options = kValidationOption,
                 .make = zb_h2},
    ScheduleSpec{.name = "zb-1p",
                 .summary = "order searched for the given costs, with the memory of 1f1b",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .needs = kSearchable,
                 .options = kSearchOptions,
                 .folds = false,
                 .make = zb_1p},
    ScheduleSpec{.name = "zb-2p",
                 .summary = "order searched for the given costs, with twice the memory of 1f1b",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .needs = kSearchable,
                 .options = kSearchOptions,
                 .folds = false,
                 .make = zb_2p},
    ScheduleSpec{.name = "zb-auto",
                 .summary = "order searched for the given costs, under any memory limit",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .needs = "stages x m at most 4194304; a memory limit of at least one activation",
                 .options = kSearchOptions,
                 .folds = false,
                 .make = zb_auto},
    ScheduleSpec{.name = "zb-v",
                 .summary = "two stages per device in a V, backward split: no idle time in the memory of 1f1b",
                 .year = 2023,
                 .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241",
                 .placement = "v",
                 .options = "order=rule|search: the hand-written order, or one searched for the given costs and limit; "
                            "validation=none|sync|post: updates wait for the norm of all gradients, or are validated "
                            "in the next warm-up",
                 .make = zb_v},
    ScheduleSpec{.name = "v-min",
                 .summary = "building block on a V, a third of the memory of 1f1b",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = kSearchable,
                 .folds = false,
                 .make = v_min},
    ScheduleSpec{.name = "v-half",
                 .summary = "building block on a V, half of the memory of 1f1b",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = kSearchable,
                 .folds = false,
                 .make = v_half},
    ScheduleSpec{.name = "v-zb",
                 .summary = "building block on a V, no idle time with equal passes",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = kSearchable,
                 .folds = false,
                 .make = v_zb},
    ScheduleSpec{.name = "v-auto",
                 .summary = "the best building block on a V for the given costs, under any memory limit",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = "stages x m at most 4194304; a memory limit of about a third of that of 1f1b",
                 .folds = false,
                 .make = v_auto},
    ScheduleSpec{.name = "1f1b-v",
                 .summary = "1f1b on a V, two thirds of its memory",
                 .year = 2024,
                 .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
                 .placement = "v",
                 .needs = kSearchable,
                 .folds = false,
                 .make = one_f_one_b_v},
    ScheduleSpec{.name = "interleaved-zb",
                 .summary = "zb-h1 over several chunks per device",
                 .year = 2024,
                 .source = "torch.distributed.pipelining, ScheduleInterleavedZeroBubble",
                 .placement = "looped",
                 .needs = "m a multiple of group, or a rest of at least p",
                 .options = "group=N: microbatches that pass a chunk together (default m div max(1, m div p))",
                 .make = interleaved_zb},
    ScheduleSpec{.name = "dualpipe",
                 .summary = "pipelines in both directions, forwards overlapped with backwards",
                 .year = 2024,
                 .source = "DeepSeek-V3 Technical Report, arXiv 2412.19437",
                 .placement = "bidirectional",
                 .needs = "p even; m even and at least 2p",
                 .make = dualpipe},
    ScheduleSpec{.name = "dualpipev",
                 .summary = "dualpipe cut in half: one copy of the model on a V",
                 .year = 2025,
                 .source = "Sea AI Lab, DualPipe could be better without the Dual",
                 .placement = "v",
                 .needs = "m at least 2p",
                 .make = dualpipev},
    ScheduleSpec{.name = "stp",
                 .summary = "almost every pass overlapped with another, so that tensor-parallel all-reduces are hidden",
                 .year = 2025,
                 .source = "Qi et al., Synergistic Tensor and Pipeline Parallelism, arXiv 2510.27257",
                 .placement = "v",
                 .needs = "m at least 3p - 1",
                 .searched = false,  // costs of networks do not tell what a pair hides: it would be priced as a sum
                 .make = stp},
    ScheduleSpec{.name = "gis",
                 .summary = "chunks in groups, backward split: zero bubble in the memory of 1f1b or half of it",
                 .year = 2025,
                 .source = "Wan et al., PipeOffload, arXiv 2503.01328",
                 .placement = "looped",
                 .options = "group=N: microbatches that pass a chunk together, from p / 2 to p (default p); "
                            "recompute=R: the first R chunks of every device run again before I",
                 .make = gis},
    ScheduleSpec{.name = "pipeoffload",
                 .summary = "gis with stashes in host memory between forward and backward",
                 .year = 2025,
                 .source = "Wan et al., PipeOffload, arXiv 2503.01328",
                 .placement = "looped",
                 .needs = kSearchable,
                 .options = "group=N: as of gis; offload=N: chunks per device whose stashes go (default all); "
                            "solo=N: a copy takes N % of its time while nothing comes back (default 70)",
                 .folds = false,
                 .make = pipeoffload},
    ScheduleSpec{
        .name = "bpipe",
        .summary = "1f1b, early devices park stashes on late ones",
        .year = 2023,
        .source = "Kim et al., BPipe, ICML 2023",
        .placement = "linear",
        .needs = kSearchable,
        .options = "load=ahead|late: stashes come back before the forward in front of their backward, or just in time",
        .folds = false,
        .make = bpipe},
};

}  // namespace

std::span<const ScheduleSpec> zero_bubble_schedules() { return kZeroBubbleRows; }

}  // namespace plumb
