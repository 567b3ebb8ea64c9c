#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"
#include "sim/campaign/layout_forecast.hpp"
#include "sim/campaign/node_seats.hpp"

namespace plumb {
namespace {

struct ParcaeSettings {
  std::int64_t interval_ns = 0;
  std::int64_t save_ns = 0;     ///< saving and loading a checkpoint, from the second layout on
  std::int64_t restart_ns = 0;  ///< where the source knows nothing of its layouts' restarts
  std::size_t ahead = 0;        ///< intervals whose nodes are known; 0: only the one that begins
};

/// In intervals: at the beginning of each the layout with the most samples per second, and a restart if any node came
/// or went since the interval before. A restart that begins while another one is under way takes its place and costs
/// another start on top. What an interval leaves is trained, parts of steps included. The baseline that Parcae's
/// program calls throughput-optimized.
///
/// With intervals known ahead it is what that program calls liveput-optimized, with true forecasts: each interval has
/// the layout with which the expected samples of the intervals ahead are the most. A layout goes on as it is as long as
/// none of its nodes goes; another one is made of nodes that are there, which copy their stages from each other, so
/// that only the loss of all nodes of a stage costs a checkpoint.
class ParcaeRule final : public CampaignRule {
 public:
  ParcaeRule(const ParcaeSettings& settings, std::vector<IntervalNodes> nodes, LayoutBook& book)
      : settings_(settings), nodes_(std::move(nodes)), book_(book) {}

  void start(CampaignRun& run) override { run.pause(0, TimeUse::kWaiting); }

  void became_ready(const CampaignNode&, CampaignRun&) override { came_ = true; }

  void removed(const CampaignNode& node, CampaignRun& run) override {
    went_ = true;
    seats_.leave(node.id);
    // It came and went in one moment, which counts as both.
    if (!node.ready && node.since_ns == run.now()) came_ = true;
  }

  void pause_over(CampaignRun& run) override { trains_ns_ > 0 ? train(run) : begin_interval(run); }

  void step_done(CampaignRun& run) override {
    run.commit();
    begin_interval(run);
  }

 private:
  std::optional<JobLayout> wanted(CampaignRun& run) {
    if (settings_.ahead == 0) return book_.best(run.ready());
    const LayoutRestart otherwise{.added_ns = settings_.restart_ns, .removed_ns = settings_.restart_ns};
    const auto now = static_cast<std::size_t>(run.now() / settings_.interval_ns);
    const auto layout = layout_ahead(book_, nodes_, now, seats_.empty() > 0 ? JobLayout{} : run.layout(),
                                     {settings_.interval_ns, settings_.ahead, otherwise});
    return layout && layout->nodes() <= run.ready() ? layout : book_.best(run.ready());
  }

  bool must_restart(JobLayout layout, const CampaignRun& run) const {
    if (!started_) return true;
    return settings_.ahead == 0 ? came_ || went_ : seats_.empty() > 0 || layout != run.layout();
  }

  void begin_interval(CampaignRun& run) {
    trains_ns_ = 0;
    const std::optional<JobLayout> layout = wanted(run);
    if (!layout) {
      run.take_layout({});
      return run.pause(settings_.interval_ns, TimeUse::kWaiting);
    }
    if (must_restart(*layout, run)) restart(*layout, run);
    came_ = went_ = false;
    const std::int64_t stands = std::min(left_ns_, settings_.interval_ns);
    left_ns_ -= stands;
    trains_ns_ = settings_.interval_ns - stands;
    run.pause(stands, TimeUse::kReconfiguring);
  }

  void restart(JobLayout layout, CampaignRun& run) {
    run.take_layout(layout);
    run.count_recovery();
    LayoutRestart costs{.added_ns = settings_.restart_ns, .removed_ns = settings_.restart_ns};
    if (const auto known = book_.source().restart(layout)) costs = *known;
    const std::int64_t start = came_ || !started_ ? costs.added_ns : costs.removed_ns;
    const bool lost_stage = seats_.lost_stage();
    const bool loads = settings_.ahead == 0 || !started_ || lost_stage;
    std::int64_t all = start + costs.load_ns + (started_ ? settings_.save_ns : 0);
    if (!loads) all = change_ns(book_, layout, used_ - seats_.empty(), costs);
    if (settings_.ahead > 0 && lost_stage) run.count_fatal();
    left_ns_ = all + (left_ns_ > 0 ? start : 0);
    started_ = true;
    seats_.seat(layout, run.nodes());
    used_ = layout.nodes();
  }

  void train(CampaignRun& run) {
    const double undisturbed = static_cast<double>(trains_ns_) / run.slowest();
    const double rate = book_.step(run.layout())->samples_per_s();
    run.begin_step(trains_ns_, std::llround(undisturbed), rate * undisturbed / 1e9);
  }

  ParcaeSettings settings_;
  std::vector<IntervalNodes> nodes_;
  LayoutBook& book_;
  NodeSeats seats_;
  std::int32_t used_ = 0;  ///< nodes that the layout was made of
  bool started_ = false;
  bool came_ = false;
  bool went_ = false;
  std::int64_t left_ns_ = 0;    ///< time that is left of a restart
  std::int64_t trains_ns_ = 0;  ///< behind the pause
};

constexpr std::array kParcaeOptions{
    NamedOption{"interval", kRulePeriod, 60, "seconds from one choice of a layout to the next"},
    NamedOption{"save", kRulePause, 14, "seconds to save and load a checkpoint"},
    NamedOption{"restart", kRulePause, 30, "seconds of a restart where the layouts say nothing of it"},
    NamedOption{"ahead", rule_count("L", 0), 0, "intervals ahead whose nodes are known",
                "above 0 this is its liveput with true forecasts"}};

CampaignRulePtr make_parcae(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  const ParcaeSettings settings{.interval_ns = std::max<std::int64_t>(1, option_ns(options, "interval")),
                                .save_ns = option_ns(options, "save"),
                                .restart_ns = option_ns(options, "restart"),
                                .ahead = static_cast<std::size_t>(options.count("ahead"))};
  std::vector<IntervalNodes> nodes;
  if (settings.ahead > 0) nodes = intervals_ahead(problem, settings.interval_ns);
  return std::make_unique<ParcaeRule>(settings, std::move(nodes), book);
}

}  // namespace

CampaignRuleSpec parcae_rule() {
  return {.name = "parcae",
          .summary = "every minute the fastest layout; any change of nodes costs a restart",
          .source = "Duan et al., Parcae, NSDI 2024, arXiv 2403.14097: its throughput-optimized baseline",
          .options = kParcaeOptions,
          .make = make_parcae};
}

}  // namespace plumb
