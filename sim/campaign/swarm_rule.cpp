#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"

namespace plumb {
namespace {

struct SwarmSettings {
  std::int32_t stages = 1;        ///< pools
  std::int64_t join_ns = 0;       ///< a peer loads the state of its stage
  std::int64_t rebalance_ns = 0;  ///< between two looks at the pools
  std::int64_t every_ns = 0;      ///< work between two checkpoints, which are written beside it
};

/// A pool of peers for every stage. Microbatches find their way at run time, so that nothing stops when a peer goes:
/// one of its microbatches is done again by another peer of the pool, and the others share its work. A step takes as
/// long as in the layout with as many pipelines as the smallest pool has peers, and longer where a pool with slow ones
/// cannot keep up: each peer gets as many microbatches as its speed allows (`routed_tasks`). A new peer joins the
/// smallest pool; from time to time a peer of the largest pool moves there. When a pool is empty its stage is gone: the
/// job waits for a peer, and goes on from its last checkpoint.
class SwarmRule final : public CampaignRule {
 public:
  SwarmRule(const SwarmSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void start(CampaignRun& run) override {
    pools_.resize(static_cast<std::size_t>(settings_.stages));
    run.set_timer(settings_.rebalance_ns, kRebalance, 0);
  }

  void became_ready(const CampaignNode& node, CampaignRun& run) override { load_state(node.id, run); }

  void removed(const CampaignNode& node, CampaignRun& run) override {
    std::erase(loading_, node.id);
    for (Pool& pool : pools_) {
      const auto peer = std::ranges::find(pool, node.id);
      if (peer == pool.end()) continue;
      pool.erase(peer);
      if (pool.empty()) return lose_stage(run);
      if (run.stepping()) go_on_without(run);
      return;
    }
  }

  void timer(CampaignTimer which, std::int64_t number, CampaignRun& run) override {
    if (which == kJoined) return join(static_cast<std::int32_t>(number), run);
    rebalance(run);
    run.set_timer(settings_.rebalance_ns, kRebalance, 0);
  }

  void step_done(CampaignRun& run) override {
    run.commit_after(settings_.every_ns);
    begin_step(run);
  }

 private:
  static constexpr CampaignTimer kJoined = CampaignTimer::kFirst;
  static constexpr CampaignTimer kRebalance = CampaignTimer::kSecond;
  using Pool = std::vector<std::int32_t>;  ///< nodes

  std::size_t smallest() const {
    const auto least = std::ranges::min_element(pools_, {}, &Pool::size);
    return static_cast<std::size_t>(least - pools_.begin());
  }

  /// Returns a layout of as many pipelines as the smallest pool has peers, or fewer where there is no such layout.
  std::optional<JobLayout> layout() {
    for (auto pipelines = static_cast<std::int32_t>(pools_[smallest()].size()); pipelines > 0; --pipelines) {
      const JobLayout found{pipelines, static_cast<std::int32_t>(pools_.size())};
      if (book_.step(found)) return found;
    }
    return {};
  }

  void load_state(std::int32_t node, CampaignRun& run) {
    loading_.push_back(node);
    run.set_timer(settings_.join_ns, kJoined, node);
    if (!run.stepping()) run.stand(TimeUse::kReconfiguring);
  }

  void join(std::int32_t node, CampaignRun& run) {
    const auto loaded = std::ranges::find(loading_, node);
    if (loaded == loading_.end()) return;  // it went meanwhile
    loading_.erase(loaded);
    pools_[smallest()].push_back(node);
    if (!run.stepping()) begin_step(run);
  }

  void lose_stage(CampaignRun& run) {
    run.drop_step();
    run.lose_uncommitted();
    run.count_fatal();
    rebalance(run);
    run.take_layout({});
    run.stand(loading_.empty() ? TimeUse::kWaiting : TimeUse::kReconfiguring);
  }

  /// What is left of the step takes as long as in the smaller layout; one microbatch is done twice.
  void go_on_without(CampaignRun& run) {
    const std::int64_t was = book_.step(run.layout())->ns;
    const std::int64_t again = was * run.layout().pipelines / book_.source().microbatches();
    const std::optional<JobLayout> smaller = layout();
    if (!smaller) return lose_stage(run);
    const std::int64_t slower = std::max<std::int64_t>(0, book_.step(*smaller)->ns - was);
    const std::int64_t left = std::max<std::int64_t>(0, began_ns_ + was - run.now());
    run.prolong_step(again + std::llround(static_cast<double>(slower) * static_cast<double>(left) /
                                          static_cast<double>(std::max<std::int64_t>(1, was))));
  }

  /// A peer of the largest pool loads the state of the smallest one's stage.
  void rebalance(CampaignRun& run) {
    const auto largest = std::ranges::max_element(pools_, {}, &Pool::size);
    if (largest->size() < pools_[smallest()].size() + 2) return;
    const std::int32_t node = largest->back();
    largest->pop_back();
    load_state(node, run);
  }

  void begin_step(CampaignRun& run) {
    const std::optional<JobLayout> next = layout();
    if (!next) {
      run.take_layout({});
      run.stand(loading_.empty() ? TimeUse::kWaiting : TimeUse::kReconfiguring);
      return;
    }
    if (run.layout().nodes() == 0) run.count_recovery();
    run.take_layout(*next);
    for (const CampaignNode& node : run.nodes()) run.mark_used(node.id, false);
    for (const Pool& pool : pools_) {
      for (const std::int32_t node : pool) run.mark_used(node, true);
    }
    began_ns_ = run.now();
    const StepOfLayout step = *book_.step(*next);
    run.begin_step(std::llround(static_cast<double>(step.ns) * slowdown(*next, run)), step.ns, step.samples);
  }

  /// Returns how many times as long as with peers of full speed the slowest pool takes for a step of `layout`.
  double slowdown(const JobLayout& layout, const CampaignRun& run) {
    if (run.slowest() == 1) return 1;
    const std::int64_t tasks = book_.source().microbatches();
    const double full = static_cast<double>(tasks) / layout.pipelines;
    double most = 1;
    for (const Pool& pool : pools_) {
      factors_.clear();
      for (const CampaignNode& node : run.nodes()) {
        if (std::ranges::find(pool, node.id) != pool.end()) factors_.push_back(node.factor);
      }
      const std::vector<std::int64_t> routed = routed_tasks(factors_, tasks);
      for (std::size_t peer = 0; peer < routed.size(); ++peer) {
        most = std::max(most, static_cast<double>(routed[peer]) * factors_[peer] / full);
      }
    }
    return most;
  }

  SwarmSettings settings_;
  LayoutBook& book_;
  std::vector<double> factors_;
  std::vector<Pool> pools_;
  Pool loading_;
  std::int64_t began_ns_ = 0;  ///< the step under way
};

}  // namespace

std::vector<std::int64_t> routed_tasks(std::span<const double> task_times, std::int64_t tasks) {
  using Key = std::pair<double, std::size_t>;  // expected time until it is free, peer
  std::priority_queue<Key, std::vector<Key>, std::greater<>> peers;
  for (std::size_t peer = 0; peer < task_times.size(); ++peer) peers.emplace(0, peer);
  std::vector<std::int64_t> routed(task_times.size(), 0);
  for (std::int64_t task = 0; task < tasks && !peers.empty(); ++task) {
    const auto [busy, peer] = peers.top();
    peers.pop();
    ++routed[peer];
    peers.emplace(busy + task_times[peer], peer);
  }
  return routed;
}

namespace {

constexpr std::array kSwarmOptions{
    NamedOption{"stages", rule_count("P", 1), "those of the best layout for the mean of the trace",
                "pools, one for every stage"},
    NamedOption{"join", kRulePause, 30, "seconds in which a peer loads the state of its stage"},
    NamedOption{"rebalance", kRulePeriod, 300, "seconds after which a peer may move to the smallest pool"},
    kSavesBesideOption};

CampaignRulePtr make_swarm(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  return std::make_unique<SwarmRule>(
      SwarmSettings{.stages = option_count(options, "stages", usual_stages(problem, book)),
                    .join_ns = option_ns(options, "join"),
                    .rebalance_ns = std::max<std::int64_t>(1, option_ns(options, "rebalance")),
                    .every_ns = option_ns(options, "every")},
      book);
}

}  // namespace

CampaignRuleSpec swarm_rule() {
  return {.name = "swarm",
          .summary = "a pool of peers for every stage; a loss makes the others of its pool do more",
          .source = "Ryabinin et al., SWARM Parallelism, ICML 2023, arXiv 2301.11913",
          .options = kSwarmOptions,
          .make = make_swarm};
}

}  // namespace plumb
