#include <algorithm>
#include <array>
#include <vector>

#include "schedules/catalogue/policy_player.hpp"
#include "schedules/catalogue/recompute_option.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/slice_lengths.hpp"

namespace plumb {

Schedule one_f_one_b_vocab(const ScheduleParams& params);
Schedule one_f_one_b_interlaced(const ScheduleParams& params);
Schedule dapple(const ScheduleParams& params);
Schedule kfkb(const ScheduleParams& params);
Schedule breadth_first(const ScheduleParams& params);
Schedule hanayo(const ScheduleParams& params);
Schedule chimera(const ScheduleParams& params);
Schedule cyclic_dp(const ScheduleParams& params);
Schedule bitpipe(const ScheduleParams& params);
Schedule terapipe(const ScheduleParams& params);
Schedule varuna(const ScheduleParams& params);
Schedule axonn(const ScheduleParams& params);
Schedule merak(const ScheduleParams& params);
Schedule autopipe(const ScheduleParams& params);
Schedule dynapipe(const ScheduleParams& params);

namespace {

std::vector<NamedOption> terapipe_options() {
  std::vector<NamedOption> options = slice_options(4, {kBackwardRecomputeOption});
  NamedOption& lengths = *std::ranges::find(options, "lengths", &NamedOption::name);
  lengths.values = {"equal", "work", "search", "joint", list_form("L,L,...")};
  lengths.meaning =
      "lengths of the slices: all equal, equal work, those with the shortest step, the same with several microbatches "
      "in a slice where that is faster, or as given";
  return options;
}

const std::array kSynchronousRows{
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
                 .options = {{"limit",
                              {count_form("K"), list_form("K-K-...")},
                              "none",
                              "largest number of forwards by which a device may be ahead of its backwards; with "
                              "replicas also one number for every stage, as 1-3-2"},
                             kRecomputeOption,
                             {"replicas", list_form("N-N-..."), "1 for every stage",
                              "devices of every stage, as 2-1-1; they take microbatches in turn"}},
                 .make = dapple},
    ScheduleSpec{
        .name = "kfkb",
        .options =
            {{"k",
              {count_form("K"), "auto"},
              2,
              "microbatches in a group; auto: the number with the shortest step for the given costs and memory limit"}},
        .make = kfkb},
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
    ScheduleSpec{.name = "terapipe", .options = terapipe_options(), .make = terapipe},
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
};

}  // namespace

std::span<const ScheduleSpec> synchronous_schedules() {
  static const std::vector<ScheduleSpec> rows = with_rules("synchronous", kSynchronousRows);
  return rows;
}

}  // namespace plumb
