#include "sim/lanes/metrics.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace plumb {
namespace {

/// Longest period, in updates, that is looked for.
constexpr std::size_t kLongestPeriod = 64;

using Marks = std::span<const UpdateMark>;

/// Sums over devices times the makespan need more than 64 bits.
__extension__ using WideTicks = __int128;

/// Both are exact before they are divided, so that a share near 0 has all its digits.
double ratio(WideTicks part, WideTicks whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// `part / whole` to the nearest tick, halves up.
Ticks nearest_ticks(WideTicks part, WideTicks whole) { return static_cast<Ticks>((2 * part + whole) / (2 * whole)); }

void fill_bubbles(Timeline& timeline) {
  WideTicks busy = 0;
  Ticks most_busy = 0;
  WideTicks useful = 0;
  timeline.longest_device_span = 0;
  WideTicks known = 0;
  for (DeviceSummary& device : timeline.devices) {
    device.idle = timeline.makespan - device.busy;
    if (!device.known) continue;
    ++known;
    busy += device.busy;
    useful += device.useful;
    most_busy = std::max(most_busy, device.busy);
    timeline.longest_device_span = std::max(timeline.longest_device_span, device.last_end - device.first_start);
  }
  const WideTicks area = known * timeline.makespan;
  timeline.bubble_fraction = ratio(area - busy, area);
  timeline.utilization = ratio(useful, area);
  const Ticks span = timeline.longest_device_span;
  timeline.bubble_rate = ratio(span - most_busy, span);
}

/// The marks of every device that has some.
std::vector<Marks> by_device(Marks marks) {
  std::vector<Marks> lists;
  for (auto first = marks.begin(); first != marks.end();) {
    const auto last = std::find_if(first, marks.end(), [&](const UpdateMark& m) { return m.device != first->device; });
    lists.emplace_back(first, last);
    first = last;
  }
  return lists;
}

Ticks synchronous_step(const Timeline& timeline, const std::vector<Marks>& lists) {
  if (timeline.updates <= 1 || lists.empty()) return timeline.makespan;
  Ticks first = 0;
  Ticks last = 0;
  for (const Marks& marks : lists) {
    first = std::max(first, marks.front().end);
    last = std::max(last, marks.back().end);
  }
  return nearest_ticks(last - first, timeline.updates - 1);
}

/// Drops the marks after which the pipeline drains.
std::vector<Marks> steady_part(std::vector<Marks> lists) {
  for (Marks& marks : lists) {
    const auto draining = std::ranges::find(marks, false, &UpdateMark::forward_ahead);
    marks = marks.first(static_cast<std::size_t>(draining - marks.begin()));
  }
  return lists;
}

/// Whether the interval that ends `back` updates before the end equals the one `period` updates earlier, on every
/// device.
bool repeats(const std::vector<Marks>& lists, std::size_t back, std::size_t period) {
  return std::ranges::all_of(lists, [&](const Marks& marks) {
    const std::size_t at = marks.size() - 1 - back;
    const UpdateMark& end = marks[at];
    const UpdateMark& begin = marks[at - 1];
    const UpdateMark& earlier_end = marks[at - period];
    const UpdateMark& earlier_begin = marks[at - period - 1];
    return end.end - begin.end == earlier_end.end - earlier_begin.end &&
           end.useful - begin.useful == earlier_end.useful - earlier_begin.useful;
  });
}

/// Number of intervals at the end that are whole periods of something that repeats; nothing where none is found.
std::optional<std::size_t> repeating_intervals(const std::vector<Marks>& lists, std::size_t count) {
  const std::size_t intervals = count - 1;
  for (std::size_t period = 1; period <= std::min(intervals / 2, kLongestPeriod); ++period) {
    std::size_t run = 0;
    while (run + period < intervals && repeats(lists, run, period)) ++run;
    if (run >= period) return (run + period) / period * period;
  }
  return std::nullopt;
}

bool have_one_pace(const std::vector<Marks>& all) {
  const std::int64_t made = all.front().back().made;
  return std::ranges::all_of(all, [&](const Marks& marks) { return marks.back().made == made; });
}

std::size_t fewest_marks(const std::vector<Marks>& lists) {
  const auto size = [](const Marks& marks) { return marks.size(); };
  return size(*std::ranges::min_element(lists, {}, size));
}

/// Of every device the marks from the first to the last one that counts; nothing where some device has too few.
std::vector<Marks> counted_marks(const std::vector<Marks>& all, std::size_t num_devices) {
  if (all.size() != num_devices) return {};
  std::vector<Marks> lists = steady_part(all);
  const std::size_t fewest = fewest_marks(lists);
  if (fewest < 2) return {};
  const auto found = have_one_pace(all) ? repeating_intervals(lists, fewest) : std::nullopt;
  WideTicks time = 0;
  for (Marks& marks : lists) {
    if (found) marks = marks.last(*found + 1);
    time += marks.back().end - marks.front().end;
  }
  if (time <= 0) return {};
  return lists;
}

double steady_utilization(const std::vector<Marks>& counted) {
  double useful = 0;
  double time = 0;
  for (const Marks& marks : counted) {
    useful += static_cast<double>(marks.back().useful - marks.front().useful);
    time += static_cast<double>(marks.back().end - marks.front().end);
  }
  return useful / time;
}

/// Time of an update on the device where it takes longest. A device may make more updates than the run, or fewer.
void fill_steady_step(Timeline& timeline, const std::vector<Marks>& all, const std::vector<Marks>& counted) {
  timeline.step_time = 0;
  for (std::size_t d = 0; d < counted.size(); ++d) {
    const UpdateMark& begin = counted[d].front();
    const UpdateMark& end = counted[d].back();
    const WideTicks time = WideTicks{end.end - begin.end} * all[d].back().made;
    const Ticks step = nearest_ticks(time, WideTicks{end.made - begin.made} * timeline.updates);
    if (step <= timeline.step_time) continue;
    timeline.step_time = step;
    if (!timeline.spans.empty()) timeline.steady_updates = SteadyUpdates{begin.device, begin.made - 1, end.made - 1};
  }
}

void fill_asynchronous(Timeline& timeline, const std::vector<Marks>& lists) {
  timeline.asynchronous = true;
  const std::vector<Marks> counted = counted_marks(lists, timeline.devices.size());
  if (counted.empty()) {
    timeline.step_time = nearest_ticks(timeline.makespan, std::max<std::int64_t>(1, timeline.updates));
    return;
  }
  timeline.steady = true;
  timeline.utilization = steady_utilization(counted);
  fill_steady_step(timeline, lists, counted);
}

void fill_throughput(Timeline& timeline, const WorkUnits& work) {
  const double ticks_per_s = static_cast<double>(timeline.base.ticks_per_ns) * 1e9;
  const double step_s = static_cast<double>(timeline.step_time) / ticks_per_s;
  if (step_s <= 0) return;
  const auto updates = static_cast<double>(std::max<std::int64_t>(1, timeline.updates));
  const double microbatches_per_s = static_cast<double>(timeline.num_microbatches) / updates / step_s;
  const auto samples = static_cast<double>(work.samples_per_microbatch);
  const auto tokens = static_cast<double>(work.tokens_per_microbatch);
  const double peak = work.peak_flops_per_s * static_cast<double>(timeline.devices.size());
  if (work.samples_per_microbatch > 0) timeline.samples_per_s = microbatches_per_s * samples;
  if (work.tokens_per_microbatch > 0) timeline.tokens_per_s = microbatches_per_s * tokens;
  if (work.model_flops_per_microbatch > 0 && peak > 0) {
    timeline.model_flops_utilization = microbatches_per_s * work.model_flops_per_microbatch / peak;
  }
}

}  // namespace

std::int64_t count_updates(std::int64_t num_microbatches, std::span<const std::int64_t> per_update, bool forward_only) {
  if (forward_only || per_update.empty() || per_update.front() <= 0) return 1;
  return std::max<std::int64_t>(1, num_microbatches / per_update.front());
}

bool tell_steady_updates(std::span<const UpdateMark> marks, std::size_t num_devices) {
  const std::vector<Marks> all = by_device(marks);
  const auto complete = [](const Marks& of) { return of.back().made == std::ssize(of); };
  if (all.size() != num_devices || std::ranges::all_of(all, complete) || !have_one_pace(all)) return true;
  const std::vector<Marks> lists = steady_part(all);
  const std::size_t fewest = fewest_marks(lists);
  return fewest >= 2 && repeating_intervals(lists, fewest).has_value();
}

void fill_metrics(Timeline& timeline, const WorkUnits& work, bool asynchronous, std::span<const UpdateMark> marks) {
  fill_bubbles(timeline);
  const std::vector<Marks> lists = by_device(marks);
  if (asynchronous) {
    fill_asynchronous(timeline, lists);
  } else {
    timeline.step_time = synchronous_step(timeline, lists);
  }
  fill_throughput(timeline, work);
}

}  // namespace plumb
