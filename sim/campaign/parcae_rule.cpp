#include <algorithm>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"

namespace plumb {
namespace {

struct ParcaeSettings {
  std::int64_t interval_ns = 0;
  std::int64_t save_ns = 0;     ///< saving and loading a checkpoint, from the second layout on
  std::int64_t restart_ns = 0;  ///< where the source knows nothing of its layouts' restarts
};

/// In intervals: at the beginning of each the layout with the most samples per second, and a restart if any node came
/// or went since the interval before. A restart that begins while another one is under way takes its place and costs
/// another start on top. What an interval leaves is trained, parts of steps included. The baseline that Parcae's
/// program calls throughput-optimized.
class ParcaeRule final : public CampaignRule {
 public:
  ParcaeRule(const ParcaeSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void start(CampaignRun& run) override { run.set_timer(0, kInterval, 0); }

  void handle(const CampaignEvent& event, CampaignRun& run) override {
    switch (event.kind) {
      case CampaignEventKind::kReady:
        came_ = true;
        break;
      case CampaignEventKind::kRemoved:
        went_ = true;
        // It came and went in one moment, which counts as both.
        if (!event.node.ready && event.node.since_ns == run.now()) came_ = true;
        break;
      case kInterval:
        begin_interval(run);
        break;
      case kRestarted:
        train(event.number, run);
        break;
      case CampaignEventKind::kStepDone:
        run.commit();
        begin_interval(run);
        break;
      default:
        break;
    }
  }

 private:
  static constexpr CampaignEventKind kInterval = CampaignEventKind::kFirstTimer;
  static constexpr CampaignEventKind kRestarted = CampaignEventKind::kSecondTimer;

  void begin_interval(CampaignRun& run) {
    const std::optional<JobLayout> layout = book_.best(run.ready());
    if (!layout) {
      run.take_layout({});
      run.stand(TimeUse::kWaiting);
      run.set_timer(settings_.interval_ns, kInterval, 0);
      return;
    }
    if (!started_ || came_ || went_) restart(*layout, run);
    came_ = went_ = false;
    run.stand(TimeUse::kReconfiguring);
    if (left_ns_ >= settings_.interval_ns) {
      left_ns_ -= settings_.interval_ns;
      run.set_timer(settings_.interval_ns, kInterval, 0);
    } else {
      const std::int64_t trains = settings_.interval_ns - left_ns_;
      run.set_timer(left_ns_, kRestarted, trains);
      left_ns_ = 0;
    }
  }

  void restart(JobLayout layout, CampaignRun& run) {
    run.take_layout(layout);
    run.count_recovery();
    LayoutRestart costs{.added_ns = settings_.restart_ns, .removed_ns = settings_.restart_ns};
    if (const auto known = book_.source().restart(layout)) costs = *known;
    const std::int64_t start = came_ || !started_ ? costs.added_ns : costs.removed_ns;
    const std::int64_t all = start + costs.load_ns + (started_ ? settings_.save_ns : 0);
    left_ns_ = all + (left_ns_ > 0 ? start : 0);
    started_ = true;
  }

  void train(std::int64_t ns, CampaignRun& run) {
    const double rate = book_.step(run.layout())->samples_per_s() / run.slowest();
    run.begin_step(ns, ns, rate * static_cast<double>(ns) / 1e9);
  }

  ParcaeSettings settings_;
  LayoutBook& book_;
  bool started_ = false;
  bool came_ = false;
  bool went_ = false;
  std::int64_t left_ns_ = 0;  ///< of a restart
};

}  // namespace

CampaignRulePtr parcae_rule(const CampaignProblem& problem, LayoutBook& book) {
  return std::make_unique<ParcaeRule>(ParcaeSettings{.interval_ns = rule_seconds(problem, "interval", 60),
                                                     .save_ns = rule_seconds(problem, "save", 14),
                                                     .restart_ns = rule_seconds(problem, "restart", 30)},
                                      book);
}

}  // namespace plumb
