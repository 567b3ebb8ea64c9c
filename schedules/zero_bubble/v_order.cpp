#include "schedules/zero_bubble/v_order.hpp"

#include <algorithm>

namespace plumb {
namespace {

Op op_of(VPass pass, bool fused) {
  if (is_forward(pass)) return Op::kF;
  if (is_weight(pass)) return Op::kW;
  return fused ? Op::kB : Op::kI;
}

/// Runs words: every device as far as it gets, again and again until nothing moves.
class WordRun {
 public:
  WordRun(const std::vector<VWord>& words, const PassCosts& costs)
      : words_(words), costs_(costs), p_(static_cast<std::int32_t>(words.size())), lanes_(words.size()) {
    for (Lane& lane : lanes_) {
      for (auto& ends : lane.ends) ends.reserve(words.front().size() / kVPassCount);
    }
  }

  Ticks longest_device_span() {
    bool done = false;
    for (bool moved = true; moved && !done;) {
      moved = false;
      done = true;
      for (std::int32_t d = 0; d < p_; ++d) {
        while (step(d)) moved = true;
        done = done && lane(d).next == words_[static_cast<std::size_t>(d)].size();
      }
    }
    Ticks longest = done ? 0 : -1;
    for (const Lane& one : lanes_) longest = done ? std::max(longest, one.clock - one.first_start) : longest;
    return longest;
  }

 private:
  struct Lane {
    std::size_t next = 0;
    Ticks clock = 0;
    Ticks first_start = 0;
    std::array<std::vector<Ticks>, kVPassCount> ends;
  };

  Lane& lane(std::int32_t d) { return lanes_[static_cast<std::size_t>(d)]; }

  /// When the input of `pass` of `microbatch` is on device d; -1 while it does not exist.
  Ticks ready(VPass pass, std::int32_t d, std::size_t microbatch) {
    if (pass == VPass::kF0 && d == 0) return 0;
    const bool from_before = goes_down(pass) && d > 0;
    const bool from_behind = goes_up(pass) && d + 1 < p_;
    const std::int32_t source = from_before ? d - 1 : from_behind ? d + 1 : d;
    // On its own device, a pass follows the one before it in the enumeration; W follows its I.
    const std::size_t made_by = source != d ? index(pass) : is_weight(pass) ? index(pass) - 2 : index(pass) - 1;
    const auto& ends = lane(source).ends[made_by];
    if (ends.size() <= microbatch) return -1;
    return ends[microbatch] + (source == d ? 0 : costs_.comm);
  }

  bool step(std::int32_t d) {
    Lane& own = lane(d);
    const VWord& word = words_[static_cast<std::size_t>(d)];
    if (own.next == word.size()) return false;
    const VPass pass = word[own.next];
    const Ticks at = ready(pass, d, own.ends[index(pass)].size());
    if (at < 0) return false;
    const Ticks start = std::max(own.clock, at);
    if (own.next == 0) own.first_start = start;
    own.clock = start + cost_of(pass, costs_.stages[static_cast<std::size_t>(v_stage(pass, d, p_))]).time;
    own.ends[index(pass)].push_back(own.clock);
    ++own.next;
    return true;
  }

  const std::vector<VWord>& words_;
  const PassCosts& costs_;
  std::int32_t p_;
  std::vector<Lane> lanes_;
};

}  // namespace

void require_v_chunks(std::string_view name, const ScheduleParams& params) {
  require(params.chunks == 0 || params.chunks == 2, name,
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2, the two arms of the V");
}

Schedule v_placed_schedule(std::string_view name, const ScheduleParams& params, std::int64_t updates) {
  Schedule schedule = looped_schedule(name, params, 2, updates);
  for (std::int32_t stage = params.num_devices; stage < schedule.num_stages; ++stage) {
    schedule.placement[0][static_cast<std::size_t>(stage)] = {DeviceId{schedule.num_stages - 1 - stage}};
  }
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

Ticks longest_device_span(const std::vector<VWord>& words, const PassCosts& costs) {
  return WordRun(words, costs).longest_device_span();
}

}  // namespace plumb
