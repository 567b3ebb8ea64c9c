#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"
#include "sim/sharing/pipeline_instances.hpp"

namespace plumb {
namespace {

/// Instances that are compared for one number of nodes.
constexpr std::int64_t kMostInstances = 2'000;

struct OobleckSettings {
  std::int32_t least = 1;      ///< nodes of the shortest pipeline
  std::int32_t tolerated = 1;  ///< losses at once after which every layer is still somewhere
  std::int64_t pause_ns = 0;   ///< to take other pipelines and copy what nodes lack
  std::int64_t every_ns = 0;   ///< work between two checkpoints, which are written beside it
};

/// Pipelines of several lengths that share the microbatches of a step.
struct OobleckPlan {
  std::vector<std::int32_t> lengths;  ///< lengths of all pipelines
  std::int64_t step_ns = 0;
  double samples = 0;
};

/// Pipelines of several sizes, from templates made once. A loss costs the step under way: the pipelines that are left
/// hold every layer, so the nodes take other sizes, copy what they lack and go on with the same samples per step. Only
/// when some layer is on no node any more the job is thrown back to its last checkpoint. Nodes that come are taken in
/// after a step, where that is faster.
class OobleckRule final : public CampaignRule {
 public:
  OobleckRule(const OobleckSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void became_ready(const CampaignNode&, CampaignRun& run) override {
    if (!plan_) begin_pause(run);
  }

  void removed(const CampaignNode& node, CampaignRun& run) override {
    const auto stage = stages_.find(node.id);
    if (stage == stages_.end()) return;
    lost_.insert(stage->second);
    stages_.erase(stage);
    run.drop_step();
    if (some_layer_is_lost()) {
      run.lose_uncommitted();
      run.count_fatal();
      stages_.clear();
      lost_.clear();
      lengths_.clear();
    }
    begin_pause(run);
  }

  void pause_over(CampaignRun& run) override {
    plan_ = plan_for(run.ready());
    if (!plan_) return begin_pause(run);
    run.count_recovery();
    lengths_ = plan_->lengths;
    lost_.clear();
    stages_.clear();
    run.take_layout({static_cast<std::int32_t>(lengths_.size()), *std::ranges::min_element(lengths_)});
    std::size_t pipeline = 0;
    std::int32_t place = 0;
    for (const CampaignNode& node : run.nodes()) {
      const bool used = node.ready && pipeline < lengths_.size();
      run.mark_used(node.id, used);
      if (!used) continue;
      stages_[node.id] = {pipeline, place};
      if (++place == lengths_[pipeline]) ++pipeline, place = 0;
    }
    begin_step(run);
  }

  void step_done(CampaignRun& run) override {
    run.commit_after(settings_.every_ns);
    const std::optional<OobleckPlan> other = plan_for(run.ready());
    other && other->step_ns < plan_->step_ns ? begin_pause(run) : begin_step(run);
  }

 private:
  /// A node's stage: its pipeline, and its place in it.
  using Stage = std::pair<std::size_t, std::int32_t>;

  /// Pipelines cut the same layers evenly, so stage i of S holds what stage j of T holds where i/S and j/T overlap.
  bool some_layer_is_lost() const {
    for (const auto& [pipeline, place] : lost_) {
      const std::int32_t length = lengths_[pipeline];
      bool lost = true;
      for (std::size_t other = 0; lost && other < lengths_.size(); ++other) {
        const auto first = static_cast<std::int32_t>(std::int64_t{place} * lengths_[other] / length);
        const auto last =
            static_cast<std::int32_t>(((std::int64_t{place} + 1) * lengths_[other] + length - 1) / length) - 1;
        bool any = false;
        for (std::int32_t there = first; there <= last; ++there) any = any || lost_.contains({other, there});
        lost = any;
      }
      if (lost) return true;
    }
    return false;
  }

  void begin_pause(CampaignRun& run) {
    plan_ = plan_for(run.ready());
    if (!plan_) {
      run.take_layout({});
      run.stand(TimeUse::kWaiting);
      return;
    }
    run.pause(settings_.pause_ns, TimeUse::kReconfiguring);
  }

  void begin_step(CampaignRun& run) { run.begin_step({plan_->step_ns, plan_->samples}); }

  std::optional<OobleckPlan> plan_for(std::int32_t nodes) {
    const auto [found, is_new] = plans_.try_emplace(nodes);
    if (!is_new) return found->second;
    // Fewer pipelines than the losses ask for only where there is no other way.
    std::optional<OobleckPlan> best = best_plan(nodes, settings_.tolerated + 1);
    if (!best) best = best_plan(nodes, 1);
    found->second = best;
    return best;
  }

  /// Sizes from n to 2 n - 1 can use any number of nodes from n on; n is the least size, and its doubles.
  std::optional<OobleckPlan> best_plan(std::int32_t nodes, std::int32_t least_pipelines) {
    std::optional<OobleckPlan> best;
    for (std::int32_t n = settings_.least; n <= nodes; n *= 2) {
      std::vector<std::int32_t> sizes;
      for (const std::int32_t length : book_.source().lengths()) {
        if (length >= n && length < 2 * n && length <= nodes && whole_ns(length) > 0) sizes.push_back(length);
      }
      if (sizes.empty()) continue;
      // As many nodes as these sizes can use.
      std::optional<OobleckPlan> plan;
      for (std::int32_t used = nodes; !plan && used >= n; --used) plan = best_instance(used, sizes, least_pipelines);
      if (plan && (!best || plan->step_ns < best->step_ns)) best = plan;
    }
    return best;
  }

  std::optional<OobleckPlan> best_instance(std::int32_t nodes, const std::vector<std::int32_t>& sizes,
                                           std::int32_t least_pipelines) {
    std::optional<OobleckPlan> best;
    std::int64_t left = kMostInstances;
    for_each_instance(nodes, sizes, [&](const InstanceCounts& counts) {
      OobleckPlan plan;
      for (std::size_t at = 0; at < sizes.size(); ++at) {
        plan.lengths.insert(plan.lengths.end(), static_cast<std::size_t>(counts[at]), sizes[at]);
      }
      if (std::ssize(plan.lengths) >= least_pipelines) {
        plan.step_ns = step_of(plan.lengths);
        plan.samples = book_.step({1, sizes.front()})->samples;
        if (plan.step_ns > 0 && (!best || plan.step_ns < best->step_ns)) best = plan;
      }
      return --left > 0;
    });
    return best;
  }

  /// 0: there are fewer microbatches than pipelines.
  std::int64_t step_of(const std::vector<std::int32_t>& lengths) {
    const std::int64_t microbatches = book_.source().microbatches();
    std::vector<double> each;
    for (const std::int32_t length : lengths) {
      each.push_back(static_cast<double>(whole_ns(length)) / static_cast<double>(microbatches));
    }
    const std::vector<std::int64_t> shares = shared_microbatches(each, microbatches);
    std::int64_t longest = 0;
    for (std::size_t at = 0; at < shares.size(); ++at) {
      const JobLayout one{static_cast<std::int32_t>(lengths.size()), lengths[at]};
      longest = std::max(longest, share_ns(one, shares[at]));
    }
    return longest;
  }

  std::int64_t whole_ns(std::int32_t length) {
    const std::optional<StepOfLayout> step = book_.step({1, length});
    return step ? step->ns : 0;
  }

  std::int64_t share_ns(JobLayout layout, std::int64_t microbatches) {
    const auto [found, is_new] = share_ns_.try_emplace({layout, microbatches});
    if (is_new) {
      const double share = static_cast<double>(microbatches) / static_cast<double>(book_.source().microbatches());
      found->second = book_.source().share_ns(layout, share).value_or(0);
    }
    return found->second;
  }

  OobleckSettings settings_;
  LayoutBook& book_;
  std::map<std::int32_t, std::optional<OobleckPlan>> plans_;  ///< by nodes
  std::map<std::pair<JobLayout, std::int64_t>, std::int64_t> share_ns_;
  std::optional<OobleckPlan> plan_;
  std::vector<std::int32_t> lengths_;     ///< lengths of the pipelines that last ran
  std::map<std::int32_t, Stage> stages_;  ///< by node
  std::set<Stage> lost_;                  ///< since they last ran
};

/// Returns the shortest pipeline that the job runs on.
std::int32_t shortest_pipeline(LayoutBook& book) {
  for (const std::int32_t length : book.source().lengths()) {
    if (book.step({1, length})) return length;
  }
  return 1;
}

constexpr std::array kOobleckOptions{
    NamedOption{"least", rule_count("N", 1), "the fewest that the job runs on", "nodes of the shortest pipeline"},
    NamedOption{"tolerated", rule_count("N", 0), 1, "losses at once after which every layer is still somewhere"},
    NamedOption{"pause", kRulePause, 30, "seconds to take other pipelines"}, kSavesBesideOption};

CampaignRulePtr make_oobleck(const CampaignProblem&, const OptionReader& options, LayoutBook& book) {
  return std::make_unique<OobleckRule>(
      OobleckSettings{.least = option_count(options, "least", shortest_pipeline(book)),
                      .tolerated = static_cast<std::int32_t>(options.count("tolerated")),
                      .pause_ns = option_ns(options, "pause"),
                      .every_ns = option_ns(options, "every")},
      book);
}

}  // namespace

CampaignRuleSpec oobleck_rule() {
  return {.name = "oobleck",
          .summary = "pipelines of several lengths; a loss makes the others share its microbatches",
          .source = "Jang et al., Oobleck, SOSP 2023, arXiv 2309.08125",
          .options = kOobleckOptions,
          .make = make_oobleck};
}

}  // namespace plumb
