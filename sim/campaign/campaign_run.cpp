#include "sim/campaign/campaign_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace plumb {

CampaignRun::CampaignRun(const CampaignProblem& problem, CampaignRule& rule, LayoutBook& book)
    : problem_(problem), rule_(rule), book_(book), trace_(problem.trace.events) {
  const auto kind_order = [](const NodeEvent& one, const NodeEvent& other) {
    return std::tie(one.at_ns, one.kind) < std::tie(other.at_ns, other.kind);
  };
  std::stable_sort(trace_.begin(), trace_.end(), kind_order);
  result_.until_ns = problem.until_ns;
}

CampaignResult CampaignRun::play() {
  rule_.start(*this);
  while (take_event()) {
  }
  close_books();
  return std::move(result_);
}

std::int32_t CampaignRun::ready() const {
  return static_cast<std::int32_t>(std::ranges::count_if(nodes_, &CampaignNode::ready));
}

/// Posts an event; those of one moment come by kind, then in the order of posting.
void CampaignRun::post(std::int64_t delay_ns, PostedKind kind, std::int64_t number, std::int32_t node) {
  posted_.push({.at = now_ + delay_ns, .kind = kind, .order = order_++, .number = number, .node = node});
}

void CampaignRun::set_timer(std::int64_t delay_ns, CampaignTimer which, std::int64_t number) {
  post(delay_ns, which == CampaignTimer::kFirst ? PostedKind::kFirstTimer : PostedKind::kSecondTimer, number);
}

void CampaignRun::pause(std::int64_t delay_ns, TimeUse why) {
  stand(why);
  post(delay_ns, PostedKind::kPause, pause_);
}

/// Books the time of the old layout before the new one counts.
void CampaignRun::take_layout(JobLayout layout) {
  if (!step_.under_way) book_time(now_, standing_);
  layout_ = layout;
  std::int32_t left = layout.nodes();
  for (CampaignNode& node : nodes_) {
    node.used = node.ready && left > 0;
    if (node.used) --left;
  }
}

void CampaignRun::mark_used(std::int32_t node, bool used) {
  const auto found = find_node(node);
  if (found != nodes_.end()) found->used = used;
}

double CampaignRun::slowest() const {
  double factor = 0;
  for (const CampaignNode& node : nodes_) {
    if (node.used) factor = std::max(factor, node.factor);
  }
  return factor > 0 ? factor : 1;
}

void CampaignRun::begin_step(std::int64_t ns, std::int64_t undisturbed_ns, double samples) {
  drop_step();
  book_time(now_, standing_);
  ++pause_;
  step_ = {.under_way = true, .start = now_, .end = now_ + ns, .undisturbed = undisturbed_ns, .samples = samples};
  if (result_.first_step_ns < 0) {
    result_.first_step_ns = now_;
    node_ns_of_step_ = node_ns_;
  }
}

void CampaignRun::begin_step(const StepOfLayout& step) {
  begin_step(std::llround(static_cast<double>(step.ns) * slowest()), step.ns, step.samples);
}

void CampaignRun::prolong_step(std::int64_t ns) { step_.end += ns; }

void CampaignRun::drop_step() {
  if (!step_.under_way) return;
  step_.under_way = false;
  book_time(now_, TimeUse::kLost);
}

void CampaignRun::stand(TimeUse why) {
  if (!step_.under_way) book_time(now_, standing_);
  standing_ = why;
  ++pause_;
}

/// Makes what was trained safe: nothing that is lost later takes it back.
void CampaignRun::commit() {
  uncommitted_training_ = uncommitted_slowed_ = uncommitted_work_ = uncommitted_steps_ = 0;
  uncommitted_samples_ = 0;
  // Phases that nothing can turn into lost ones any more, and that go on the same way, become one.
  std::vector<CampaignPhase>& phases = result_.phases;
  std::size_t kept = committed_phases_;
  for (std::size_t at = committed_phases_; at < phases.size(); ++at) {
    const bool goes_on =
        kept > 0 && phases[kept - 1].use == phases[at].use && phases[kept - 1].layout == phases[at].layout;
    if (goes_on) {
      phases[kept - 1].end_ns = phases[at].end_ns;
    } else {
      phases[kept++] = phases[at];
    }
  }
  phases.resize(kept);
  committed_phases_ = kept;
}

/// Turns everything since the last commit into lost time: steps, samples, and the phases that are shown.
void CampaignRun::lose_uncommitted() {
  const auto time = [&](TimeUse use) -> std::int64_t& { return result_.time_ns[static_cast<std::size_t>(use)]; };
  time(TimeUse::kTraining) -= uncommitted_training_;
  time(TimeUse::kSlowed) -= uncommitted_slowed_;
  time(TimeUse::kLost) += uncommitted_training_ + uncommitted_slowed_;
  result_.steps -= uncommitted_steps_;
  result_.samples -= uncommitted_samples_;
  result_.samples_to_last_step = std::min(result_.samples_to_last_step, result_.samples);
  for (std::size_t phase = committed_phases_; phase < result_.phases.size(); ++phase) {
    TimeUse& use = result_.phases[phase].use;
    if (use == TimeUse::kTraining || use == TimeUse::kSlowed) use = TimeUse::kLost;
  }
  commit();
}

/// Takes the next event of the trace, of what was posted, or the end of the step. Returns false at the end.
bool CampaignRun::take_event() {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  const std::int64_t in_trace = next_in_trace_ < trace_.size() ? trace_[next_in_trace_].at_ns : kNever;
  const std::int64_t posted = posted_.empty() ? kNever : posted_.top().at;
  const std::int64_t step = step_.under_way ? step_.end : kNever;
  const std::int64_t next = std::min({in_trace, posted, step});
  if (next > problem_.until_ns) return false;
  advance_to(next);
  // In one moment come, in this order: what the trace says (it has no event of a later kind), what was posted, the end
  // of a step.
  if (in_trace == next) {
    take_node_event(trace_[next_in_trace_++]);
  } else if (posted == next) {
    const Posted event = posted_.top();
    posted_.pop();
    take_posted(event);
  } else {
    finish_step();
  }
  return true;
}

void CampaignRun::take_node_event(const NodeEvent& event) {
  if (event.kind == NodeEventKind::kAdd) {
    nodes_.push_back({.id = event.node, .since_ns = now_});
    result_.most_nodes = std::max(result_.most_nodes, static_cast<std::int32_t>(nodes_.size()));
    result_.nodes.push_back({now_, static_cast<std::int32_t>(nodes_.size())});
    post(problem_.ready_ns, PostedKind::kReady, now_, event.node);
    return;
  }
  const auto node = find_node(event.node);
  if (node == nodes_.end()) return;
  if (event.kind == NodeEventKind::kSlow) {
    node->factor = event.factor;
    refresh_rate();
    rule_.slowed(*node, *this);
    return;
  }
  const CampaignNode gone = *node;
  nodes_.erase(node);
  ++result_.removals;
  result_.nodes.push_back({now_, static_cast<std::int32_t>(nodes_.size())});
  refresh_rate();
  rule_.removed(gone, *this);
}

void CampaignRun::take_posted(const Posted& posted) {
  if (posted.kind == PostedKind::kPause) {
    if (posted.number == pause_) rule_.pause_over(*this);
    return;
  }
  if (posted.kind != PostedKind::kReady) {
    const bool first = posted.kind == PostedKind::kFirstTimer;
    return rule_.timer(first ? CampaignTimer::kFirst : CampaignTimer::kSecond, posted.number, *this);
  }
  const auto node = find_node(posted.node);
  // It may have gone, and even have come again, in the meantime.
  if (node == nodes_.end() || node->since_ns != posted.number) return;
  node->ready = true;
  refresh_rate();
  rule_.became_ready(*node, *this);
}

/// Books a finished step. Its samples per node count the nodes that were there since the step before ended.
void CampaignRun::finish_step() {
  const Step done = step_;
  step_.under_way = false;
  book_step(done);
  ++result_.steps;
  ++uncommitted_steps_;
  uncommitted_work_ += done.undisturbed;
  const double node_ns = node_ns_ - node_ns_of_step_;
  const auto passed = static_cast<double>(now_ - std::max(result_.last_step_ns, result_.first_step_ns));
  if (node_ns > 0) result_.samples_per_node += done.samples * passed / node_ns;
  node_ns_of_step_ = node_ns_;
  result_.last_step_ns = now_;
  result_.samples_to_last_step = result_.samples;
  rule_.step_done(*this);
}

/// Splits a step's time into what it takes undisturbed and what slow nodes added. Where the end cuts it off nothing is
/// lost: it counts for its share, in whole nanoseconds, so that without slow nodes nothing is slowed.
void CampaignRun::book_step(const Step& step) {
  __extension__ using Wide = __int128;
  const std::int64_t takes = std::max<std::int64_t>(1, step.end - step.start);
  const std::int64_t left = step.end - now_;
  const double share = 1 - static_cast<double>(left) / static_cast<double>(takes);
  const auto undisturbed = static_cast<std::int64_t>(Wide{step.undisturbed} * (takes - left) / takes);
  const std::int64_t slowed = std::max<std::int64_t>(0, now_ - from_ - undisturbed);
  const std::int64_t trained = now_ - from_ - slowed;
  uncommitted_slowed_ += slowed;
  uncommitted_training_ += trained;
  uncommitted_samples_ += step.samples * share;
  result_.samples += step.samples * share;
  const auto time = [&](TimeUse use) -> std::int64_t& { return result_.time_ns[static_cast<std::size_t>(use)]; };
  time(TimeUse::kTraining) += trained;
  time(TimeUse::kSlowed) += slowed;
  add_phase(now_, slowed > 0 ? TimeUse::kSlowed : TimeUse::kTraining);
  from_ = now_;
}

std::vector<CampaignNode>::iterator CampaignRun::find_node(std::int32_t id) {
  return std::ranges::find(nodes_, id, &CampaignNode::id);
}

/// Moves the clock on, and with it what is integrated over time: nodes, and the undisturbed rate.
void CampaignRun::advance_to(std::int64_t time) {
  const auto passed = static_cast<double>(time - now_);
  node_ns_ += passed * static_cast<double>(nodes_.size());
  result_.undisturbed += rate_ * passed / 1e9;
  now_ = time;
}

void CampaignRun::refresh_rate() { rate_ = book_.best_rate(ready()); }

void CampaignRun::book_time(std::int64_t to, TimeUse use) {
  result_.time_ns[static_cast<std::size_t>(use)] += to - from_;
  add_phase(to, use);
  from_ = to;
}

void CampaignRun::add_phase(std::int64_t to, TimeUse use) {
  if (to <= from_ || !problem_.keep_phases) return;
  std::vector<CampaignPhase>& phases = result_.phases;
  if (phases.size() > committed_phases_ && phases.back().use == use && phases.back().layout == layout_) {
    phases.back().end_ns = to;
  } else {
    phases.push_back({from_, to, use, layout_});
  }
}

void CampaignRun::close_books() {
  advance_to(problem_.until_ns);
  if (step_.under_way) {
    book_step(step_);
  } else {
    book_time(now_, standing_);
  }
  commit();
  result_.node_hours = node_ns_ / 3.6e12;
  result_.cost = result_.node_hours * problem_.price_per_node_hour;
}

}  // namespace plumb
