#include "sim/order_search/shape_schedule.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kNsPerUnit = 1'000'000;

class ShapeDocument {
 public:
  ShapeDocument(const BlockProblem& problem, std::int64_t num_microbatches)
      : problem_(problem), all_(num_microbatches), stage_of_(problem.blocks.size(), -1) {
    schedule_.name = "blocks";
    schedule_.num_devices = problem.num_devices;
    schedule_.num_microbatches = num_microbatches;
    schedule_.microbatches_per_update = {num_microbatches};
    schedule_.placement.emplace_back();
    for (std::int32_t b = 0; b < problem.size(); ++b) {
      const WorkBlock& block = problem.block(b);
      if (block.action.op == Op::kX) shared_.push_back(b);
      if (block.action.op != Op::kF) continue;
      stage_of_[index(block.action.stage)] = schedule_.num_stages++;
      schedule_.placement[0].push_back({DeviceId{block.devices.front()}});
    }
    add_stage_edges();
  }

  Schedule write(const BlockOrders& orders) {
    schedule_.devices.resize(orders.size());
    for (std::size_t d = 0; d < orders.size(); ++d) {
      for (const BlockRun& run : orders[d]) add(static_cast<std::int32_t>(d), run);
    }
    for (std::size_t s = 0; s < shared_.size(); ++s) {
      for (std::int64_t k = 0; k < all_; ++k) add_meeting(s, k);
    }
    return std::move(schedule_);
  }

 private:
  void add_stage_edges() {
    for (const WorkBlock& block : problem_.blocks) {
      for (const WorkBlock::Input& input : block.inputs) {
        const WorkBlock& from = problem_.block(input.block);
        if (block.action.op != Op::kF || from.action.op != Op::kF) continue;
        schedule_.stage_edges.emplace_back(stage(from), stage(block));
      }
    }
    if (schedule_.stage_edges.empty() && schedule_.num_stages > 1) {
      throw Error("blocks: none of " + std::to_string(schedule_.num_stages) +
                  " stages follows another, expected more devices");
    }
  }

  StageId stage(const WorkBlock& block) const { return StageId{stage_of_[index(block.action.stage)]}; }

  /// Some stage of a device, for its extra work.
  StageId stage_on(std::int32_t device) const {
    const auto& stages = schedule_.placement[0];
    const auto found = std::ranges::find_if(stages, [&](const auto& on) { return on.front() == DeviceId{device}; });
    if (found == stages.end()) throw Error("blocks: device " + std::to_string(device) + " holds no stage");
    return StageId{static_cast<std::int32_t>(found - stages.begin())};
  }

  std::size_t shared_number(std::int32_t block) const {
    return static_cast<std::size_t>(std::ranges::find(shared_, block) - shared_.begin());
  }

  /// The X of shared block `s` on a device: where its devices meet, and its work.
  Action meeting(std::int32_t device, std::size_t s, std::int64_t k) const { return extra(device, 2 * s, k); }
  Action work(std::int32_t device, std::size_t s, std::int64_t k) const { return extra(device, 2 * s + 1, k); }
  Action extra(std::int32_t device, std::size_t kind, std::int64_t k) const {
    return plumb::action_of(static_cast<std::int32_t>(stage_on(device)), Op::kX,
                            static_cast<std::int64_t>(kind) * all_ + k);
  }

  void add(std::int32_t device, const BlockRun& run) {
    const WorkBlock& block = problem_.block(run.block);
    std::vector<Action>& list = schedule_.devices[static_cast<std::size_t>(device)].actions;
    if (block.action.op == Op::kX) {
      const std::size_t s = shared_number(run.block);
      list.push_back(meeting(device, s, run.microbatch));
      list.push_back(work(device, s, run.microbatch));
      return;
    }
    list.push_back(plumb::action_of(static_cast<std::int32_t>(stage(block)), block.action.op, run.microbatch));
  }

  /// All devices of a shared block wait for each other; the lists say the rest.
  void add_meeting(std::size_t s, std::int64_t k) {
    const WorkBlock& block = problem_.block(shared_[s]);
    const auto declare = [&](const Action& action, std::int64_t time_ns) {
      schedule_.extras["X" + std::to_string(static_cast<std::int32_t>(action.microbatch))] = {
          .kind = ExtraWork::Kind::kTime, .time_ns = time_ns};
    };
    declare(meeting(block.devices.front(), s, k), 0);
    declare(work(block.devices.front(), s, k), block.time * kNsPerUnit);
    for (const std::int32_t one : block.devices) {
      for (const std::int32_t other : block.devices) {
        if (one != other) schedule_.extra_edges.push_back({meeting(one, s, k), work(other, s, k)});
      }
    }
  }

  const BlockProblem& problem_;
  std::int64_t all_;
  std::vector<std::int32_t> stage_of_;  ///< by `action.stage` of a block
  std::vector<std::int32_t> shared_;    ///< blocks
  Schedule schedule_;
};

}  // namespace

Schedule shape_schedule(const BlockProblem& problem, const BlockOrders& orders, std::int64_t num_microbatches) {
  return ShapeDocument(problem, num_microbatches).write(orders);
}

}  // namespace plumb
