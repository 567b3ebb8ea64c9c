#include <algorithm>
#include <array>
#include <vector>

#include "schedules/catalogue/policy_player.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/slice_lengths.hpp"

namespace plumb {

Schedule gpipe(const ScheduleParams& params);
Schedule one_f_one_b(const ScheduleParams& params);
Schedule one_f_one_b_overlap(const ScheduleParams& params);
Schedule one_f_one_b_vocab(const ScheduleParams& params);
Schedule one_f_one_b_interlaced(const ScheduleParams& params);
Schedule dapple(const ScheduleParams& params);
Schedule eager_one_f_one_b(const ScheduleParams& params);
Schedule kfkb(const ScheduleParams& params);
Schedule two_stage_backward(const ScheduleParams& params);
Schedule interleaved(const ScheduleParams& params);
Schedule interleaved_overlap(const ScheduleParams& params);
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

constexpr NamedOption kLimitOption{"limit", count_form("K"), "none",
                                   "largest number of forwards by which a device may be ahead of its backwards"};

constexpr NamedOption kRecomputeOption{
    "recompute",
    {"never", "always", "except-last", "early", "early-except-last"},
    "never",
    "drops the activations of no, all or all but the last microbatch and computes them again in the backward; early: "
    "before the gradient arrives"};

constexpr NamedOption kSliceRecomputeOption{
    "recompute",
    {"never", "always", "except-last"},
    "never",
    "drops the activations of no, all or all but the last microbatch and computes them again in the backward"};

std::vector<NamedOption> terapipe_options() {
  std::vector<NamedOption> options = slice_options(4, {kSliceRecomputeOption});
  NamedOption& lengths = *std::ranges::find(options, "lengths", &NamedOption::name);
  lengths.values = {"equal", "work", "search", "joint", list_form("L,L,...")};
  lengths.meaning =
      "lengths of the slices: all equal, equal work, those with the shortest step, the same with several microbatches "
      "in a slice where that is faster, or as given";
  return options;
}

const std::array kSynchronousRows{
    ScheduleSpec{.name = "gpipe",
                 .summary = "all forwards, then all backwards",
                 .year = 2018,
                 .source = "Huang et al., GPipe, arXiv 1811.06965",
                 .options = {{"order",
                              {"reverse", "fifo"},
                              "reverse",
                              "order of the backwards: last microbatch first, or first microbatch first"},
                             kRecomputeOption},
                 .make = gpipe},
    ScheduleSpec{.name = "1f1b",
                 .summary = "after a warm-up, one forward and one backward in turn",
                 .year = 2020,
                 .source = "Narayanan et al., PipeDream-Flush, arXiv 2006.09503",
                 .options = {kLimitOption, kRecomputeOption},
                 .make = one_f_one_b},
    ScheduleSpec{.name = "1f1b-overlap",
                 .summary =
                     "1f1b whose forwards and backwards overlap in pairs, so that communication inside of passes "
                     "is hidden",
                 .year = 2025,
                 .source = "NVIDIA, Megatron-LM, combined_1f1b.py",
                 .make = one_f_one_b_overlap},
    ScheduleSpec{.name = "1f1b-vocab",
                 .summary = "1f1b with embedding and head divided over all devices, their passes in turns between the "
                            "others",
                 .year = 2024,
                 .source = "Yeung et al., Vocabulary Parallelism, arXiv 2411.05288",
                 .placement = "divided",
                 .needs = "p at least 2",
                 .options = {{"barriers",
                              {"1", "2"},
                              1,
                              "how often the shares of a microbatch wait for each other: 1 computes the gradient of "
                              "the head's input before the sums of all shares are known and scales it then; 2 keeps "
                              "one microbatch more"}},
                 .searched = false,
                 .copies = false,
                 .make = one_f_one_b_vocab},
    ScheduleSpec{.name = "1f1b-interlaced",
                 .summary = "1f1b with embedding and head divided over all devices, which compute the head at once",
                 .year = 2024,
                 .source = "Lin et al., nnScaler, OSDI 2024, as the baseline of Yeung et al., arXiv 2411.05288",
                 .placement = "divided",
                 .needs = "p at least 2",
                 .searched = false,
                 .copies = false,
                 .make = one_f_one_b_interlaced},
    ScheduleSpec{.name = "dapple",
                 .summary = "1f1b with a short or a long warm-up, also over replicated stages",
                 .year = 2020,
                 .source = "Fan et al., DAPPLE, arXiv 2007.01045",
                 .options = {{"policy", {"a", "b"}, "a", "warm-up of device d: p - d forwards, or 2(p - d) - 1"},
                             {"limit",
                              {count_form("K"), list_form("K-K-...")},
                              "none",
                              "largest number of forwards by which a device may be ahead of its backwards; with "
                              "replicas also one number for every stage, as 1-3-2"},
                             kRecomputeOption,
                             {"replicas", list_form("N-N-..."), "1 for every stage",
                              "devices of every stage, as 2-1-1; they take microbatches in turn"}},
                 .make = dapple},
    ScheduleSpec{.name = "eager-1f1b",
                 .summary = "1f1b with nearly twice the warm-up, so that transfers overlap with computation",
                 .year = 2022,
                 .source = "Zhuang et al., Alpa's communication, arXiv 2211.05322",
                 .options = {kLimitOption, kRecomputeOption},
                 .make = eager_one_f_one_b},
    ScheduleSpec{
        .name = "kfkb",
        .summary = "1f1b in groups: k forwards, then k backwards",
        .year = 2023,
        .source = "Wang et al., Ada-Grouper, arXiv 2303.01675",
        .needs = "k at most m",
        .options =
            {{"k",
              {count_form("K"), "auto"},
              2,
              "microbatches in a group; auto: the number with the shortest step for the given costs and memory limit"}},
        .make = kfkb},
    ScheduleSpec{
        .name = "2bp",
        .summary =
            "1f1b or gpipe with the backward split: weight gradients run in idle time and at the end of the step",
        .year = 2024,
        .source = "Rosselet et al., 2BP, arXiv 2405.18047",
        .options = {{"base", {"1f1b", "gpipe"}, "1f1b", "order of the forwards and the input gradients"},
                    {"weights",
                     {"gaps", "end"},
                     "gaps",
                     "where weight gradients run: in idle time first, or all at the end of the step"},
                    {"concat", count_form("N"), 1,
                     "weight gradients at the end of the step that are computed together"}},
        .make = two_stage_backward},
    ScheduleSpec{.name = "interleaved",
                 .summary = "1f1b over several chunks of the model per device",
                 .year = 2021,
                 .source = "Narayanan et al., Megatron-LM, arXiv 2104.04473",
                 .placement = "looped",
                 .needs = "m a multiple of group, or a remainder of at least p; or m < p",
                 .options = {{"group", count_form("N"), "p",
                              "microbatches that pass through a chunk before the device turns to the next chunk"},
                             {"ahead", count_form("N", 0), 0, "additional forwards before the first backward"}},
                 .make = interleaved},
    ScheduleSpec{.name = "interleaved-overlap",
                 .summary = "interleaved whose forwards and backwards overlap in pairs, so that the all-to-alls of "
                            "experts are hidden",
                 .year = 2025,
                 .source = "NVIDIA, Megatron-LM, combined_1f1b.py",
                 .placement = "looped",
                 .needs = "m a multiple of group, or a remainder of at least p; or m < p",
                 .options = {{"group", count_form("N"), "p",
                              "microbatches that pass through a chunk before the device turns to the next chunk"}},
                 .make = interleaved_overlap},
    ScheduleSpec{.name = "depth-first",
                 .summary = "interleaved in groups of p microbatches, the counterpart of breadth-first",
                 .year = 2021,
                 .source = "Narayanan et al., arXiv 2104.04473, as named in arXiv 2211.05953",
                 .placement = "looped",
                 .needs = "m a multiple of p; or m < p",
                 .alias_of = "interleaved",
                 .make = depth_first},
    ScheduleSpec{.name = "breadth-first",
                 .summary = "each chunk runs all microbatches before the device turns to its next chunk",
                 .year = 2022,
                 .source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv 2211.05953",
                 .placement = "looped",
                 .needs = "passes at most m",
                 .options = {{"passes", count_form("D"), 1,
                              "number of passes over the chunks; each takes every D-th microbatch forward and backward "
                              "through all of them"},
                             {"order",
                              {"fifo", "reverse"},
                              "fifo",
                              "order of a chunk's backwards: first microbatch first, or last microbatch first"}},
                 .make = breadth_first},
    ScheduleSpec{.name = "hanayo",
                 .summary = "waves: stages run down the devices and back up, with one copy of the model",
                 .year = 2023,
                 .source = "Liu et al., Hanayo, arXiv 2308.15762",
                 .placement = "zigzag",
                 .needs = "v even (every wave takes two chunks of a device)",
                 .folds = false,
                 .make = hanayo},
    ScheduleSpec{.name = "gems",
                 .summary = "two copies of the model in opposite directions take turns; a device keeps one activation",
                 .year = 2020,
                 .source = "Jain et al., GEMS, SC 2020, doi 10.1109/SC41405.2020.00049",
                 .placement = "bidirectional",
                 .make = gems},
    ScheduleSpec{
        .name = "chimera",
        .summary = "pipelines in both directions over the same devices, each with its own copy of the model",
        .year = 2021,
        .source = "Li and Hoefler, Chimera, arXiv 2107.06925",
        .placement = "bidirectional",
        .needs = "p even",
        .options =
            {{"pipelines", count_form("f"), 1, "pipelines in each direction; must divide p/2"},
             {"scaling",
              {"direct", "doubling", "halving"},
              "direct",
              "how more than p microbatches run: p at a time, two in every forward, or half of one in every backward"},
             {"sync",
              {"eager", "eager-opt", "end"},
              "eager",
              "when the copies of a stage add up their gradients: after its last backward, so only on devices that "
              "wait afterwards, or at the end of the step"},
             {"recompute",
              {"never", "always"},
              "never",
              "whether activations are dropped and computed again in the backward"}},
        .make = chimera},
    ScheduleSpec{
        .name = "bitpipe",
        .summary = "V-shaped pipelines in both directions over the same devices, each with its own copy of the model",
        .year = 2024,
        .source = "Wu et al., BitPipe, arXiv 2410.19367",
        .placement = "bidirectional",
        .needs = "p even; m a multiple of p",
        .make = bitpipe},
    ScheduleSpec{
        .name = "cyclic-dp",
        .summary = "data parallelism whose workers start one after another instead of at once; some read the weights "
                   "of the step before",
        .year = 2024,
        .source = "Fournier and Oyallon, Cyclic Data Parallelism, arXiv 2403.08837",
        .synchronous = false,
        .weights = "stash",
        .placement = "replicated",
        .needs = "m a multiple of p",
        .options =
            {{"rule",
              {"v2", "v1"},
              "v2",
              "who reads the weights of the step before: stages whose current weights are not ready in time, or all"}},
        .make = cyclic_dp},
    ScheduleSpec{.name = "terapipe",
                 .summary = "slices of a sequence run forward one after another, then backward in reverse",
                 .year = 2021,
                 .source = "Li et al., TeraPipe, arXiv 2102.07988",
                 .options = terapipe_options(),
                 .copies = false,
                 .make = terapipe},
    ScheduleSpec{.name = "varuna",
                 .summary = "a free device runs a backward if one is ready, else a recomputation, else a forward",
                 .year = 2021,
                 .source = "Athlur et al., Varuna, arXiv 2111.04007",
                 .needs = "m x p at most 2^24",
                 .options = {kOrderOption},
                 .folds = false,
                 .make = varuna},
    ScheduleSpec{.name = "axonn",
                 .summary = "message-driven: devices run whatever has arrived, in order of arrival",
                 .year = 2021,
                 .source = "Singh and Bhatele, AxoNN, arXiv 2110.13005",
                 .needs = "m x p at most 2^24",
                 .options = {{"limit", count_form("N"), "p", "microbatches in the pipeline at once"}, kOrderOption},
                 .folds = false,
                 .make = axonn},
    ScheduleSpec{.name = "autopipe",
                 .summary = "1f1b whose first forwards run in two halves, so that the pipeline fills sooner",
                 .year = 2022,
                 .source = "Liu et al., AutoPipe, CLUSTER 2022",
                 .needs = "p at most 512; sliced at most m",
                 .options = {{"sliced", count_form("N"), "as many as shorten the warm-up",
                              "microbatches whose forward is cut in two"}},
                 .copies = false,
                 .make = autopipe},
    ScheduleSpec{.name = "merak",
                 .summary = "1f1b with recomputation that stays off the critical path",
                 .year = 2022,
                 .source = "Lai et al., Merak, arXiv 2206.04959",
                 .needs = "m x updates at most 2^20",
                 .options = {{"level",
                              {"shifted", "lastnorecompute", "prerecompute", "base"},
                              "shifted",
                              "how much of the method: all; all but moving up the third forward of the last stage but "
                              "one; only early recomputation; or none, recomputing inside every backward"}},
                 .folds = false,
                 .copies = false,
                 .make = merak},
    ScheduleSpec{.name = "fold3d",
                 .summary = "segments of the model one after another; their gradients are reduced during the backwards "
                            "of earlier segments",
                 .year = 2023,
                 .source = "Li et al., Fold3D, IEEE TPDS 2023",
                 .placement = "looped",
                 .needs = "replicas divides p and m",
                 .options = {{"replicas", count_form("N"), 1, "copies of the model, each on p / N devices"}},
                 .make = fold3d},
    ScheduleSpec{
        .name = "dynapipe",
        .summary = "microbatches of different lengths, in cycles of at most one backward and one forward per device",
        .year = 2023,
        .source = "Jiang et al., DynaPipe, arXiv 2311.10418",
        .needs = "m x p at most 2^24",
        .options = {{"sizes", list_form("L,L,..."), "all equal",
                     "lengths of the microbatches, repeated as often as needed"},
                    {"limit", count_form("N"), "m", "microbatches whose activations a device may keep"},
                    {"order",
                     {"given", "search"},
                     "given",
                     "order of the microbatches: as given, or the one found with the shortest step"}},
        .folds = false,
        .make = dynapipe},
    ScheduleSpec{
        .name = "seq1f1b",
        .summary = "1f1b over slices of a sequence instead of whole microbatches",
        .year = 2024,
        .source = "Sun et al., Seq1F1B, arXiv 2406.03488",
        .placement = "looped",
        .needs = "v = 1; or m x slices a multiple of p, or of slices x ceil(p / slices) where slices does not divide p",
        .options = slice_options(
            2, {kSliceRecomputeOption,
                {"backward", {"whole", "split"}, "whole", "split: weight gradients are computed later, as in zb-h1"}}),
        .copies = false,
        .make = seq1f1b},
};

}  // namespace

std::span<const ScheduleSpec> synchronous_schedules() { return kSynchronousRows; }

}  // namespace plumb
