#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "schedules/program/program.hpp"

namespace plumb {

/// The activations of a device that an R has recomputed, part by part: an R and the backward after it may cover
/// different microbatches and slices.
class RecomputedWork {
 public:
  /// The program must outlive this.
  explicit RecomputedWork(const Program& program) : program_(&program) {}

  void note(InstrIndex recompute) {
    for_each(recompute, [&](const Work& work) { made_.insert(work); });
  }

  /// Whether an R has made again what the backward works on, which is forgotten then.
  bool take(InstrIndex backward) {
    bool any = false;
    if (!made_.empty()) for_each(backward, [&](const Work& work) { any = made_.erase(work) > 0 || any; });
    return any;
  }

 private:
  using Work = std::tuple<std::uint32_t, std::size_t, std::size_t>;  ///< holder, microbatch, slice

  template <class Visit>
  void for_each(InstrIndex i, Visit&& visit) const {
    const Instr& instr = program_->instrs[i];
    program_->parts.for_each(instr.action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
      visit(Work{program_->rows[instr.row].holder, microbatch, slice});
    });
  }

  const Program* program_;
  std::set<Work> made_;
};

}  // namespace plumb
