#include "sim/campaign/campaign.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"

namespace plumb {
namespace {

struct CampaignRuleRow {
  CampaignRuleSpec spec;
  CampaignRulePtr (*make)(const CampaignProblem& problem, LayoutBook& book);
};

constexpr std::array kCampaignRules{
    CampaignRuleRow{
        {.name = "checkpoint",
         .summary = "one layout; stops at a loss, and starts again from the last checkpoint",
         .source = "Young 1974, Daly 2006; GEMINI, SOSP 2023 (peers)",
         .options = "every=600 seconds of work between checkpoints (best for the failures, where they are random)\n"
                    "save=30 seconds that a checkpoint stops the job\n"
                    "restart=120 seconds from a loss to the next step\n"
                    "nodes=N that the layout is made for (the mean of the trace)\n"
                    "peers=K neighbours that keep each other's state in memory after every step (0)\n"
                    "state=0 GB of a node that its peers keep: what of sending them does not fit into a step makes it "
                    "longer\n"
                    "link=12.5 GB/s of a node\n"
                    "idle=0 share of a step in which its link is free\n"
                    "rebalance=S seconds in which layers move off a slow node (none: all wait for it)\n"
                    "layer=GB of weights that move off a slow node, in place of rebalance"},
        checkpoint_rule},
    CampaignRuleRow{
        {.name = "varuna",
         .summary = "checkpoint, in the best layout for the nodes that are there",
         .source = "Athlur et al., Varuna, EuroSys 2022, arXiv 2111.04007",
         .options = "every=600 seconds of work between checkpoints (best for the failures, where they are random)\n"
                    "save=30 seconds that a checkpoint stops the job\n"
                    "restart=120 seconds from a loss to the next step\n"
                    "peers=K neighbours that keep each other's state in memory after every step (0)\n"
                    "state=0 GB of a node that its peers keep: what of sending them does not fit into a step makes it "
                    "longer\n"
                    "link=12.5 GB/s of a node\n"
                    "idle=0 share of a step in which its link is free\n"
                    "rebalance=S seconds in which layers move off a slow node (none: all wait for it)\n"
                    "layer=GB of weights that move off a slow node, in place of rebalance"},
        varuna_rule},
    CampaignRuleRow{
        {.name = "bamboo",
         .summary = "every node can stand in for the one behind it, whose forwards it runs, too; nodes meet after a "
                    "step to take places",
         .source = "Thorpe et al., Bamboo, NSDI 2023, arXiv 2204.12013",
         .options = "stages=P of every pipeline (those of the best layout for the mean of the trace)\n"
                    "global=30 seconds to meet at first and after a loss that stops the job\n"
                    "local=20 seconds to meet after a step\n"
                    "slowdown=1.5 of steps while somebody stands in"},
        bamboo_rule},
    CampaignRuleRow{{.name = "oobleck",
                     .summary = "pipelines of several lengths; a loss makes the others share its microbatches",
                     .source = "Jang et al., Oobleck, SOSP 2023, arXiv 2309.08125",
                     .options = "least=N nodes of the shortest pipeline (the fewest that the job runs on)\n"
                                "tolerated=1 losses at once after which every layer is still somewhere\n"
                                "pause=30 seconds to take other pipelines\n"
                                "every=600 seconds of work between checkpoints, which are written beside it"},
                    oobleck_rule},
    CampaignRuleRow{{.name = "parcae",
                     .summary = "every minute the fastest layout; any change of nodes costs a restart",
                     .source = "Duan et al., Parcae, NSDI 2024, arXiv 2403.14097: its throughput-optimized baseline",
                     .options = "interval=60 seconds\n"
                                "save=14 seconds to save and load a checkpoint\n"
                                "restart=30 seconds where the layouts say nothing of it\n"
                                "ahead=L intervals whose nodes are known: its liveput with true forecasts (0)"},
                    parcae_rule},
    CampaignRuleRow{{.name = "swarm",
                     .summary = "a pool of peers for every stage; a loss makes the others of its pool do more",
                     .source = "Ryabinin et al., SWARM Parallelism, ICML 2023, arXiv 2301.11913",
                     .options = "stages=P pools (those of the best layout for the mean of the trace)\n"
                                "join=30 seconds in which a peer loads the state of its stage\n"
                                "rebalance=300 seconds after which a peer may move to the smallest pool\n"
                                "every=600 seconds of work between checkpoints, which are written beside it"},
                    swarm_rule},
    CampaignRuleRow{{.name = "ravnest",
                     .summary = "clusters train by themselves and average; all wait until a lost peer is replaced",
                     .source = "Menon et al., Ravnest, arXiv 2401.01728: as its released program does",
                     .options = "stages=P of every cluster (those of the best layout for the mean of the trace)\n"
                                "clusters=N (as many as the mean of the trace makes)\n"
                                "updates=500 of every cluster between two averagings\n"
                                "average=10 seconds that averaging takes\n"
                                "rejoin=30 seconds in which a peer loads the newest weights of its layers\n"
                                "every=600 seconds of work between checkpoints, which are written beside it"},
                    ravnest_rule},
    CampaignRuleRow{
        {.name = "recycle",
         .summary = "no spare nodes; a loss makes the other holders of its stage do its microbatches, as far "
                    "as they can in what they idle",
         .source = "Gandhi et al., ReCycle, SOSP 2024, arXiv 2405.14009: its bound",
         .options = "stages=P of every pipeline (those of the best layout for the mean of the trace)\n"
                    "pause=30 seconds from a loss to the next step\n"
                    "reshard=1 moves layers, too, so that all nodes have equal work: ElasWave's bound (0)\n"
                    "every=600 seconds of work between checkpoints, which are written beside it"},
        recycle_rule},
    CampaignRuleRow{{.name = "pipetransformer",
                     .summary = "checkpoint, while the first layers freeze: half as long pipelines, twice as many, and "
                                "steps of the layers that are left",
                     .source = "He et al., PipeTransformer, ICML 2021",
                     .options = "layers=N of the network, a transformer (its own; 12 of a table)\n"
                                "width=768 of its layers, which are cut by their parameters\n"
                                "embedding=0 millions of parameters before the layers\n"
                                "head=0 millions of parameters behind them\n"
                                "freeze=0.3333 of the layers that are left, after every epoch\n"
                                "epoch=1281167 samples, those of ImageNet\n"
                                "cache=1 keeps what frozen layers hand on; 0: they run forward in every step, in the "
                                "first stage\n"
                                "every=600 seconds of work between checkpoints (best for the failures, where they are "
                                "random)\n"
                                "save=30 seconds that a checkpoint stops the job\n"
                                "restart=120 seconds from a loss, or from packing layers anew, to the next step\n"
                                "nodes=N that the layout is made for (the mean of the trace)",
                     .changes_job = "layers freeze, so that later samples train less of the network"},
                    pipetransformer_rule},
    CampaignRuleRow{{.name = "petals",
                     .summary = "servers with some blocks each, which move to where throughput is worst",
                     .source = "Borzunov et al., Petals, NeurIPS 2023, arXiv 2312.08361: the block selection of its "
                               "released program",
                     .options = "blocks=N of the network (its layers; 24 of a table)\n"
                                "held=N of them by every server (as many as a stage of the best layout for the mean of "
                                "the trace)\n"
                                "quality=0.75 of the throughput that the slowest block could have: below it servers "
                                "move\n"
                                "check=120 seconds from one look at the swarm to the next\n"
                                "load=30 seconds in which a server loads its blocks over the network",
                     .changes_job = "weights stay as they are, for inference or to tune prompts"},
                    petals_rule},
};

/// Throws `Error` for an option that the rule does not have.
void check_rule_options(const CampaignRuleSpec& spec, const CampaignProblem& problem) {
  std::vector<std::string_view> known;
  std::string_view rest = spec.options;
  while (!rest.empty()) {
    known.push_back(rest.substr(0, rest.find('=')));
    const std::size_t end = rest.find('\n');
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  for (const auto& [option, value] : problem.options) {
    if (std::ranges::find(known, option) == known.end()) {
      throw_unknown("option of the rule " + std::string(spec.name), option, known);
    }
  }
}

}  // namespace

std::vector<CampaignRuleSpec> campaign_rules() {
  std::vector<CampaignRuleSpec> specs;
  for (const CampaignRuleRow& row : kCampaignRules) specs.push_back(row.spec);
  return specs;
}

CampaignResult run_campaign(const CampaignProblem& problem, std::string_view name, LayoutBook& book) {
  const auto row = std::ranges::find_if(kCampaignRules, [&](const CampaignRuleRow& r) { return r.spec.name == name; });
  if (row == kCampaignRules.end()) {
    std::vector<std::string_view> names;
    for (const CampaignRuleRow& known : kCampaignRules) names.push_back(known.spec.name);
    throw_unknown("rule", name, names);
  }
  check_rule_options(row->spec, problem);
  const CampaignRulePtr rule = row->make(problem, book);
  return CampaignRun(problem, *rule, book).play();
}

}  // namespace plumb
