#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"

namespace plumb {
namespace {

struct BambooSettings {
  std::int32_t stages = 1;
  std::int64_t global_ns = 0;  ///< nodes meet again after a loss that nobody can stand in for, and at first
  std::int64_t local_ns = 0;   ///< nodes meet again after a step
  double slowdown = 1;         ///< slowdown of steps from the first loss to the next meeting
};

/// A node's place: the pipeline, and the stage in it.
using Place = std::pair<std::int32_t, std::int32_t>;

/// Every node also keeps a copy of the stage behind its own and runs its forwards, too, so that it can stand in for the
/// node of that stage (of the first stage: the node of the last). While somebody stands in, steps take longer; after a
/// step, nodes meet to take new places where spare nodes or a higher risk make that worth it. A loss that nobody can
/// stand in for makes them meet at once.
///
/// Taken from the released simulation, details included: training goes on while nodes meet after such a loss, every
/// start of a meeting posts its own timer and none is cancelled, spare nodes that go are not counted off, and times
/// are cut to whole milliseconds.
class BambooRule final : public CampaignRule {
 public:
  BambooRule(const BambooSettings& settings, LayoutBook& book) : settings_(settings), book_(book.redundant()) {}

  void became_ready(const CampaignNode& node, CampaignRun& run) override {
    if (state_ == State::kStopped) {
      start_meeting(kGlobal, run);
    } else if (state_ == State::kMeeting) {
      meeting_.push_back(node.id);
    } else {
      ++spares_;
    }
  }

  void removed(const CampaignNode& node, CampaignRun& run) override {
    const std::vector<Place> places = places_of(node.id);
    places_.erase(node.id);
    if (places.size() > 1) return fail(run);
    if (places.size() == 1 && !stand_in(places[0], run)) return fail(run);
    if (state_ != State::kRunning || slowed_) return;
    slowed_ = true;
    // The rest of the step under way, and every later step until the next meeting.
    const std::int64_t left = step_end_ - run.now();
    run.prolong_step(whole_ms(static_cast<double>(left) * (settings_.slowdown - 1)));
    step_ns_ = whole_ms(static_cast<double>(step_ns_) * settings_.slowdown);
  }

  void timer(CampaignTimer which, std::int64_t, CampaignRun& run) override { finish_meeting(which, run); }

  void step_done(CampaignRun& run) override {
    run.commit();
    should_meet() ? start_meeting(kLocal, run) : begin_step(run);
  }

 private:
  enum class State : std::uint8_t { kStopped, kMeeting, kRunning };
  static constexpr CampaignTimer kGlobal = CampaignTimer::kFirst;
  static constexpr CampaignTimer kLocal = CampaignTimer::kSecond;

  /// Gives the place of a node that went to the one before it. False: that one stands in already.
  bool stand_in(const Place& lost, const CampaignRun& run) {
    const Place before{lost.first, lost.second > 0 ? lost.second - 1 : layout_.stages - 1};
    for (const CampaignNode& node : run.nodes()) {
      const auto found = places_.find(node.id);
      if (found == places_.end() || std::ranges::find(found->second, before) == found->second.end()) continue;
      if (found->second.size() > 1) return false;
      found->second.push_back(lost);
      return true;
    }
    return true;  // nobody is before it: its place stays empty
  }

  void fail(CampaignRun& run) {
    run.count_fatal();
    start_meeting(kGlobal, run);
  }

  void start_meeting(CampaignTimer timer, CampaignRun& run) {
    state_ = State::kMeeting;
    run.stand(TimeUse::kReconfiguring);
    call_nodes(timer, run);
  }

  void call_nodes(CampaignTimer timer, CampaignRun& run) {
    meeting_.clear();
    for (const CampaignNode& node : run.nodes()) {
      if (node.ready) meeting_.push_back(node.id);
    }
    run.set_timer(timer == kGlobal ? settings_.global_ns : settings_.local_ns, timer, 0);
  }

  void finish_meeting(CampaignTimer timer, CampaignRun& run) {
    for (const std::int32_t id : meeting_) {
      const bool is_there = std::ranges::any_of(run.nodes(), [id](const CampaignNode& node) { return node.id == id; });
      if (!is_there) return call_nodes(timer, run);
    }
    take_places(run);
    slowed_ = false;
    run.count_recovery();
    run.drop_step();
    if (layout_.pipelines == 0) {
      state_ = State::kStopped;
      run.stand(TimeUse::kWaiting);
      return;
    }
    state_ = State::kRunning;
    step_ = *book_.step(layout_);
    step_ns_ = step_.ns;
    begin_step(run);
  }

  void take_places(CampaignRun& run) {
    const auto met = static_cast<std::int32_t>(meeting_.size());
    layout_ = {met / settings_.stages, settings_.stages};
    capped_ = layout_.pipelines > 0 && !book_.step(layout_);
    while (layout_.pipelines > 0 && !book_.step(layout_)) --layout_.pipelines;
    if (layout_.pipelines == 0) layout_ = {};
    std::int32_t number = 0;
    for (const std::int32_t node : meeting_) {
      places_.erase(node);
      if (number < layout_.nodes()) places_[node] = {{number / layout_.stages, number % layout_.stages}};
      ++number;
    }
    spares_ = met - layout_.nodes();
    meeting_.clear();
    run.take_layout(layout_);
    for (const CampaignNode& node : run.nodes()) run.mark_used(node.id, places_.contains(node.id));
  }

  bool should_meet() const {
    const auto standing_in =
        std::ranges::count_if(places_, [](const auto& places) { return places.second.size() > 1; });
    const std::int64_t active = layout_.nodes() - standing_in;
    if (standing_in > 0 && spares_ >= standing_in) return true;
    // The nodes that stand in, and those before them, must not go now.
    if (standing_in > 0 && static_cast<double>(2 * standing_in) / static_cast<double>(active) > 0.05) return true;
    if ((active + spares_) / settings_.stages <= layout_.pipelines) return false;
    // Nodes that are left over because no layout has more pipelines are not worth a meeting, unless a place is empty.
    std::size_t taken = 0;
    for (const auto& [node, places] : places_) taken += places.size();
    return !capped_ || taken < static_cast<std::size_t>(layout_.nodes());
  }

  void begin_step(CampaignRun& run) {
    const auto takes = static_cast<std::int64_t>(std::llround(static_cast<double>(step_ns_) * run.slowest()));
    run.begin_step(takes, step_.ns, step_.samples);
    step_end_ = run.now() + takes;
  }

  std::vector<Place> places_of(std::int32_t node) const {
    const auto found = places_.find(node);
    return found == places_.end() ? std::vector<Place>{} : found->second;
  }

  static std::int64_t whole_ms(double ns) {
    return static_cast<std::int64_t>(ns / static_cast<double>(kNsPerMillisecond)) * kNsPerMillisecond;
  }

  BambooSettings settings_;
  LayoutBook& book_;
  State state_ = State::kStopped;
  JobLayout layout_;
  std::map<std::int32_t, std::vector<Place>> places_;  ///< by node; two: it stands in for another
  std::vector<std::int32_t> meeting_;
  std::int64_t spares_ = 0;
  bool slowed_ = false;
  bool capped_ = false;  ///< more nodes met than any layout takes
  StepOfLayout step_;
  std::int64_t step_ns_ = 0;
  std::int64_t step_end_ = 0;
};

constexpr std::array kBambooOptions{
    kPipelineStagesOption,
    NamedOption{"global", kRulePause, 30, "seconds to meet at first and after a loss that stops the job"},
    NamedOption{"local", kRulePause, 20, "seconds to meet after a step"},
    NamedOption{"slowdown", rule_number("X", 1), 1.5, "times as long a step takes while somebody stands in"}};

CampaignRulePtr make_bamboo(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  return std::make_unique<BambooRule>(
      BambooSettings{.stages = option_count(options, "stages", usual_stages(problem, book.redundant())),
                     .global_ns = option_ns(options, "global"),
                     .local_ns = option_ns(options, "local"),
                     .slowdown = options.number("slowdown")},
      book);
}

}  // namespace

CampaignRuleSpec bamboo_rule() {
  return {.name = "bamboo",
          .summary =
              "every node can stand in for the one behind it, whose forwards it runs, too; nodes meet after a "
              "step to take places",
          .source = "Thorpe et al., Bamboo, NSDI 2023, arXiv 2204.12013",
          .options = kBambooOptions,
          .make = make_bamboo};
}

}  // namespace plumb
