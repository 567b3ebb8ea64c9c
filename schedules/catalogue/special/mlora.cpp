#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/run_time_rule.hpp"

namespace plumb {
namespace {

constexpr std::string_view kMlora = "mlora";
constexpr std::int64_t kMostAdapters = 1024;

/// Jobs whose batches go through the same chain of stages. Batch u of job j is microbatches u m + j n to u m + (j + 1)
/// n - 1, where each job has n of the m microbatches of an update.
struct JobBatches {
  std::int64_t jobs = 0;
  std::int64_t each = 0;  ///< n
  std::int64_t updates = 0;

  std::int64_t per_update() const { return jobs * each; }
  std::int64_t job(std::int64_t microbatch) const { return microbatch % per_update() / each; }
  std::int64_t update(std::int64_t microbatch) const { return microbatch / per_update(); }
  std::int64_t first(std::int64_t job, std::int64_t update) const { return update * per_update() + job * each; }
};

/// A device takes the backward that arrived first; without one, the forward that did. The first device has the next
/// batch of a job from the moment on at which it has ended the last backward of the batch before; by `first_job` it
/// takes the first job that has one instead of the one that has waited longest.
class BackwardFirst final : public RunTimeRule {
 public:
  BackwardFirst(const JobBatches& batches, ChainTimes times, bool first_job)
      : batches_(batches),
        times_(std::move(times)),
        first_job_(first_job),
        last_(static_cast<std::int32_t>(times_.forward.size()) - 1),
        waiting_(times_.forward.size()),
        ended_(static_cast<std::size_t>(batches.jobs), 0) {
    for (std::int64_t job = 0; job < batches.jobs; ++job) admit(job, 0, 0);
  }

  void arrive(std::int32_t device, const Action& work, Ticks) override {
    Waiting& at = waiting_[static_cast<std::size_t>(device)];
    (work.op == Op::kB ? at.backwards : at.forwards).push_back(work);
  }

  std::pair<Action, Ticks> choose(std::int32_t device, Ticks now) override {
    Waiting& at = waiting_[static_cast<std::size_t>(device)];
    std::deque<Action>& queue = at.backwards.empty() ? at.forwards : at.backwards;
    if (queue.empty()) return kStayIdle;
    const bool by_job = first_job_ && device == 0 && queue.front().op == Op::kF;
    const auto chosen = by_job ? std::ranges::min_element(queue, {}, &Action::replica) : queue.begin();
    const Action action = *chosen;
    queue.erase(chosen);
    const auto& times = action.op == Op::kB ? times_.backward : times_.forward;
    const Ticks time = times[static_cast<std::size_t>(device)];
    hand_on(device, action, now + time);
    return {action, time};
  }

 private:
  struct Waiting {
    std::deque<Action> forwards;
    std::deque<Action> backwards;
  };

  void admit(std::int64_t job, std::int64_t update, Ticks now) {
    const std::int64_t first = batches_.first(job, update);
    for (std::int64_t k = first; k < first + batches_.each; ++k) post(now, 0, of_stage(0, Op::kF, k));
  }

  void hand_on(std::int32_t device, const Action& action, Ticks end) {
    const auto microbatch = static_cast<std::int64_t>(action.microbatch);
    if (action.op == Op::kF && device < last_)
      post(end + times_.transfer, device + 1, of_stage(device + 1, Op::kF, microbatch));
    if (action.op == Op::kF && device == last_) post(end, device, of_stage(device, Op::kB, microbatch));
    if (action.op == Op::kB && device > 0)
      post(end + times_.transfer, device - 1, of_stage(device - 1, Op::kB, microbatch));
    if (action.op == Op::kB && device == 0) end_backward(microbatch, end);
  }

  /// On the first device, which is the last one to end a batch.
  void end_backward(std::int64_t microbatch, Ticks end) {
    const std::int64_t job = batches_.job(microbatch);
    const std::int64_t next = batches_.update(microbatch) + 1;
    if (++ended_[static_cast<std::size_t>(job)] == next * batches_.each && next < batches_.updates)
      admit(job, next, end);
  }

  Action of_stage(std::int32_t stage, Op op, std::int64_t microbatch) const {
    Action action = action_of(stage, op, microbatch);
    action.replica = ReplicaId{static_cast<std::int16_t>(batches_.job(microbatch))};
    return action;
  }

  JobBatches batches_;
  ChainTimes times_;
  bool first_job_ = false;
  std::int32_t last_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<std::int64_t> ended_;  ///< backwards of a job
};

/// The order with every job's update right behind the last backward of its batch.
DeviceList with_updates(const std::vector<Action>& order, const JobBatches& batches) {
  ListBuilder list;
  std::vector<std::int64_t> ended(static_cast<std::size_t>(batches.jobs), 0);
  for (const Action& action : order) {
    list.add(action.stage, action.op, static_cast<std::int32_t>(action.microbatch), action.replica);
    const auto microbatch = static_cast<std::int64_t>(action.microbatch);
    const std::int64_t update = batches.update(microbatch);
    if (action.op != Op::kB || ++ended[index(action.replica)] < (update + 1) * batches.each) continue;
    list.add(action.stage, Op::kU, update, action.replica);
  }
  return list.take();
}

}  // namespace

/// Several fine-tuning jobs share the frozen stages of one model: each trains an adapter of its own, with its own
/// updates, so that one job's flush leaves the devices to the others. One batch of a job is under way at a time, and
/// nothing is stale. The first device takes in the next batch of a job when its batch before is done; a device runs a
/// backward that has arrived before a forward, each in the order of arrival, played through with the given costs
/// (without: F = 1, B = 2; frozen stages have no weight gradient, so that B is nearer to F). `adapters=K` jobs
/// (default m) have m / K microbatches each in every batch. With one microbatch each, N updates take max(K, p) N (F +
/// B) + (min(K, p) - 1)(F + B): from K = p on no device waits but in the first fill and the last drain. The released
/// program takes the first job of its list that has a batch (`next=first`) instead of the one that has waited longest
/// (`next=waiting`): the last jobs then run alone at the end when K > p. m a multiple of K. A device keeps at most m
/// activations. (Ye et al., mLoRA / LoRAPP, arXiv 2312.02515; released code, pipe_executor.py and pipe_dispatcher.py,
/// whose first device also computes the loss, which here is part of the last stage)
///
///   p = 2, m = 2, 2 updates (1: is the second adapter)
///   d0: 0F0 1:0F1 0B0 0U0 0F2 1:0B1 1:0U0 1:0F3 0B2 0U1 1:0B3 1:0U1
///   d1: 1F0 1B0 1U0 1:1F1 1:1B1 1:1U0 1F2 1B2 1U1 1:1F3 1:1B3 1:1U1
Schedule mlora(const ScheduleParams& params) {
  require_one_chunk(kMlora, params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t jobs = whole_number(kMlora, params, "adapters", m);
  require(jobs <= kMostAdapters, kMlora,
          "adapters (" + std::to_string(jobs) + ") must be at most " + std::to_string(kMostAdapters));
  require(m % jobs == 0, kMlora,
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of adapters (" + std::to_string(jobs) + ")");
  const std::string next = choice(kMlora, params, "next", {"waiting", "first"});
  const std::int64_t updates = updates_or(params, 2);
  Schedule schedule = looped_schedule(kMlora, params, 1, updates);
  require_playable(kMlora, schedule.num_microbatches * params.num_devices);
  schedule.parameters["updates"] = updates;
  schedule.parameters["adapters"] = jobs;
  schedule.parameters["next"] = next;
  schedule.placement.resize(static_cast<std::size_t>(jobs), std::vector(schedule.placement[0]));
  schedule.reduce_groups = {{}};
  const JobBatches batches{jobs, m / jobs, updates};
  BackwardFirst rule(batches, chain_times(params, params.num_devices), next == "first");
  for (const std::vector<Action>& order : play(rule, params.num_devices)) {
    schedule.devices.push_back(with_updates(order, batches));
  }
  return schedule;
}

}  // namespace plumb
