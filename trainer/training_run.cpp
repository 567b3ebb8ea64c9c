#include "trainer/training_run.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/error.hpp"
#include "trainer/device_report.hpp"
#include "trainer/measured_timeline.hpp"
#include "trainer/parameters.hpp"

namespace plumb {
namespace {

std::int64_t passes_of(const RunPlan& plan) {
  const std::string name = plan.options.schedule.name;
  const std::int64_t in_document = plan.document_updates;
  if (in_document < 1) throw Error("train '" + name + "': the document updates nothing; expected at least one update");
  const std::int64_t steps = plan.options.steps == 0 ? in_document : plan.options.steps;
  if (plan.program.asynchronous && steps != in_document) {
    throw Error("train '" + name + "': an asynchronous document of " + std::to_string(in_document) +
                " updates cannot do " + std::to_string(steps) + " steps; expected one document for the whole run");
  }
  if (steps % in_document != 0) {
    throw Error("train '" + name + "': " + std::to_string(steps) + " steps; expected a multiple of the document's " +
                std::to_string(in_document) + " updates");
  }
  return steps / in_document;
}

RunTimes empty_times(const Program& program) {
  RunTimes times;
  times.start.resize(program.size());
  times.end.resize(program.size());
  times.transfers.resize(program.transfers.size());
  return times;
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& options)
    : plan_(options),
      executor_(executor(options.executor)),
      passes_(passes_of(plan_)),
      times_(empty_times(plan_.program)),
      losses_(options.schedule.per_update(StageId{0}), plan_.program.parts.most_slices(),
              passes_ * plan_.document_updates, options.on_update),
      mailbox_(
          plan_.program, clock_,
          [this](std::span<std::byte> sum, std::span<const std::byte> term) {
            plan_.backend.add(plan_.options.numbers, sum, term);
          },
          executor_.waits) {
  const RunOutputs outputs{clock_, mailbox_, times_, losses_};
  for (std::int32_t device = 0; device < plan_.program.num_devices; ++device) {
    workers_.push_back(std::make_unique<DeviceWorker>(plan_, DeviceId{device}, outputs));
  }
  start_pass();
}

void TrainingRun::start_pass() {
  for (const auto& worker : workers_) worker->start_document(pass_ * plan_.program.num_microbatches);
  mailbox_.restore({}, plan_.program.lane_begin);
  whole_pass_ = true;
  clock_.restart();
}

void TrainingRun::next_pass() {
  ++pass_;
  start_pass();
}

void TrainingRun::run_to(std::span<const InstrIndex> limits) {
  executor_.run({plan_.program, workers_, limits, mailbox_});
}

bool TrainingRun::is_behind(std::span<const InstrIndex> positions) const {
  for (std::size_t device = 0; device < workers_.size(); ++device) {
    if (workers_[device]->position() < positions[device]) return false;
  }
  return true;
}

std::vector<InstrIndex> TrainingRun::positions() const {
  std::vector<InstrIndex> positions;
  for (const auto& worker : workers_) positions.push_back(worker->position());
  return positions;
}

void TrainingRun::resume(std::int64_t pass, std::span<const InstrIndex> positions, Mailbox::Contents contents) {
  pass_ = pass;
  whole_pass_ = false;
  for (std::size_t device = 0; device < workers_.size(); ++device) {
    workers_[device]->restore(positions[device], pass * plan_.program.num_microbatches);
  }
  mailbox_.restore(std::move(contents), positions);
}

TrainResult TrainingRun::result() const {
  TrainResult result;
  result.losses = losses_.means();
  std::vector<DeviceReport> reports;
  for (const auto& worker : workers_) reports.push_back(report_of(*worker));
  for (const DeviceReport& report : reports) {
    result.versions.push_back(report.versions);
    result.updates_rolled_back += report.updates_rolled_back;
    result.updates_skipped = std::max(result.updates_skipped, report.updates_skipped);
  }
  result.weights_hash = weights_hash(plan_, reports);
  if (plan_.options.keep_parameters) {
    result.parameters = final_parameters(plan_, reports);
    result.gradients = last_gradients(plan_, reports);
  }
  if (!whole_pass_) return result;
  RunTimes times = times_;
  times.collective_end = mailbox_.collective_ends();
  result.timeline = measured_timeline(plan_, std::move(times), reports);
  return result;
}

}  // namespace plumb
