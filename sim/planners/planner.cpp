#include "sim/planners/planner.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/planners/methods.hpp"

namespace plumb {
namespace {

constexpr std::array kPlanners{
    Planner{.name = "gpipe",
            .paper = "Huang et al., NeurIPS 2019",
            .year = 2019,
            .minimises = "variance of the stages' times, given as the root of their mean square",
            .options = "",
            .uncertain = "costs are measured times; the released program estimated operations",
            .plan = plan_gpipe},
    Planner{.name = "pipedream",
            .paper = "Narayanan et al., SOSP 2019, section 3.1",
            .year = 2019,
            .minimises = "time of the slowest stage or link",
            .options = "",
            .uncertain = "",
            .plan = plan_pipedream},
    Planner{.name = "pipedream-program",
            .paper = "its released program",
            .year = 2019,
            .minimises = "time of the slowest stage, synchronisation added",
            .options = "straight memory compression fewer cuts",
            .uncertain = "",
            .plan = plan_pipedream_program},
    Planner{.name = "pipe-torch",
            .paper = "Zhan and Zhang, CBD 2019",
            .year = 2019,
            .minimises = "time of the slowest stage or link, each link and device as fast as it is",
            .options = "",
            .uncertain = "only that it weighs links in a dynamic program like PipeDream's is certain; devices stand in "
                         "the order of the cluster",
            .plan = plan_pipe_torch},
    Planner{.name = "torchgpipe",
            .paper = "Kim et al., 2020; Barany and Grinberg",
            .year = 2020,
            .minimises = "largest block of layers",
            .options = "",
            .uncertain = "",
            .plan = plan_torchgpipe},
    Planner{.name = "bapipe",
            .paper = "Zhao et al., 2020",
            .year = 2020,
            .minimises = "1F1B step of pipelines balanced by compute, links and memory",
            .options = "",
            .uncertain =
                "it is certain that compute, links and memory are balanced and pipelines of any length compared, "
                "but not how; devices are in the order of the cluster",
            .plan = plan_bapipe},
    Planner{
        .name = "hetpipe",
        .paper = "Park et al., ATC 2020",
        .year = 2020,
        .minimises = "largest stage of a virtual worker on unlike devices",
        .options = "policy concurrent",
        .uncertain =
            "the paper uses another solver; memory counts weights, gradients and the outputs of concurrent minibatches",
        .plan = plan_hetpipe},
    Planner{.name = "baechi",
            .paper = "Jeon et al., SoCC 2020",
            .year = 2020,
            .minimises = "time of operators on devices, placed in one pass",
            .options = "etf sct",
            .uncertain = "m-TOPO, with the option etf m-ETF, with sct m-SCT, whose linear program may have several "
                         "solutions; temporary memory is that of the stash",
            .plan = plan_baechi},
    Planner{.name = "dnn-partitioning",
            .paper = "Tarnawski et al., NeurIPS 2020",
            .year = 2020,
            .minimises = "largest load, transfers included",
            .options = "linear",
            .uncertain = "",
            .plan = plan_dnn_partitioning},
    Planner{.name = "piper",
            .paper = "Tarnawski et al., NeurIPS 2021",
            .year = 2021,
            .minimises = "time per microbatch of the slowest stage",
            .options = "",
            .uncertain = "",
            .plan = plan_piper},
    Planner{.name = "dapple",
            .paper = "Fan et al., PPoPP 2021",
            .year = 2021,
            .minimises = "latency of a synchronous step",
            .options = "",
            .uncertain = "on which side of the pivot's own backward later stages count is as in the paper's formula; "
                         "split and concatenation of replicas cost as much as the whole transfer",
            .plan = plan_dapple},
    Planner{.name = "pipedream-2bw",
            .paper = "Narayanan et al., ICML 2021",
            .year = 2021,
            .minimises = "time per microbatch of the job over width and depth",
            .options = "",
            .uncertain = "the size of a microbatch is that of the profile; weights are synchronised by a ring",
            .plan = plan_pipedream_2bw},
    Planner{
        .name = "alpa",
        .paper = "Zheng et al., OSDI 2022",
        .year = 2022,
        .minimises = "sum of stage times + (m - 1) slowest stage",
        .options = "groups",
        .uncertain =
            "times inside a mesh are not its solver's: compute is shared evenly and gradients are reduced by a ring",
        .plan = plan_alpa},
    Planner{.name = "varuna",
            .paper = "Athlur et al., EuroSys 2022",
            .year = 2022,
            .minimises = "simulated step with recompute",
            .options = "segments",
            .uncertain = "1F1B is simulated in place of its run-time rule",
            .plan = plan_varuna},
    Planner{.name = "whale",
            .paper = "Jia et al., ATC 2022",
            .year = 2022,
            .minimises = "longest share of a batch among data-parallel devices of unlike speed",
            .options = "",
            .uncertain = "its moves of load are replaced by the exact answer; shares are whole microbatches",
            .plan = plan_whale},
    Planner{.name = "spp",
            .paper = "Luo et al., INFOCOM 2022",
            .year = 2022,
            .minimises = "load of a step on the fullest stage or link",
            .options = "",
            .uncertain = "names and recurrence are unconfirmed; devices are in the order of the cluster, which keeps "
                         "nodes together as its recursive minimum cut does; its list schedule is not made",
            .plan = plan_spp},
    Planner{.name = "autopipe",
            .paper = "Liu et al., CLUSTER 2022",
            .year = 2022,
            .minimises = "simulated 1F1B step",
            .options = "",
            .uncertain = "layers are not split into halves; the step does not slice microbatches",
            .plan = plan_autopipe},
    Planner{.name = "galvatron",
            .paper = "Miao et al., VLDB 2023",
            .year = 2023,
            .minimises = "sum of stage times + (m - 1) slowest stage, a strategy for every layer",
            .options = "",
            .uncertain = "times of divided layers are not measured: compute is shared evenly, sums are rings over "
                         "outputs; compute and collectives slow each other by 1.3; a stage is reported with the "
                         "strategy of most of its layers",
            .plan = plan_galvatron},
    Planner{.name = "osdp",
            .paper = "Jiang et al., IJCAI 2023",
            .year = 2023,
            .minimises = "sum of layers' times, each replicated or sharded on its own",
            .options = "choices",
            .uncertain = "operators are not split; times of collectives are those of rings and nothing hides them; "
                         "with `choices` both are as measured",
            .plan = plan_osdp},
    Planner{.name = "petals",
            .paper = "Borzunov et al., NeurIPS 2023",
            .year = 2023,
            .minimises = "time per microbatch of the slowest layer in a swarm of servers, forward only",
            .options = "blocks",
            .uncertain = "servers join in the order of the devices and do not move later (they do in the rule petals "
                         "of campaigns); layers count as equally long; the program divides memory by the size of "
                         "equal blocks, here bytes of unlike layers are added up, and a server holds fewer than fit "
                         "where that gives more",
            .plan = plan_petals},
    Planner{.name = "oobleck",
            .paper = "Jang et al., SOSP 2023",
            .year = 2023,
            .minimises = "time of a pipeline template, T1 + T2 + T3",
            .options = "nodes least",
            .uncertain = "a template of as many stages as there are devices; nodes of several devices are not divided",
            .plan = plan_oobleck},
    Planner{.name = "dynapipe",
            .paper = "Jiang et al., EuroSys 2024",
            .year = 2024,
            .minimises = "(c - 1) longest microbatch + all microbatches, samples of unlike length",
            .options = "lengths",
            .uncertain = "the pipeline itself is balanced by compute; limits on a microbatch are up to 1000 of its "
                         "possible times",
            .plan = plan_dynapipe},
    Planner{.name = "diffusionpipe",
            .paper = "Tian et al., MLSys 2024",
            .year = 2024,
            .minimises = "(M + S - 1) slowest stage or link + all-reduce",
            .options = "",
            .uncertain = "the constants of its bound are unconfirmed; devices are in the order of the cluster; bubbles "
                         "are filled by the schedule of its name",
            .plan = plan_diffusionpipe},
    Planner{
        .name = "autopipe-dynamic",
        .paper = "AutoPipe, ICPP 2024",
        .year = 2024,
        .minimises = "time of the slowest stage or link on the devices as they are, layer by layer",
        .options = "",
        .uncertain = "its moves are chosen by a trained policy, here the best one is; what moving costs is left out",
        .plan = plan_autopipe_dynamic},
    Planner{.name = "slicegraph",
            .paper = "Archer et al., ICML 2024 (MTPP)",
            .year = 2024,
            .minimises = "largest block: work + bytes in + bytes out",
            .options = "generations seed",
            .uncertain = "only the simple one of its lower bounds",
            .plan = plan_slicegraph},
    Planner{.name = "ravnest",
            .paper = "Menon et al., arXiv 2401.01728",
            .year = 2024,
            .minimises = "memory that clusters miss, and how unlike they are in memory over bandwidth",
            .options = "clusters ram bandwidth",
            .uncertain = "the number of clusters is given, not found; layers are cut as near to shares of memory as "
                         "they allow; the cost is the slowest stage of the slowest cluster",
            .plan = plan_ravnest},
    Planner{.name = "helix",
            .paper = "Mei et al., ASPLOS 2025",
            .year = 2025,
            .minimises = "time per microbatch of the largest flow through spans of layers, forward only",
            .options = "blocks",
            .uncertain = "its mixed-integer program over placements is not made: the placement is the best of those "
                         "of petals with more and fewer layers; a node's rate is that of its whole span",
            .plan = plan_helix},
};

void check_options(const Planner& planner, const PlanProblem& problem) {
  std::vector<std::string_view> known;
  for (std::string_view rest = planner.options; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    known.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const auto& [option, value] : problem.options) {
    if (std::find(known.begin(), known.end(), option) == known.end()) {
      throw_unknown("option of " + std::string(planner.name), option, known);
    }
  }
}

}  // namespace

std::span<const Planner> planners() { return kPlanners; }

const Planner& find_planner(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Planner& planner : kPlanners) {
    if (planner.name == name) return planner;
    names.push_back(planner.name);
  }
  throw_unknown("planner", name, names);
}

Plan make_plan(const Planner& planner, const PlanProblem& problem) {
  check_problem(problem);
  check_options(planner, problem);
  return planner.plan(problem);
}

}  // namespace plumb
