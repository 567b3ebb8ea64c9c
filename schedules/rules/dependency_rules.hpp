#pragma once

#include <span>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/document/segments.hpp"
#include "schedules/rules/dependency.hpp"

namespace plumb {

/// The rules of which action waits for which, prepared once per schedule so that they can be asked for millions of
/// actions. `dependencies()`, the validator and lowering all use `for_each`; the rules are written nowhere else.
class DependencyRules {
 public:
  explicit DependencyRules(const Schedule& schedule);

  /// Stages whose value an F (their F) or a backward (their B or I) of `stage` takes, for the same microbatch and
  /// slice.
  std::span<const StageId> sources(Op op, StageId stage) const {
    const Sources& all = op == Op::kF ? previous_ : next_;
    const auto begin = static_cast<std::size_t>(all.begin[index(stage)]);
    return std::span(all.stages).subspan(begin, static_cast<std::size_t>(all.begin[index(stage) + 1]) - begin);
  }

  /// Whether R of `stage` takes its input from R of the stage before (schedules/document/segments.hpp).
  bool takes_replay(StageId stage) const { return !segments_.empty() && segments_[index(stage)].takes; }

  /// Calls `visit(Action needed, DependencyKind kind)` for everything that `action` needs by rule; `needed` names one
  /// microbatch, a backward is given as kB and means "B or I". Sends, updates and collectives need nothing by rule.
  /// Extra edges of the document are not visited. R of a stage that no list recomputes explicitly must be ignored by
  /// `visit`.
  template <class Visit>
  void for_each(const Action& action, Visit&& visit) const {
    for (int i = 0; i <= action.merged; ++i) {
      Action one = action;
      one.microbatch = MicrobatchId{static_cast<std::int32_t>(action.microbatch) + i};
      one.merged = 0;
      one.overlaps_next = 0;
      one.where = Action::kNowhere;
      if (one.op == Op::kF) {
        visit_sources(one, -1, visit);
      } else if (one.op == Op::kB || one.op == Op::kI) {
        visit(with(one, Op::kF), DependencyKind::kStash);
        visit(with(one, Op::kR), DependencyKind::kStash);
        one.op = Op::kB;
        visit_sources(one, +1, visit);
      } else if (one.op == Op::kW) {
        visit(with(one, Op::kI), DependencyKind::kInputGrad);
      } else if (one.op == Op::kR) {
        visit(with(one, Op::kF), DependencyKind::kStash);
        if (!takes_replay(one.stage)) continue;
        one.stage = StageId{static_cast<std::int32_t>(one.stage) - 1};
        visit(one, DependencyKind::kActivation);
      }
    }
  }

 private:
  /// Stages that a stage takes values from, in compressed rows.
  struct Sources {
    std::vector<std::int32_t> begin;  ///< by stage, one more than stages
    std::vector<StageId> stages;
  };

  static Action with(Action action, Op op) {
    action.op = op;
    return action;
  }

  /// The same op of the stages that feed this one, and of the neighbouring slice (before: -1, after: +1).
  template <class Visit>
  void visit_sources(const Action& one, int slice_step, Visit& visit) const {
    const DependencyKind kind = one.op == Op::kF ? DependencyKind::kActivation : DependencyKind::kGradient;
    for (const StageId stage : sources(one.op, one.stage)) {
      Action needed = one;
      needed.stage = stage;
      visit(needed, kind);
    }
    if (one.slice == Action::kAllSlices || !causal_slices_) return;
    Action needed = one;
    needed.slice = static_cast<std::int16_t>(one.slice + slice_step);
    if (needed.slice >= 0 && needed.slice < num_slices_) visit(needed, DependencyKind::kStash);
  }

  Sources previous_;
  Sources next_;
  std::vector<SegmentPlace> segments_;
  bool causal_slices_ = false;
  std::int16_t num_slices_ = 0;
};

}  // namespace plumb
