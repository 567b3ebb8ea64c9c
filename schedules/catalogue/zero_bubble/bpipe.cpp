#include <algorithm>
#include <set>
#include <string>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/pass_costs.hpp"

namespace plumb {
namespace {

/// Writes the list of one device of 1F1B, with at most `most` stashes of its own at a time: what is too much, newest
/// first, waits on `partner`.
class EvictingWriter {
 public:
  EvictingWriter(ListBuilder& list, StageId stage, DeviceId partner, std::int64_t most)
      : list_(list), stage_(stage), partner_(partner), most_(most) {}

  /// `warmup` forwards, then pairs, then the remaining backwards. `ahead`: a stash comes back before the forward in
  /// front of its backward, otherwise after it.
  void write(std::int64_t m, std::int64_t warmup, bool ahead) {
    for (std::int64_t k = 0; k < warmup; ++k) forward(k);
    for (std::int64_t k = 0; k < m; ++k) {
      if (ahead) bring_back(k);
      if (warmup + k < m) forward(warmup + k);
      bring_back(k);
      list_.add(stage_, Op::kB, k);
      here_.erase(k);
    }
    list_.add(stage_, Op::kU, 0);
  }

 private:
  void forward(std::int64_t microbatch) {
    make_room();
    list_.add(stage_, Op::kF, microbatch);
    here_.insert(microbatch);
  }

  void make_room() {
    if (std::ssize(here_) < most_) return;
    const std::int64_t newest = *here_.rbegin();
    move(Op::kEvict, newest);
    here_.erase(newest);
    away_.insert(newest);
  }

  void bring_back(std::int64_t microbatch) {
    if (away_.erase(microbatch) == 0) return;
    make_room();
    move(Op::kLoad, microbatch);
    here_.insert(microbatch);
  }

  void move(Op op, std::int64_t microbatch) {
    Action action;
    action.stage = stage_;
    action.op = op;
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(microbatch)};
    action.where = static_cast<std::int16_t>(partner_);
    list_.add_all({&action, 1});
  }

  ListBuilder& list_;
  StageId stage_;
  DeviceId partner_;
  std::int64_t most_;
  std::set<std::int64_t> here_;
  std::set<std::int64_t> away_;
};

}  // namespace

/// 1F1B in which early devices park stashes on late ones: device d < p / 2 moves the newest stash to device p - 1 - d
/// before a forward that would exceed ceil((p + 2) / 2), and loads it back before its backward. Every device keeps at
/// most ceil((p + 2) / 2) activations, guests included, instead of p. Any p and m.
/// `load=ahead`: loads overlap the forward in front of the backward; `load=late`: just in time, with the fewest moves.
/// (Kim et al., BPipe, ICML 2023; which stash goes and the bound follow "Re-evaluating the memory-balanced pipeline
/// parallelism", arXiv 2401.02088: no code is released)
///
///   p = 4, m = 4: at most 3 activations, and device 0 would keep 4
///   d0: 0F0 0F1 0F2 0EVICT2@3 0F3 0B0 0B1 0LOAD2@3 0B2 0B3 0U0
///   d1: 1F0 1F1 1F2 1B0 1F3 1B1 1B2 1B3 1U0
///   d2: 2F0 2F1 2B0 2F2 2B1 2F3 2B2 2B3 2U0
///   d3: 3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 3U0
Schedule bpipe(const ScheduleParams& params) {
  require_one_chunk("bpipe", params);
  require_searchable("bpipe", params, params.num_devices);
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(p <= 32767, "bpipe", "num_devices (" + std::to_string(p) + ") must be at most 32767");
  const bool ahead = choice("bpipe", params, "load", {"ahead", "late"}) == "ahead";
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("bpipe", params, 1, updates);
  for (std::int32_t d = 0; d < p; ++d) {
    const std::int64_t most = (p + 3) / 2;
    const std::int64_t warmup = std::min<std::int64_t>(p - 1 - d, m);
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      EvictingWriter(list, StageId{d}, DeviceId{p - 1 - d}, most).write(m, warmup, ahead);
    }));
  }
  return schedule;
}

}  // namespace plumb
