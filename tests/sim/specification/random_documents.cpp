#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "schedules/checks/validate.hpp"
#include "schedules/rules/dependency_rules.hpp"
#include "schedules/rules/start_together.hpp"
#include "tests/sim/specification/specification_cases.hpp"

namespace plumb::testing {
namespace {

class DocumentDraw {
 public:
  DocumentDraw(std::mt19937_64& random, bool together) : random_(random), together_(together) {}

  std::optional<Schedule> draw() {
    draw_shape();
    if (together_ && !draw_together()) return std::nullopt;
    draw_parts();
    draw_recompute();
    draw_work();
    if (!place_work()) return std::nullopt;
    if (chance(3)) draw_pairs();
    if (!validate(schedule_).empty()) return std::nullopt;
    return std::move(schedule_);
  }

 private:
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(std::int64_t one_in) { return number(1, one_in) == 1; }

  void draw_shape() {
    Schedule& s = schedule_;
    s.name = "random";
    s.num_devices = static_cast<std::int32_t>(number(1, 4));
    s.num_stages = static_cast<std::int32_t>(number(1, 5));
    const std::int64_t per_update = number(1, 4);
    const bool asynchronous = chance(3);
    s.num_microbatches = per_update * (asynchronous ? number(1, 3) : 1);
    s.microbatches_per_update = {per_update};
    constexpr std::array kPolicies{WeightPolicy::kStash, WeightPolicy::kLatest, WeightPolicy::kVerticalSync};
    if (asynchronous) s.weights.policy = kPolicies[static_cast<std::size_t>(number(0, 2))];
    s.forward_only = !asynchronous && chance(6);
    const auto device = [&] { return DeviceId{static_cast<std::int32_t>(number(0, s.num_devices - 1))}; };
    s.placement.resize(chance(4) ? 2 : 1);
    for (auto& replica : s.placement) {
      for (std::int32_t stage = 0; stage < s.num_stages; ++stage) {
        std::vector<DeviceId> held{device()};
        const DeviceId other = device();
        if (chance(5) && other != held[0]) held.push_back(other);
        replica.push_back(held);
      }
    }
    for (std::int32_t to = 1; s.num_stages > 2 && chance_once_ && to < s.num_stages; ++to) {
      if (!s.stage_edges) s.stage_edges.emplace();
      s.stage_edges->emplace_back(StageId{to - 1}, StageId{to});
      if (to > 1 && chance(2))
        s.stage_edges->emplace_back(StageId{static_cast<std::int32_t>(number(0, to - 2))}, StageId{to});
    }
  }

  /// Two or more stages on devices of their own, none of which leads to another; false where there are too few.
  bool draw_together() {
    Schedule& s = schedule_;
    const std::int32_t most = std::min(s.num_devices, s.num_stages);
    if (most < 2) return false;
    std::vector<StageId> stages;
    for (std::int32_t stage = 0; stage < s.num_stages; ++stage) stages.push_back(StageId{stage});
    std::vector<std::int32_t> devices;
    for (std::int32_t device = 0; device < s.num_devices; ++device) devices.push_back(device);
    std::ranges::shuffle(stages, random_);
    stages.resize(static_cast<std::size_t>(number(2, most)));
    for (auto& replica : s.placement) {
      std::ranges::shuffle(devices, random_);
      for (std::size_t i = 0; i < stages.size(); ++i) replica[index(stages[i])] = {DeviceId{devices[i]}};
    }
    s.start_together = {stages};
    std::vector<std::int64_t> level;
    for (std::int32_t stage = 0; stage < s.num_stages; ++stage) {
      level.push_back(std::ranges::find(stages, StageId{stage}) != stages.end() ? 1 : number(0, 2));
    }
    auto& edges = s.stage_edges.emplace();
    for (std::size_t from = 0; from < level.size(); ++from) {
      for (std::size_t to = 0; to < level.size(); ++to) {
        if (level[from] >= level[to] || chance(3)) continue;
        edges.emplace_back(StageId{static_cast<std::int32_t>(from)}, StageId{static_cast<std::int32_t>(to)});
      }
    }
    return !edges.empty();
  }

  void draw_parts() {
    Schedule& s = schedule_;
    if (chance(4)) {
      Slices slices{chance(2) ? Slices::Axis::kSequence : Slices::Axis::kBatch, {{}}};
      for (std::int64_t i = number(2, 3); i > 0; --i) slices.lengths[0].push_back(number(1, 3));
      s.slices = slices;
    }
    for (std::int64_t k = 0; chance_sizes_ && k < s.num_microbatches; ++k) s.microbatch_sizes.push_back(number(1, 4));
  }

  void draw_recompute() {
    if (schedule_.forward_only || !chance(3)) return;
    Recompute rule;
    rule.last_stage = static_cast<std::int32_t>(number(0, schedule_.num_stages - 1));
    rule.first_stage = static_cast<std::int32_t>(number(0, rule.last_stage));
    rule.except_last_microbatch = chance(3);
    schedule_.recompute.push_back(rule);
    explicit_ = chance(3) && !rule.except_last_microbatch;
  }

  void draw_work() {
    const Schedule& s = schedule_;
    const std::size_t slices = s.slices ? s.slices->lengths[0].size() : 1;
    for (std::int64_t k = 0; k < s.num_microbatches; ++k) {
      const ReplicaId replica{static_cast<std::int16_t>(k % static_cast<std::int64_t>(s.placement.size()))};
      for (std::int32_t stage = 0; stage < s.num_stages; ++stage) {
        const bool split = chance(2);
        const bool whole = !together_ && chance(4);  // one action for all slices
        for (std::size_t slice = 0; slice < (whole ? 1 : slices); ++slice) {
          const auto add = [&](Op op) {
            Action action = action_of(stage, op, k);
            action.replica = replica;
            if (slices > 1 && !whole) action.slice = static_cast<std::int16_t>(slice);
            work_.push_back(action);
          };
          add(Op::kF);
          if (s.forward_only) continue;
          if (explicit_ && s.recompute[0].first_stage <= stage && stage <= s.recompute[0].last_stage) add(Op::kR);
          add(split ? Op::kI : Op::kB);
          if (split) add(Op::kW);
        }
      }
    }
  }

  /// Whether everything that `action` needs by rule is done.
  bool is_ready(const DependencyRules& rules, const Action& action) const {
    bool ready = true;
    rules.for_each(action, [&](const Action& needed, DependencyKind) {
      const bool open = std::ranges::any_of(work_, [&](const Action& left) {
        const bool same_op = needed.op == Op::kB ? is_backward(left.op) : left.op == needed.op;
        const bool same_slice = left.slice == needed.slice || left.slice < 0 || needed.slice < 0;
        return same_op && same_slice && left.stage == needed.stage && left.microbatch == needed.microbatch;
      });
      if (open) ready = false;
    });
    return ready;
  }

  /// Random global order: what is ready goes to the end of its device's list.
  bool place_work() {
    Schedule& s = schedule_;
    constexpr int kMostTries = 200;
    const DependencyRules rules(s);
    const CommonStarts starts(s);
    int tries = 0;
    s.devices.resize(static_cast<std::size_t>(s.num_devices));
    const std::int64_t depth_first = number(1, 4);
    while (!work_.empty()) {
      std::vector<std::size_t> ready;
      for (std::size_t i = 0; i < work_.size(); ++i) {
        if (is_ready(rules, work_[i])) ready.push_back(i);
      }
      if (ready.empty()) return false;
      const std::size_t chosen =
          ready[static_cast<std::size_t>(number(0, std::min<std::int64_t>(depth_first * 2, std::ssize(ready)) - 1))];
      // Of passes that start together all stand behind what any of them needs.
      const auto start = starts.of(work_[chosen]);
      const auto is_taken = [&](const Action& one) { return start && starts.of(one) == start; };
      std::vector<Action> taken;
      std::ranges::copy_if(work_, std::back_inserter(taken), is_taken);
      if (!start) taken.push_back(work_[chosen]);
      if (!std::ranges::all_of(taken, [&](const Action& one) { return is_ready(rules, one); })) {
        if (++tries > kMostTries) return false;
        continue;
      }
      for (const Action& action : taken) {
        std::erase(work_, action);
        const auto device = device_of(s, action.replica, action.stage, static_cast<std::int64_t>(action.microbatch));
        s.devices[index(device)].actions.push_back(action);
      }
    }
    if (!s.forward_only && s.weights.policy == WeightPolicy::kFlush && chance(3)) add_updates();
    return true;
  }

  /// Updates, and sometimes reductions, of some holders at the ends of their lists.
  void add_updates() {
    Schedule& s = schedule_;
    const bool reduces = chance(2);
    for (std::size_t replica = 0; replica < s.placement.size(); ++replica) {
      for (std::int32_t stage = 0; stage < s.num_stages; ++stage) {
        for (const DeviceId device : s.placement[replica][static_cast<std::size_t>(stage)]) {
          if (chance(4)) continue;
          Action action = action_of(stage, Op::kReduceGrad, -1);
          action.replica = ReplicaId{static_cast<std::int16_t>(replica)};
          if (reduces) s.devices[index(device)].actions.push_back(action);
          action.op = Op::kU;
          action.microbatch = MicrobatchId{0};
          s.devices[index(device)].actions.push_back(action);
        }
      }
    }
  }

  void draw_pairs() {
    const CommonStarts starts(schedule_);
    for (DeviceList& list : schedule_.devices) {
      for (std::size_t i = 0; i + 1 < list.actions.size(); ++i) {
        Action& first = list.actions[i];
        const Action& second = list.actions[i + 1];
        if (starts.of(first) || starts.of(second)) continue;
        if (first.stage == second.stage || !can_overlap(first.op) || !can_overlap(second.op) || !chance(3)) continue;
        const bool linked = first.microbatch == second.microbatch;
        if (linked) continue;
        first.overlaps_next = 1;
        ++i;
      }
    }
  }

  std::mt19937_64& random_;
  bool together_;
  Schedule schedule_;
  bool chance_once_ = chance(4);
  bool chance_sizes_ = chance(5);
  bool explicit_ = false;
  std::vector<Action> work_;
};

}  // namespace

std::optional<Schedule> random_document(std::mt19937_64& random, bool together) {
  return DocumentDraw(random, together).draw();
}

}  // namespace plumb::testing
