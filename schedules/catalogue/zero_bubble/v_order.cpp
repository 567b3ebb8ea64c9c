#include "schedules/catalogue/zero_bubble/v_order.hpp"

#include <algorithm>

#include "schedules/catalogue/v_placement.hpp"
#include "schedules/program/lane_run.hpp"

namespace plumb {
namespace {

Op op_of(VPass pass, bool fused) {
  if (is_forward(pass)) return Op::kF;
  if (is_weight(pass)) return Op::kW;
  return fused ? Op::kB : Op::kI;
}

}  // namespace

void require_v_chunks(std::string_view name, const ScheduleParams& params) {
  require(params.chunks == 0 || params.chunks == 2, name,
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2, the two arms of the V");
}

Schedule v_placed_schedule(std::string_view name, const ScheduleParams& params, std::int64_t updates) {
  Schedule schedule = looped_schedule(name, params, 2, updates);
  place_in_v(schedule);
  return schedule;
}

Schedule v_schedule(std::string_view name, const ScheduleParams& params, const std::vector<VWord>& words, bool fused) {
  const std::int64_t updates = updates_or(params, 1);
  const std::int32_t p = params.num_devices;
  Schedule schedule = v_placed_schedule(name, params, updates);
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      std::array<std::int64_t, kVPassCount> next{};
      for (const VPass pass : words[static_cast<std::size_t>(d)]) {
        if (fused && is_weight(pass)) continue;
        list.add(StageId{v_stage(pass, d, p)}, op_of(pass, fused), next[index(pass)]++);
      }
      list.add(StageId{d}, Op::kU, 0);
      list.add(StageId{2 * p - 1 - d}, Op::kU, 0);
    }));
  }
  return schedule;
}

std::vector<OrderWord> order_words(const std::vector<VWord>& words) {
  std::vector<OrderWord> result(words.size());
  for (std::size_t d = 0; d < words.size(); ++d) {
    for (const VPass pass : words[d]) result[d].push_back(static_cast<std::uint8_t>(pass));
  }
  return result;
}

std::vector<VWord> v_words(const std::vector<OrderWord>& words) {
  std::vector<VWord> result(words.size());
  for (std::size_t d = 0; d < words.size(); ++d) {
    for (const std::uint8_t kind : words[d]) result[d].push_back(static_cast<VPass>(kind));
  }
  return result;
}

WordTimer::WordTimer(const PassCosts& costs, std::int64_t num_microbatches)
    : costs_(costs),
      p_(static_cast<std::int32_t>(costs.stages.size() / 2)),
      num_microbatches_(static_cast<std::size_t>(num_microbatches)),
      lanes_(costs.stages.size() / 2),
      ends_(kVPassCount * lanes_.size() * num_microbatches_) {}

bool WordTimer::run(const std::vector<VWord>& words) {
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    lanes_[d].clock = 0;
    lanes_[d].starts.clear();
    lanes_[d].counts = {};
  }
  run_in_turns(lanes_.size(), [&](std::size_t d) { return step(static_cast<std::int32_t>(d), words[d]); });
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    if (lanes_[d].starts.size() < words[d].size()) return false;
  }
  return true;
}

bool WordTimer::step(std::int32_t d, const VWord& word) {
  Lane& own = lanes_[static_cast<std::size_t>(d)];
  if (own.starts.size() == word.size()) return false;
  const VPass pass = word[own.starts.size()];
  const std::size_t microbatch = own.counts[index(pass)];
  Ticks start = own.clock;
  const bool remote = (goes_down(pass) && d > 0) || (goes_up(pass) && d + 1 < p_);
  if (remote) {
    const std::int32_t source = goes_down(pass) ? d - 1 : d + 1;
    if (lanes_[static_cast<std::size_t>(source)].counts[index(pass)] <= microbatch) return false;
    start = std::max(start, end_of(pass, source, microbatch) + costs_.comm);
  } else if (pass != VPass::kF0) {
    // On its own device, a pass follows the one before it in the enumeration; W follows its I.
    const std::size_t made_by = is_weight(pass) ? index(pass) - 2 : index(pass) - 1;
    if (own.counts[made_by] <= microbatch) return false;
  }
  own.starts.push_back(start);
  own.clock = start + cost_of(pass, costs_.stages[static_cast<std::size_t>(v_stage(pass, d, p_))]).time;
  end_of(pass, d, microbatch) = own.clock;
  ++own.counts[index(pass)];
  return true;
}

Ticks WordTimer::longest_device_span() const {
  Ticks longest = 0;
  for (const Lane& lane : lanes_) {
    if (!lane.starts.empty()) longest = std::max(longest, lane.clock - lane.starts.front());
  }
  return longest;
}

}  // namespace plumb
