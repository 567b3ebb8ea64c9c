#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"

namespace plumb {
namespace {

struct RavnestSettings {
  std::int32_t stages = 1;      ///< stages of every cluster
  std::int32_t clusters = 0;    ///< 0: as many as the usual number of nodes makes
  std::int32_t usual = 1;       ///< nodes
  std::int64_t updates = 1;     ///< updates of every cluster between two averagings
  std::int64_t average_ns = 0;  ///< time of an averaging
  std::int64_t rejoin_ns = 0;   ///< a peer loads the newest weights of its layers from other clusters
  std::int64_t every_ns = 0;    ///< work between two checkpoints, which are written beside it
};

/// Clusters of peers that each hold the whole model, train by themselves, and average their weights after so many
/// updates of each. As the released program (ravnest 047ae2d: node.py, communication.py) knows it, the peers of the
/// clusters and of the rings of averaging are those of the beginning, and nobody notices that one is gone: its cluster
/// stands still, the others go on to the next averaging and wait there, until a peer in its place has loaded the newest
/// weights of its layers from the other clusters. The update under way of its cluster is done again. When no cluster
/// has a stage any more, all go on from the last checkpoint once all places are taken. An averaging is a step without
/// samples.
class RavnestRule final : public CampaignRule {
 public:
  RavnestRule(const RavnestSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void start(CampaignRun&) override {
    const std::int32_t stages = settings_.stages;
    layout_ = {std::max(1, settings_.clusters > 0 ? settings_.clusters : settings_.usual / stages), stages};
    while (layout_.pipelines > 1 && !book_.step(layout_)) --layout_.pipelines;
    clusters_.resize(static_cast<std::size_t>(layout_.pipelines));
    for (Cluster& cluster : clusters_) cluster.seats.resize(static_cast<std::size_t>(stages));
  }

  void became_ready(const CampaignNode& node, CampaignRun& run) override {
    waiting_.push_back(node.id);
    fill_seats(run);
    go_on(run);
  }

  void removed(const CampaignNode& node, CampaignRun& run) override {
    std::erase(waiting_, node.id);
    for (Cluster& cluster : clusters_) {
      for (std::size_t stage = 0; stage < cluster.seats.size(); ++stage) {
        Seat& seat = cluster.seats[stage];
        if (seat.node != node.id) continue;
        const bool held = seat.loaded;
        seat = {};
        if (started_ && held) lose_peer(cluster, stage, run);
        fill_seats(run);
        go_on(run);
        return;
      }
    }
  }

  void timer(CampaignTimer, std::int64_t number, CampaignRun& run) override {
    for (Cluster& cluster : clusters_) {
      for (Seat& seat : cluster.seats) {
        if (seat.node >= 0 && seat.loading == number) seat.loaded = true;
      }
    }
    go_on(run);
  }

  void step_done(CampaignRun& run) override {
    for (Cluster& cluster : clusters_) {
      if (averages_) cluster.done = 0;
      if (!averages_ && cluster.runs) ++cluster.done;
      cluster.runs = false;
    }
    averages_ = false;
    run.commit_after(settings_.every_ns);
    go_on(run);
  }

 private:
  struct Seat {
    std::int32_t node = -1;     ///< nobody
    std::int64_t loading = -1;  ///< number of the timer that ends it
    bool loaded = false;
  };
  struct Cluster {
    std::vector<Seat> seats;  ///< by stage
    std::int64_t done = 0;    ///< updates since the last averaging
    bool runs = false;        ///< makes an update in the step under way

    bool whole() const {
      return std::ranges::all_of(seats, [](const Seat& seat) { return seat.loaded; });
    }
  };

  /// Peers that wait take the places that are empty. Before the start there is nothing to load.
  void fill_seats(CampaignRun& run) {
    for (Cluster& cluster : clusters_) {
      for (Seat& seat : cluster.seats) {
        if (seat.node >= 0 || waiting_.empty()) continue;
        seat.node = waiting_.front();
        seat.loaded = !trained_;
        waiting_.erase(waiting_.begin());
        if (trained_) load(seat, run);
      }
    }
  }

  void load(Seat& seat, CampaignRun& run) {
    seat.loaded = false;
    seat.loading = ++loadings_;
    run.set_timer(settings_.rejoin_ns, CampaignTimer::kFirst, seat.loading);
  }

  void lose_peer(Cluster& cluster, std::size_t stage, CampaignRun& run) {
    const auto holds = [stage](const Cluster& other) { return other.seats[stage].loaded; };
    if (std::ranges::none_of(clusters_, holds)) return lose_model(run);
    if (averages_) {  // the rings wait for it
      run.drop_step();
      averages_ = false;
    }
    if (cluster.runs) ++lost_updates_;
    cluster.runs = false;
  }

  void lose_model(CampaignRun& run) {
    run.drop_step();
    run.lose_uncommitted();
    run.count_fatal();
    started_ = averages_ = false;
    lost_updates_ = 0;
    for (Cluster& cluster : clusters_) {
      cluster.done = 0;
      cluster.runs = false;
      for (Seat& seat : cluster.seats) {
        if (seat.node >= 0) load(seat, run);
      }
    }
  }

  /// Begins what can be begun, unless a step is under way.
  void go_on(CampaignRun& run) {
    if (run.stepping()) return;
    const std::optional<StepOfLayout> step = book_.step(layout_);
    if (!step || (!started_ && !std::ranges::all_of(clusters_, &Cluster::whole))) return stand(run);
    if (!started_) run.count_recovery();
    started_ = trained_ = true;
    const auto through = [&](const Cluster& cluster) { return cluster.done == settings_.updates; };
    if (std::ranges::all_of(clusters_, through)) {
      if (!std::ranges::all_of(clusters_, &Cluster::whole)) return stand(run);
      averages_ = true;
      take_places(run);
      return run.begin_step({.ns = settings_.average_ns, .samples = 0});
    }
    begin_updates(*step, run);
  }

  void begin_updates(const StepOfLayout& step, CampaignRun& run) {
    double running = 0;
    for (Cluster& cluster : clusters_) {
      cluster.runs = cluster.whole() && cluster.done < settings_.updates;
      if (cluster.runs) ++running;
    }
    if (running == 0) return stand(run);
    take_places(run);
    const double all = layout_.pipelines;
    if (update_ns_ == 0) update_ns_ = book_.source().share_ns(layout_, 1 / all).value_or(step.ns);
    const auto ns = static_cast<double>(update_ns_);
    const double lost = std::min(running, lost_updates_);
    lost_updates_ -= lost;
    run.begin_step(std::llround(ns * run.slowest()), std::llround(ns * (running - lost) / all),
                   step.samples * (running - lost) / all);
  }

  void take_places(CampaignRun& run) {
    run.take_layout(layout_);
    for (const CampaignNode& node : run.nodes()) run.mark_used(node.id, false);
    for (const Cluster& cluster : clusters_) {
      for (const Seat& seat : cluster.seats) {
        if (seat.loaded) run.mark_used(seat.node, true);
      }
    }
  }

  void stand(CampaignRun& run) {
    const auto loads = [](const Cluster& cluster) {
      return std::ranges::any_of(cluster.seats, [](const Seat& seat) { return seat.node >= 0 && !seat.loaded; });
    };
    run.stand(std::ranges::any_of(clusters_, loads) ? TimeUse::kReconfiguring : TimeUse::kWaiting);
  }

  RavnestSettings settings_;
  LayoutBook& book_;
  JobLayout layout_;
  std::int64_t update_ns_ = 0;  ///< time of a cluster's update; 0: not asked for so far
  std::vector<Cluster> clusters_;
  std::vector<std::int32_t> waiting_;  ///< nodes without a place
  std::int64_t loadings_ = 0;
  double lost_updates_ = 0;  ///< updates that were counted when their step began, and are to be done again
  bool started_ = false;     ///< all places were taken since the beginning, or the last checkpoint that was loaded
  bool trained_ = false;     ///< there is something to load
  bool averages_ = false;    ///< in the step under way
};

constexpr std::array kRavnestOptions{
    NamedOption{"stages", rule_count("P", 1), "those of the best layout for the mean of the trace",
                "stages of every cluster"},
    NamedOption{"clusters", rule_count("N", 0), "as many as the mean of the trace makes", "number of clusters"},
    NamedOption{"updates", rule_number("N"), 500, "updates of every cluster between two averagings"},
    NamedOption{"average", kRulePause, 10, "seconds that averaging takes"},
    NamedOption{"rejoin", kRulePause, 30, "seconds in which a peer loads the newest weights of its layers"},
    kSavesBesideOption};

CampaignRulePtr make_ravnest(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  return std::make_unique<RavnestRule>(
      RavnestSettings{.stages = option_count(options, "stages", usual_stages(problem, book)),
                      .clusters = option_count(options, "clusters", 0),
                      .usual = usual_nodes(problem),
                      .updates = std::max<std::int64_t>(1, std::llround(options.number("updates"))),
                      .average_ns = option_ns(options, "average"),
                      .rejoin_ns = option_ns(options, "rejoin"),
                      .every_ns = option_ns(options, "every")},
      book);
}

}  // namespace

CampaignRuleSpec ravnest_rule() {
  return {.name = "ravnest",
          .summary = "clusters train by themselves and average; all wait until a lost peer is replaced",
          .source = "Menon et al., Ravnest, arXiv 2401.01728: as its released program does",
          .options = kRavnestOptions,
          .make = make_ravnest};
}

}  // namespace plumb
