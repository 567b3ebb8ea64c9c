#include <array>
#include <string>
#include <string_view>

#include "schedules/catalogue/policy_player.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/slice_lengths.hpp"

namespace plumb {

Schedule gpipe(const ScheduleParams& params);
Schedule one_f_one_b(const ScheduleParams& params);
Schedule dapple(const ScheduleParams& params);
Schedule eager_one_f_one_b(const ScheduleParams& params);
Schedule kfkb(const ScheduleParams& params);
Schedule two_stage_backward(const ScheduleParams& params);
Schedule interleaved(const ScheduleParams& params);
Schedule depth_first(const ScheduleParams& params);
Schedule breadth_first(const ScheduleParams& params);
Schedule hanayo(const ScheduleParams& params);
Schedule gems(const ScheduleParams& params);
Schedule chimera(const ScheduleParams& params);
Schedule cyclic_dp(const ScheduleParams& params);
Schedule bitpipe(const ScheduleParams& params);
Schedule terapipe(const ScheduleParams& params);
Schedule seq1f1b(const ScheduleParams& params);
Schedule varuna(const ScheduleParams& params);
Schedule axonn(const ScheduleParams& params);
Schedule merak(const ScheduleParams& params);
Schedule fold3d(const ScheduleParams& params);
Schedule autopipe(const ScheduleParams& params);
Schedule dynapipe(const ScheduleParams& params);

namespace {

constexpr std::string_view kAlternatingOptions =
    "limit=K: at most K forwards ahead of the backwards; "
    "recompute=never|always|except-last|early|early-except-last: forwards that are run again";

const std::string kAxonnOptions = "limit=N: microbatches under way at once (default p); " + std::string(kOrderOption);

const std::string kRecomputeOption = "; recompute=never|always|except-last: forwards that are run again";

const std::string kSeq1f1bOptions =
    std::string(kSliceLengthOptions) + kRecomputeOption + "; backward=whole|split: or with the weight halves put off";

const std::string kTerapipeOptions =
    std::string(kSliceLengthOptions) +
    "; lengths=joint: as search, with microbatches taken together where that is faster" + kRecomputeOption;

const std::array kSynchronousRows{
    ScheduleSpec{.name = "gpipe",
                 .summary = "all forwards, then all backwards",
                 .year = 2018,
                 .source = "Huang et al., GPipe, arXiv 1811.06965",
                 .options = "order=reverse|fifo: order of the backwards; "
                            "recompute=never|always|except-last|early|early-except-last: forwards that are run again",
                 .make = gpipe},
    ScheduleSpec{.name = "1f1b",
                 .summary = "alternate one forward with one backward",
                 .year = 2020,
                 .source = "Narayanan et al., PipeDream-Flush, arXiv 2006.09503",
                 .options = kAlternatingOptions,
                 .make = one_f_one_b},
    ScheduleSpec{.name = "dapple",
                 .summary = "early backward, with a short or a long warm-up",
                 .year = 2020,
                 .source = "Fan et al., DAPPLE, arXiv 2007.01045",
                 .options = "policy=a|b: warm up with p - d or 2(p - d) - 1 forwards; "
                            "limit=K: at most K forwards ahead of the backwards (1-3-2: by stage, with replicas); "
                            "recompute=never|always|except-last|early|early-except-last: forwards that are run again; "
                            "replicas=2-1-1: devices of each stage, which take microbatches in turn",
                 .make = dapple},
    ScheduleSpec{.name = "eager-1f1b",
                 .summary = "1f1b with twice the warm-up, so that transfers hide behind compute",
                 .year = 2022,
                 .source = "Zhuang et al., Alpa's communication, arXiv 2211.05322",
                 .options = kAlternatingOptions,
                 .make = eager_one_f_one_b},
    ScheduleSpec{.name = "kfkb",
                 .summary = "1f1b over groups of k microbatches",
                 .year = 2023,
                 .source = "Wang et al., Ada-Grouper, arXiv 2303.01675",
                 .needs = "k at most m",
                 .options = "k=K|auto: microbatches in a group (default 2), or as many as make the step shortest",
                 .make = kfkb},
    ScheduleSpec{.name = "2bp",
                 .summary = "weight gradients fill the waits of the drain; the rest comes last",
                 .year = 2024,
                 .source = "Rosselet et al., 2BP, arXiv 2405.18047",
                 .options = "base=1f1b|gpipe: the order of the rest; weights=gaps|end: where weight gradients stand; "
                            "concat=N: those at the end N at a time",
                 .make = two_stage_backward},
    ScheduleSpec{.name = "interleaved",
                 .summary = "1f1b over several chunks per device",
                 .year = 2021,
                 .source = "Narayanan et al., Megatron-LM, arXiv 2104.04473",
                 .placement = "looped",
                 .needs = "m a multiple of group, or a rest of at least p; or m < p",
                 .options = "group=N: microbatches that pass a chunk together (default p); "
                            "ahead=N: forwards more before the first backward",
                 .make = interleaved},
    ScheduleSpec{.name = "depth-first",
                 .summary = "breadth-first's counterpart: interleaved in groups of p",
                 .year = 2021,
                 .source = "Narayanan et al., arXiv 2104.04473, as named in arXiv 2211.05953",
                 .placement = "looped",
                 .needs = "m a multiple of p; or m < p",
                 .alias_of = "interleaved",
                 .make = depth_first},
    ScheduleSpec{.name = "breadth-first",
                 .summary = "every chunk takes all microbatches before the next chunk starts",
                 .year = 2022,
                 .source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv 2211.05953",
                 .placement = "looped",
                 .needs = "passes at most m",
                 .options = "passes=D: every D-th microbatch through all chunks and back, D times; "
                            "order=fifo|reverse: order of a chunk's backwards",
                 .make = breadth_first},
    ScheduleSpec{.name = "hanayo",
                 .summary = "waves: chunks run down the devices and back up",
                 .year = 2023,
                 .source = "Liu et al., Hanayo, arXiv 2308.15762",
                 .placement = "zigzag",
                 .needs = "v even: two chunks for each wave",
                 .folds = false,
                 .make = hanayo},
    ScheduleSpec{.name = "gems",
                 .summary = "two copies in opposite directions take turns; one activation per device",
                 .year = 2020,
                 .source = "Jain et al., GEMS, SC 2020, doi 10.1109/SC41405.2020.00049",
                 .placement = "bidirectional",
                 .make = gems},
    ScheduleSpec{.name = "chimera",
                 .summary = "pipelines in both directions over the same devices",
                 .year = 2021,
                 .source = "Li and Hoefler, Chimera, arXiv 2107.06925",
                 .placement = "bidirectional",
                 .needs = "p even",
                 .options =
                     "pipelines=f: pipelines in each direction (divides p/2); scaling=direct|doubling|halving: how "
                     "units follow each other; sync=eager|eager-opt|end: when copies reduce; "
                     "recompute=never|always: forwards that are run again",
                 .make = chimera},
    ScheduleSpec{.name = "bitpipe",
                 .summary = "V-shaped pipelines in both directions over the same devices",
                 .year = 2024,
                 .source = "Wu et al., BitPipe, arXiv 2410.19367",
                 .placement = "bidirectional",
                 .needs = "p even; m a multiple of p",
                 .make = bitpipe},
    ScheduleSpec{
        .name = "cyclic-dp",
        .summary = "data-parallel workers in turn instead of at once; a step late where it must be",
        .year = 2024,
        .source = "Fournier and Oyallon, Cyclic Data Parallelism, arXiv 2403.08837",
        .synchronous = false,
        .weights = "stash",
        .placement = "replicated",
        .needs = "m a multiple of p",
        .options = "rule=v2|v1: the step before only where the current one is not there in time, or everywhere",
        .make = cyclic_dp},
    ScheduleSpec{.name = "terapipe",
                 .summary = "slices of a sequence go through one after another, back in reverse",
                 .year = 2021,
                 .source = "Li et al., TeraPipe, arXiv 2102.07988",
                 .options = kTerapipeOptions,
                 .make = terapipe},
    ScheduleSpec{.name = "varuna",
                 .summary = "a free device takes a backward, else a recompute, else a forward",
                 .year = 2021,
                 .source = "Athlur et al., Varuna, arXiv 2111.04007",
                 .needs = "m p at most 2^24",
                 .options = kOrderOption,
                 .folds = false,
                 .make = varuna},
    ScheduleSpec{.name = "axonn",
                 .summary = "devices run what arrives, in order of arrival",
                 .year = 2021,
                 .source = "Singh and Bhatele, AxoNN, arXiv 2110.13005",
                 .needs = "m p at most 2^24",
                 .options = kAxonnOptions,
                 .folds = false,
                 .make = axonn},
    ScheduleSpec{
        .name = "autopipe",
        .summary = "1f1b that fills with half microbatches",
        .year = 2022,
        .source = "Liu et al., AutoPipe, CLUSTER 2022",
        .needs = "p at most 512; sliced at most m",
        .options = "sliced=N: microbatches whose forward is cut in two (default: as many as shorten the start)",
        .make = autopipe},
    ScheduleSpec{.name = "merak",
                 .summary = "1f1b with recompute kept off the critical path",
                 .year = 2022,
                 .source = "Lai et al., Merak, arXiv 2206.04959",
                 .needs = "m updates at most 2^20",
                 .options = "level=shifted|lastnorecompute|prerecompute|base: how much of it",
                 .folds = false,
                 .make = merak},
    ScheduleSpec{.name = "fold3d",
                 .summary = "segments one after another, their reductions behind the segments before",
                 .year = 2023,
                 .source = "Li et al., Fold3D, IEEE TPDS 2023",
                 .placement = "looped",
                 .needs = "replicas divide p and m",
                 .options = "replicas=N: copies of the model, each on p / N devices (default 1)",
                 .make = fold3d},
    ScheduleSpec{.name = "dynapipe",
                 .summary = "microbatches of different length in cycles with slack",
                 .year = 2023,
                 .source = "Jiang et al., DynaPipe, arXiv 2311.10418",
                 .needs = "m p at most 2^24",
                 .options = "sizes=L,L,..: lengths of the microbatches, over and over; limit=N: microbatches that a "
                            "device keeps; order=given|search: of the microbatches",
                 .folds = false,
                 .make = dynapipe},
    ScheduleSpec{.name = "seq1f1b",
                 .summary = "1f1b over slices of a sequence",
                 .year = 2024,
                 .source = "Sun et al., Seq1F1B, arXiv 2406.03488",
                 .placement = "looped",
                 .needs = "with v > 1, m k a multiple of p, or where k does not divide p of k ceil(p/k)",
                 .options = kSeq1f1bOptions,
                 .make = seq1f1b},
};

}  // namespace

std::span<const ScheduleSpec> synchronous_schedules() { return kSynchronousRows; }

}  // namespace plumb
