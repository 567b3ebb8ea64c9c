#include <algorithm>
#include <array>
#include <cmath>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"
#include "sim/campaign/node_seats.hpp"

namespace plumb {
namespace {

struct RecycleSettings {
  std::int32_t stages = 1;    ///< stages of every pipeline
  std::int64_t pause_ns = 0;  ///< to notice a loss and send microbatches elsewhere, or to take nodes in
  std::int64_t every_ns = 0;  ///< work between two checkpoints, which are written beside it
  bool moves_layers = false;  ///< besides microbatches, so that all nodes that are left have equal work
};

/// Copies of a pipeline without spare nodes. The microbatches of a node that goes are done by the other holders of its
/// stage, in what they idle as far as that goes: with f of D holders of stage s lost and m microbatches of each of the
/// D pipelines of P stages, a holder does m D / (D - f) of them, and begins when the first one has been through the s
/// stages before, a forward each, a third of a turn. As long as that is over within m + P - 1, the turns of a step,
/// nothing is lost; from there on a step takes as many turns as it is. No order takes less, and orders that take no
/// more are found for every case that was searched (tests/sim/campaign/recycle_test.cpp); no schedule of ReCycle's own
/// was readable. A step under way is lost with the node; the checkpoint only with the last holder of a stage. Nodes
/// that come take empty seats, and pipelines are made anew of the nodes that are there where that is faster.
class RecycleRule final : public CampaignRule {
 public:
  RecycleRule(const RecycleSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void became_ready(const CampaignNode&, CampaignRun& run) override {
    if (layout_.nodes() == 0) begin_pause(run);
  }

  void removed(const CampaignNode& node, CampaignRun& run) override {
    if (!seats_.leave(node.id)) return;
    run.drop_step();
    if (seats_.lost_stage()) {
      run.lose_uncommitted();
      run.count_fatal();
      layout_ = {};
      seats_.clear();
    }
    begin_pause(run);
  }

  void pause_over(CampaignRun& run) override {
    for (const CampaignNode& node : run.nodes()) {
      if (!node.ready || seats_.has(node.id)) continue;
      if (!seats_.take_empty(node.id)) break;
    }
    const std::optional<JobLayout> other = wanted(run);
    if (layout_.nodes() == 0 && !other) return begin_pause(run);
    run.count_recovery();
    if (layout_.nodes() == 0 || (other && book_.step(*other)->samples_per_s() > step().samples_per_s())) {
      layout_ = *other;
      run.take_layout(layout_);
      seats_.seat(layout_, run.nodes());
    }
    for (const CampaignNode& node : run.nodes()) run.mark_used(node.id, seats_.has(node.id));
    begin_step(run);
  }

  void step_done(CampaignRun& run) override {
    run.commit_after(settings_.every_ns);
    const bool spare =
        std::ranges::any_of(run.nodes(), [&](const CampaignNode& node) { return node.ready && !seats_.has(node.id); });
    const std::optional<JobLayout> other = spare ? wanted(run) : std::nullopt;
    const bool faster = other && book_.step(*other)->samples_per_s() > step().samples_per_s();
    (spare && seats_.empty() > 0) || faster ? begin_pause(run) : begin_step(run);
  }

 private:
  void begin_pause(CampaignRun& run) {
    if (layout_.nodes() == 0 && !wanted(run)) {
      run.take_layout({});
      run.stand(TimeUse::kWaiting);
    } else {
      run.pause(settings_.pause_ns, TimeUse::kReconfiguring);
    }
  }

  /// Returns a layout of as many whole pipelines as nodes are ready.
  std::optional<JobLayout> wanted(const CampaignRun& run) {
    const std::int32_t most = book_.source().most_pipelines(settings_.stages);
    for (std::int32_t pipelines = std::min(most, run.ready() / settings_.stages); pipelines > 0; --pipelines) {
      const JobLayout layout{pipelines, settings_.stages};
      if (book_.step(layout)) return layout;
    }
    return {};
  }

  /// Returns the step with the nodes that have gone.
  StepOfLayout step() {
    StepOfLayout step = *book_.step(layout_);
    const double turns = static_cast<double>(book_.source().microbatches()) / layout_.pipelines + layout_.stages - 1;
    step.ns = std::llround(static_cast<double>(step.ns) * std::max(1.0, least_turns() / turns));
    return step;
  }

  /// Returns the turns that the fullest holder takes for the microbatches of a step, from its beginning on.
  double least_turns() const {
    constexpr double kForward = 1.0 / 3;  // of a turn
    const auto microbatches = static_cast<double>(book_.source().microbatches());
    const double holders = layout_.pipelines;
    if (settings_.moves_layers) return microbatches / (holders - static_cast<double>(seats_.empty()) / layout_.stages);
    double most = 0;
    for (std::int32_t stage = 0; stage < layout_.stages; ++stage) {
      most = std::max(most, microbatches / (holders - seats_.empty_of(stage)) + stage * kForward);
    }
    return most;
  }

  void begin_step(CampaignRun& run) {
    const StepOfLayout whole = *book_.step(layout_);
    const double takes = static_cast<double>(step().ns) * run.slowest();
    run.begin_step(std::llround(takes), whole.ns, whole.samples);
  }

  RecycleSettings settings_;
  LayoutBook& book_;
  JobLayout layout_;
  NodeSeats seats_;
};

constexpr std::array kRecycleOptions{
    kPipelineStagesOption, NamedOption{"pause", kRulePause, 30, "seconds from a loss to the next step"},
    NamedOption{"reshard", switch_form(), 0, "whether layers move, too, so that all nodes have equal work",
                "this is ElasWave's bound"},
    kSavesBesideOption};

CampaignRulePtr make_recycle(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  return std::make_unique<RecycleRule>(
      RecycleSettings{.stages = option_count(options, "stages", usual_stages(problem, book)),
                      .pause_ns = option_ns(options, "pause"),
                      .every_ns = option_ns(options, "every"),
                      .moves_layers = options.is_on("reshard")},
      book);
}

}  // namespace

CampaignRuleSpec recycle_rule() {
  return {.name = "recycle",
          .summary =
              "no spare nodes; a loss makes the other holders of its stage do its microbatches, as far as they "
              "can in what they idle",
          .source = "Gandhi et al., ReCycle, SOSP 2024, arXiv 2405.14009: its bound",
          .options = kRecycleOptions,
          .make = make_recycle};
}

}  // namespace plumb
