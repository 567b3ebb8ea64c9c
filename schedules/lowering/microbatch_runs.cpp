#include "schedules/lowering/microbatch_runs.hpp"

#include <algorithm>

namespace plumb::lowering {

void MicrobatchRuns::add(std::int64_t first, std::int64_t step, std::int64_t count) {
  while (count > 0) {
    if (runs_.empty() || (runs_.back().count > 1 && first != runs_.back().last() + runs_.back().step)) {
      runs_.push_back({first, 0, 0});
    }
    Run& run = runs_.back();
    if (run.count == 1) run.step = first - run.first;
    // The first number always fits here; those behind it do where the steps are equal.
    const std::int64_t taken = run.count > 0 && run.step == step ? count : 1;
    run.count += taken;
    first += step * taken;
    count -= taken;
  }
}

bool MicrobatchRuns::within(std::int64_t end) const {
  return std::ranges::all_of(runs_, [&](const Run& run) {
    return std::min(run.first, run.last()) >= 0 && std::max(run.first, run.last()) < end;
  });
}

std::int64_t MicrobatchRuns::size() const {
  std::int64_t size = 0;
  for (const Run& run : runs_) size += run.count;
  return size;
}

}  // namespace plumb::lowering
