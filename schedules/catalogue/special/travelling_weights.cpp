#include "schedules/catalogue/special/travelling_weights.hpp"

#include <string>
#include <vector>

namespace plumb {
namespace {

constexpr std::int64_t kMostMarks = std::int64_t{1} << 20;

Action of_worker(std::int64_t worker, std::int64_t stage, Op op, std::int64_t number) {
  return ListBuilder::action(StageId{static_cast<std::int32_t>(stage)}, op, number,
                             ReplicaId{static_cast<std::int16_t>(worker)});
}

/// One worker's list.
class WorkerList {
 public:
  WorkerList(const TravellingTurns& turns, std::int64_t worker, bool ends, std::int64_t extra)
      : turns_(turns), worker_(worker), ends_(ends), extra_(extra) {}

  DeviceList write() {
    for (std::int64_t update = 0; update < turns_.updates; ++update) {
      for (std::int64_t turn = 0; turn < turns_.turns() + extra_; ++turn) write_turn(update, turn);
      for (std::int64_t stage = turns_.p; stage-- > 0;) add(stage, Op::kU, update);
    }
    return list_.take();
  }

 private:
  void write_turn(std::int64_t update, std::int64_t turn) {
    put(mark(turns_, {worker_, update, turn, false}, extra_));
    const std::int64_t start = turns_.start(worker_);
    const std::int64_t first = (update * turns_.p + worker_) * turns_.passes;
    if (turns_.has_backward(start, turn)) {
      const std::int64_t stage = turns_.backward_stage(start, turn);
      const std::int64_t pass = (turn - turns_.p - start) / turns_.p;
      add(stage, Op::kB, first + pass);
      if (pass + 1 == turns_.passes) {
        list_.add_collective(StageId{static_cast<std::int32_t>(stage)}, Op::kReduceGrad, replica());
      }
    }
    if (turns_.has_forward(start, turn)) {
      add(turns_.forward_stage(start, turn), Op::kF, first + (turn - start) / turns_.p);
    }
    if (ends_) put(mark(turns_, {worker_, update, turn, true}, extra_));
  }

  ReplicaId replica() const { return ReplicaId{static_cast<std::int16_t>(worker_)}; }
  void put(const Action& action) { list_.add_all(std::span(&action, 1)); }
  void add(std::int64_t stage, Op op, std::int64_t number) { put(of_worker(worker_, stage, op, number)); }

  const TravellingTurns& turns_;
  std::int64_t worker_;
  bool ends_;
  std::int64_t extra_;
  ListBuilder list_{};
};

}  // namespace

TravellingTurns travelling_turns(std::string_view name, const ScheduleParams& params, std::int64_t group) {
  require_one_chunk(name, params);
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(m % p == 0, name,
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of num_devices (" + std::to_string(p) + ")");
  require(p <= 1024, name, "num_devices (" + std::to_string(p) + ") must be at most 1024");
  const TravellingTurns turns{p, m / p, group, updates_or(params, 1)};
  require(turns.updates <= kMostMarks && turns.turns() <= kMostMarks / p / turns.updates, name,
          "(m + 2p) x p x updates must be at most 2^20");
  return turns;
}

Schedule travelling_frame(std::string_view name, const ScheduleParams& params, const TravellingTurns& turns) {
  Schedule schedule = looped_schedule(name, params, 1, turns.updates);
  schedule.placement.clear();
  for (std::int32_t worker = 0; worker < params.num_devices; ++worker) {
    schedule.placement.emplace_back(static_cast<std::size_t>(turns.p), std::vector{DeviceId{worker}});
  }
  return schedule;
}

Action mark(const TravellingTurns& turns, const TurnMark& of, std::int64_t extra) {
  const std::int64_t number = 2 * (of.update * (turns.turns() + extra) + of.turn) + (of.at_end ? 1 : 0);
  return of_worker(of.worker, of.worker, Op::kX, number);  // of a stage of its own
}

void write_workers(Schedule& schedule, const TravellingTurns& turns, bool ends, std::int64_t extra) {
  for (std::int64_t worker = 0; worker < turns.p; ++worker) {
    schedule.devices.push_back(WorkerList(turns, worker, ends, extra).write());
  }
  const std::int64_t marks = 2 * turns.updates * (turns.turns() + extra);
  for (std::int64_t number = 0; number < marks; number += ends ? 1 : 2) {
    schedule.extras["X" + std::to_string(number)] = ExtraWork{.units = 0};
  }
}

}  // namespace plumb
