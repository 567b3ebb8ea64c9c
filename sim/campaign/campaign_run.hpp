#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "sim/campaign/campaign_result.hpp"
#include "sim/campaign/campaign_rule.hpp"

namespace plumb {

/// Plays a campaign: takes events in order, keeps nodes and books, and lets the rule decide. Rules call what is public.
///
/// The job either makes a step, which ends by itself, or stands still for a reason (`stand`). Steps count for good once
/// they are committed; what is lost before goes from training to lost.
class CampaignRun {
 public:
  CampaignRun(const CampaignProblem& problem, CampaignRule& rule, LayoutBook& book);

  CampaignResult play();

  std::int64_t now() const { return now_; }
  /// Returns the nodes that are there, in the order of their coming.
  std::span<const CampaignNode> nodes() const { return nodes_; }
  std::int32_t ready() const;
  LayoutBook& book() { return book_; }

  /// Tells the rule in `delay_ns`, whatever happens meanwhile.
  void set_timer(std::int64_t delay_ns, CampaignTimer which, std::int64_t number);

  /// Puts the job into `layout` on the first ready nodes, which are marked as used; a layout without nodes
  /// uses none.
  void take_layout(JobLayout layout);
  JobLayout layout() const { return layout_; }
  /// A rule that keeps places of its own marks the nodes itself.
  void mark_used(std::int32_t node, bool used);
  /// Returns the largest factor of the used nodes.
  double slowest() const;

  /// Starts a step now, which takes `ns`, of which `undisturbed_ns` are its work. One under way is dropped.
  void begin_step(std::int64_t ns, std::int64_t undisturbed_ns, double samples);
  /// Begins a step whose time is that of its slowest node.
  void begin_step(const StepOfLayout& step);
  /// The step under way, or the one that is just done, takes longer.
  void prolong_step(std::int64_t ns);
  bool stepping() const { return step_.under_way; }
  /// Throws the step under way away: its time is lost.
  void drop_step();
  /// Why the job stands still from now on.
  void stand(TimeUse why);
  /// The job stands still for `delay_ns`. Then the rule is told (`CampaignRule::pause_over`), unless it has let the job
  /// stand or pause anew, or begun a step, before that.
  void pause(std::int64_t delay_ns, TimeUse why);

  /// All steps so far count for good.
  void commit();
  /// Checkpoints that are written beside the work: after so much of it all steps count for good.
  void commit_after(std::int64_t work_ns) {
    if (uncommitted_work_ >= work_ns) commit();
  }
  /// Returns what the finished steps since the last commit take undisturbed.
  std::int64_t uncommitted_work() const { return uncommitted_work_; }
  /// Steps since the last commit are lost.
  void lose_uncommitted();
  void count_fatal() { ++result_.fatal; }
  void count_recovery() { ++result_.recoveries; }
  void note_frozen(std::int32_t layers) { result_.frozen_layers = layers; }

 private:
  /// In the order of one moment.
  enum class PostedKind : std::uint8_t { kReady, kPause, kFirstTimer, kSecondTimer };
  struct Posted {
    std::int64_t at = 0;
    PostedKind kind{};
    std::int64_t order = 0;  ///< number in the order of posting
    std::int64_t number = 0;
    std::int32_t node = 0;

    bool operator>(const Posted& other) const {
      return std::tie(at, kind, order) > std::tie(other.at, other.kind, other.order);
    }
  };
  struct Step {
    bool under_way = false;
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t undisturbed = 0;
    double samples = 0;
  };

  /// Takes the next event, if there is one before the end; false otherwise.
  bool take_event();
  void take_node_event(const NodeEvent& event);
  void take_ready(std::int32_t id);
  void take_posted(const Posted& posted);
  void finish_step();
  void post(std::int64_t delay_ns, PostedKind kind, std::int64_t number, std::int32_t node = 0);
  std::vector<CampaignNode>::iterator find_node(std::int32_t id);
  void advance_to(std::int64_t time);
  void refresh_rate();
  /// Books the time from `from_` to `to`.
  void book_time(std::int64_t to, TimeUse use);
  /// Books the time from `from_` to now as that of `step`, as far as it is done.
  void book_step(const Step& step);
  void add_phase(std::int64_t to, TimeUse use);
  void close_books();

  const CampaignProblem& problem_;
  CampaignRule& rule_;
  LayoutBook& book_;
  std::vector<NodeEvent> trace_;
  std::size_t next_in_trace_ = 0;
  std::priority_queue<Posted, std::vector<Posted>, std::greater<>> posted_;
  std::int64_t order_ = 0;
  std::int64_t now_ = 0;
  std::int64_t from_ = 0;  ///< up to which time is booked
  std::vector<CampaignNode> nodes_;
  JobLayout layout_;
  Step step_;
  TimeUse standing_ = TimeUse::kWaiting;
  std::int64_t pause_ = 0;      ///< number of the last one; what a step or another pause has ended has an older one
  double rate_ = 0;             ///< rate of the ready nodes, undisturbed
  double node_ns_ = 0;          ///< node time until now
  double node_ns_of_step_ = 0;  ///< until the end of the last step, or the beginning of the first
  std::int64_t uncommitted_training_ = 0;
  std::int64_t uncommitted_slowed_ = 0;
  std::int64_t uncommitted_work_ = 0;
  std::int64_t uncommitted_steps_ = 0;
  double uncommitted_samples_ = 0;
  std::size_t committed_phases_ = 0;  ///< phases before this one are not touched any more
  CampaignResult result_;
};

}  // namespace plumb
