#include "sim/traces/readers/work_order.hpp"

#include <algorithm>
#include <tuple>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"

namespace plumb {
namespace {

std::string quoted(const Action& action) {
  std::string text = "'";
  append_text(text, action);
  return text + "'";
}

}  // namespace

void put_host_in_order(RankRun& run) {
  for (TracedAction& work : run.work) work.start_ns = std::min(work.start_ns, work.end_ns);
  std::ranges::stable_sort(run.work, {}, &TracedAction::start_ns);
  for (std::size_t k = 1; k < run.work.size(); ++k) {
    const TracedAction& before = run.work[k - 1];
    const TracedAction& work = run.work[k];
    if (work.start_ns >= before.end_ns) continue;
    throw Error(run.file + ": " + quoted(work.action) + " begins before " + quoted(before.action) +
                " ends; expected one action of a rank at a time");
  }
}

void put_device_in_order(RankRun& run) {
  std::ranges::stable_sort(run.work, {}, [](const TracedAction& work) { return std::tuple(work.step, work.start_ns); });
  const TracedAction* before = nullptr;
  for (TracedAction& work : run.work) {
    const bool first = before == nullptr || (run.own_zeros && before->step != work.step);
    const std::int64_t free = first ? work.start_ns : before->end_ns;
    work.start_ns = std::max(work.start_ns, free);
    work.end_ns = std::max(work.end_ns, work.start_ns);
    work.begin_ns = std::clamp(work.begin_ns, free, work.start_ns);
    before = &work;
  }
}

}  // namespace plumb
