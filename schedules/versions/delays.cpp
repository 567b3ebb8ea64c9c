#include "schedules/versions/delays.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {
namespace {

/// What happened to a slice of a microbatch on a holder.
struct Passage {
  std::int64_t backwards_before = 0;  ///< backwards of the holder before its forward, and ...
  std::int64_t distance = 0;          ///< ... between its forward and its backward
  std::int32_t forward = 0;           ///< versions read
  std::int32_t backward = 0;
  std::optional<std::int32_t> recompute;
  std::optional<std::int32_t> teacher;  ///< of its teacher: the newest in its mean
  std::int32_t applied_to = 0;          ///< the version that the update with its gradient changes
};

/// One holder's passages, in order of their forwards.
class HolderDelays {
 public:
  /// `unsteady` by microbatch; added to, shared by all holders.
  HolderDelays(const Schedule& schedule, const Program& program, StageId stage, std::vector<bool>& unsteady)
      : schedule_(schedule), program_(program), stage_(stage), unsteady_(unsteady) {}

  void visit(InstrIndex at) {
    const Action& action = program_.instrs[at].action;
    if (action.op == Op::kU) ++updates_;
    if (action.op == Op::kReduceGrad) ++reduced_;
    if (program_.rows[program_.instrs[at].row].taught >= 0) teach(program_.work_of(at));
    const bool works = action.op == Op::kF || action.op == Op::kR || is_backward(action.op) || action.op == Op::kW;
    if (!works) return;
    const std::int32_t read = program_.version_read.empty() ? updates_ : program_.version_read[at];
    const bool folded = program_.rows[program_.instrs[at].row].recompute && is_backward(action.op);
    program_.parts.for_each(action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
      Passage& passage = passages_[{microbatch, slice}];
      if (action.op == Op::kF) start(passage, microbatch, read);
      if (action.op == Op::kR || folded) passage.recompute = read;
      if (is_backward(action.op)) finish(passage, microbatch, read);
      const std::int32_t update = update_of(microbatch);
      const bool one_waits = updates_ < update && update <= reduced_;
      passage.applied_to = updates_ + (one_waits ? 1 : 0);
    });
  }

  /// Whether the pipeline is full in an update, by the update that a gradient is applied in.
  std::map<std::int32_t, bool> steady_updates() const {
    std::map<std::int32_t, bool> steady;
    for (const auto& [key, passage] : passages_) {
      bool& all = steady.try_emplace(passage.applied_to, true).first->second;
      all = all && !unsteady_[key.first];
    }
    return steady;
  }

  bool is_ever_steady() const {
    return std::ranges::any_of(steady_updates(), [](const auto& entry) { return entry.second; });
  }

  void count(StageDelays& delays) const {
    const std::map<std::int32_t, bool> steady = steady_updates();
    const bool any = is_ever_steady();
    for (const auto& [key, passage] : passages_) {
      if (any && !steady.at(passage.applied_to)) continue;
      ++delays.distance[passage.distance];
      ++delays.forward[passage.applied_to - passage.forward];
      ++delays.backward[passage.applied_to - passage.backward];
      if (passage.recompute) ++delays.recompute[passage.applied_to - *passage.recompute];
      if (passage.teacher) ++delays.teacher[passage.applied_to - *passage.teacher];
    }
  }

 private:
  std::int32_t update_of(std::size_t microbatch) const {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(microbatch) / schedule_.per_update(stage_));
  }

  /// Whether the microbatch belongs to a phase that flushes.
  bool flushes(std::size_t microbatch) const {
    return schedule_.weights.phase_policy(update_of(microbatch)) == WeightPolicy::kFlush;
  }

  /// A teacher takes in every update but the one before its own (schedules/checks/check_teacher.cpp).
  void teach(const Action& forward) {
    program_.parts.for_each(forward, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
      passages_[{microbatch, slice}].teacher = std::max(0, update_of(microbatch) - 1);
    });
  }

  void start(Passage& passage, std::size_t microbatch, std::int32_t read) {
    passage.backwards_before = backwards_;
    passage.forward = read;
    if (!full_ || flushes(microbatch)) unsteady_[microbatch] = true;
  }

  void finish(Passage& passage, std::size_t microbatch, std::int32_t read) {
    passage.distance = backwards_++ - passage.backwards_before;
    passage.backward = read;
    full_ = full_ || !flushes(microbatch);
  }

  const Schedule& schedule_;
  const Program& program_;
  StageId stage_;
  std::vector<bool>& unsteady_;
  std::map<std::pair<std::size_t, std::size_t>, Passage> passages_;
  std::int32_t updates_ = 0;
  std::int32_t reduced_ = 0;
  std::int64_t backwards_ = 0;
  bool full_ = false;
};

/// An overlapped pair reads before anything of it is done, so its forward goes first.
bool comes_late(const Program& program, InstrIndex at) {
  const Action& first = program.instrs[at].action;
  return first.overlaps_next != 0 && is_backward(first.op) && !is_backward(program.instrs[at + 1].action.op);
}

/// Most versions of its weights that each holder keeps at once.
std::vector<std::int64_t> most_versions(const Program& program) {
  std::vector<std::map<InstrIndex, std::int64_t>> changes(program.holders.size());
  for (const KeptVersion& kept : program.kept_versions) {
    ++changes[kept.holder][kept.replaced_by];
    --changes[kept.holder][kept.last_reader];
  }
  std::vector<std::int64_t> most;
  for (const auto& steps : changes) {
    std::int64_t alive = 1;
    most.push_back(alive);
    for (const auto& [at, step] : steps) most.back() = std::max(most.back(), alive += step);
  }
  return most;
}

StageDelays described(const Program& program, std::uint32_t holder, std::int64_t versions) {
  StageDelays delays;
  delays.replica = program.holders[holder].replica;
  delays.stage = program.holders[holder].stage;
  delays.device = program.holders[holder].device;
  delays.versions = versions;
  delays.copies = versions + program.holders[holder].correction_buffers;
  const bool in_bytes = !program.memory.empty() && program.memory_units_per_one == 0;
  if (in_bytes) delays.bytes = delays.copies * program.memory[index(delays.stage)].updated_bytes();
  return delays;
}

}  // namespace

double mean_delay(const DelayCounts& counts) {
  double sum = 0;
  double number = 0;
  for (const auto& [value, times] : counts) {
    sum += static_cast<double>(value) * static_cast<double>(times);
    number += static_cast<double>(times);
  }
  return number == 0 ? 0 : sum / number;
}

namespace {

/// What passes through every holder of the program.
std::vector<HolderDelays> passages(const Schedule& schedule, const Program& program, std::vector<bool>& unsteady) {
  std::vector<HolderDelays> holders;
  unsteady.assign(static_cast<std::size_t>(program.num_microbatches), false);
  for (const Holder& holder : program.holders) holders.emplace_back(schedule, program, holder.stage, unsteady);
  const auto visit = [&](InstrIndex at) { holders[program.rows[program.instrs[at].row].holder].visit(at); };
  for (InstrIndex at = 0; at < program.size(); ++at) {
    if (comes_late(program, at)) {
      visit(at + 1);
      visit(at++);
    } else {
      visit(at);
    }
  }
  return holders;
}

}  // namespace

bool reaches_steady_state(const Schedule& schedule, const Program& program) {
  std::vector<bool> unsteady;
  return std::ranges::all_of(passages(schedule, program, unsteady),
                             [](const HolderDelays& holder) { return holder.is_ever_steady(); });
}

std::vector<StageDelays> stage_delays(const Schedule& schedule, const Program& program) {
  std::vector<bool> unsteady;
  const std::vector<HolderDelays> holders = passages(schedule, program, unsteady);
  const std::vector<std::int64_t> versions = most_versions(program);
  std::vector<StageDelays> all;
  for (std::uint32_t holder = 0; holder < program.holders.size(); ++holder) {
    all.push_back(described(program, holder, versions[holder]));
    holders[holder].count(all.back());
  }
  std::ranges::sort(all, {}, [](const StageDelays& d) { return std::tuple(d.replica, d.stage, d.device); });
  return all;
}

}  // namespace plumb
