#include "trainer/run/training_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "trainer/plan/memory_room.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/plan/train_result.hpp"
#include "trainer/run/device_report.hpp"
#include "trainer/run/jobs.hpp"
#include "trainer/run/measured_timeline.hpp"

namespace plumb {
namespace {

/// What the devices of a run report at its end, by device.
using DeviceReports = std::span<const DeviceReport>;

using BytesByName = std::map<std::string, std::span<const std::byte>>;

/// Splits a flat block by parameter; those whose names are known already are passed over.
void split(const std::vector<ParameterFacts>& parameters, std::span<const std::byte> block, BytesByName& named) {
  std::int64_t left = 0;
  for (const ParameterFacts& parameter : parameters) left += parameter.count();
  const std::size_t number_bytes = block.empty() ? 0 : block.size() / static_cast<std::size_t>(left);
  for (const ParameterFacts& parameter : parameters) {
    const std::size_t size = static_cast<std::size_t>(parameter.count()) * number_bytes;
    if (!parameter.tied) named.emplace(parameter.name, block.first(size));
    block = block.subspan(size);
  }
}

/// Returns one of the blocks of every holder by parameter; the first holder of a parameter counts. `job`: only its
/// holders.
BytesByName by_name(const RunPlan& plan, DeviceReports reports, std::span<const std::byte> HolderReport::*block,
                    std::optional<ReplicaId> job = std::nullopt) {
  BytesByName named;
  for (const DeviceReport& report : reports) {
    for (const auto& [number, holder] : report.holders) {
      const Holder& place = plan.program.holders[number];
      if (job && place.replica != *job) continue;
      split(plan.layout(place.stage, 0).parameters, holder.*block, named);
    }
  }
  return named;
}

/// Weights that no update changes.
void add_frozen(const RunPlan& plan, DeviceReports reports, BytesByName& named) {
  for (const DeviceReport& report : reports) {
    for (const auto& [number, holder] : report.holders) {
      if (holder.frozen.empty()) continue;
      split(plan.layout(plan.program.holders[number].stage, 0).frozen, holder.frozen, named);
    }
  }
}

/// FNV-1a, continued.
std::uint64_t hashed(const BytesByName& named, std::uint64_t hash) {
  for (const auto& [name, bytes] : named) {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

template <class T>
std::vector<double> values_of(std::span<const std::byte> bytes) {
  const T* begin = reinterpret_cast<const T*>(bytes.data());
  return {begin, begin + bytes.size() / sizeof(T)};
}

NamedValues as_doubles(const BytesByName& named, NumberType type) {
  NamedValues values;
  for (const auto& [name, bytes] : named) {
    values[name] = type == NumberType::kFloat64 ? values_of<double>(bytes) : values_of<float>(bytes);
  }
  return values;
}

/// FNV-1a over the newest weights, parameter by parameter in order of name, each once (further copies of a tied weight
/// and of a stage are passed over, but for those of further jobs, which follow): equal bits give equal hashes, however
/// the network is cut and placed.
std::uint64_t weights_hash(const RunPlan& plan, DeviceReports reports) {
  BytesByName first = by_name(plan, reports, &HolderReport::weights);
  add_frozen(plan, reports, first);
  std::uint64_t hash = hashed(first, 0xcbf29ce484222325U);
  for (std::size_t job = 1; job < job_count(plan); ++job) {
    hash = hashed(by_name(plan, reports, &HolderReport::weights, ReplicaId{static_cast<std::int16_t>(job)}), hash);
  }
  return hash;
}

/// Returns the newest weights by parameter name, frozen ones too; of several jobs those of the first.
NamedValues final_parameters(const RunPlan& plan, DeviceReports reports) {
  BytesByName named = by_name(plan, reports, &HolderReport::weights);
  add_frozen(plan, reports, named);
  return as_doubles(named, plan.options.model.numbers);
}

/// Returns what one job has trained (trainer/run/jobs.hpp), without frozen weights.
NamedValues job_parameters(const RunPlan& plan, DeviceReports reports, ReplicaId job) {
  return as_doubles(by_name(plan, reports, &HolderReport::weights, job), plan.options.model.numbers);
}

/// Returns the gradients as the last update of every stage used them, before scaling.
NamedValues last_gradients(const RunPlan& plan, DeviceReports reports) {
  return as_doubles(by_name(plan, reports, &HolderReport::gradients), plan.options.model.numbers);
}

constexpr std::chrono::milliseconds kPatienceWithPeers{5000};
constexpr std::chrono::milliseconds kGlance{20};

std::int64_t passes_of(const RunPlan& plan) {
  const std::string name = plan.options.schedule.name;
  const std::int64_t in_document = plan.document_updates;
  if (in_document < 1) throw Error("train '" + name + "': the document updates nothing; expected at least one update");
  const std::int64_t steps = plan.options.optimization.steps == 0 ? in_document : plan.options.optimization.steps;
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

std::optional<DeviceId> own_device(const TrainOptions& options) {
  if (options.execution.processes == nullptr) return std::nullopt;
  return DeviceId{static_cast<std::int32_t>(options.execution.processes->rank())};
}

void check_executor(const RunPlan& plan, const Executor& executor) {
  if (!plan.backend.only_streams || executor.queues) return;
  throw Error("train '" + plan.options.schedule.name + "': the back end " + std::string(plan.backend.name) +
              " works through streams; expected the executor streams instead of " + std::string(executor.name));
}

/// Links of a paced run wait by the clock, so its devices must run at once; and what one of them waits for must come.
void check_pace(const RunPlan& plan, const Executor& executor) {
  if (!plan.backend.paced) return;
  const std::string run = "train '" + plan.options.schedule.name + "': ";
  if (!executor.waits) {
    throw Error(run + "the back end " + std::string(plan.backend.name) +
                " runs in real time; expected the executor threads instead of " + std::string(executor.name));
  }
  const auto is_shared = [](const Channel& of) { return of.route.half_duplex || !of.route.shared.empty(); };
  if (plan.options.execution.processes != nullptr && std::ranges::any_of(plan.program.channels, is_shared)) {
    throw Error(run + "no process knows what others send over a shared link; expected links of each pair's own, or " +
                "all devices in one process");
  }
  const std::string cycle = describe_deadlock(plan.program, plan.options.execution.pace->transfers);
  if (!cycle.empty()) throw CannotRun(run + cycle);
}

/// The time of a processor is that of a thread which does all the work of a device; and a device knows no messages but
/// its own, so it cannot share a link.
void check_clock(const RunPlan& plan, const Executor& executor) {
  if (plan.options.execution.clock != ClockKind::kProcessor) return;
  const std::string run = "train '" + plan.options.schedule.name + "': the clock processor ";
  if (executor.queues || plan.backend.only_streams) {
    throw Error(run + "counts the time of threads, and streams do the work; expected the executor threads or serial");
  }
  if (plan.backend.paced) throw Error(run + "sees no given times; expected the clock wall with the back end paced");
  if (plan.options.execution.processes != nullptr) {
    throw Error(run + "is that of one process; expected all devices in it, or the clock wall");
  }
  const auto is_shared = [](const Channel& of) { return of.route.half_duplex || !of.route.shared.empty(); };
  if (std::ranges::any_of(plan.program.channels, is_shared)) {
    throw Error(run + "cannot divide a link between devices; expected links of each pair's own");
  }
}

double ticks_per_ns(const RunPlan& plan) {
  if (!plan.options.execution.pace) return 1;
  return static_cast<double>(plan.program.base.ticks_per_ns) / plan.options.execution.pace->dilation;
}

void check_processes(const RunPlan& plan, const Executor& executor) {
  if (plan.options.execution.processes == nullptr) return;
  const std::string run = "train '" + plan.options.schedule.name + "': ";
  const std::size_t size = plan.options.execution.processes->size();
  const auto devices = static_cast<std::size_t>(plan.program.num_devices);
  if (size != devices) {
    throw Error(run + std::to_string(size) + (size == 1 ? " process" : " processes") + " and " +
                std::to_string(devices) + " devices; expected one process per device (mpirun -np " +
                std::to_string(devices) + " ...)");
  }
  if (!executor.waits && !executor.queues) {
    throw Error(run + "the executor " + std::string(executor.name) +
                " runs all devices in one process; expected threads with several processes, or streams");
  }
}

/// Messages that go by links must find their way without anybody's buffers. What `lower` makes always does: where the
/// lanes would hang, a send is waited for only after the post of its receive, in an order in which every instr stands
/// after all that it waits for (`put_off_send_waits`, `rendezvous_test.cpp`), so no cycle of waits is left. This holds
/// lowering to it before a GPU finds out.
void check_links(const RunPlan& plan, const Executor& executor) {
  if (plan.options.execution.links == nullptr) return;
  const std::string run = "train '" + plan.options.schedule.name + "': ";
  if (plan.options.execution.processes == nullptr) throw Error(run + "links are between processes; expected several");
  if (!executor.queues) {
    throw Error(run + "the executor " + std::string(executor.name) +
                " has no streams for links; expected the executor streams");
  }
  const std::string cycle = describe_deadlock(plan.program, TransferMode::kRendezvous);
  if (!cycle.empty()) throw CannotRun(run + cycle);
}

std::vector<JobResult> job_results(const RunPlan& plan, const LossLog& losses, DeviceReports reports) {
  std::vector<JobResult> results;
  for (std::vector<double>& means : job_losses(plan, losses)) {
    const ReplicaId job{static_cast<std::int16_t>(results.size())};
    const bool kept = plan.options.observation.keep_parameters;
    results.push_back({std::move(means), kept ? job_parameters(plan, reports, job) : NamedValues{}});
  }
  return results;
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& options)
    : plan_(options),
      executor_(executor(options.execution.executor)),
      passes_(passes_of(plan_)),
      clocks_(options.execution.clock, plan_.program.num_devices, ticks_per_ns(plan_)),
      times_(empty_times(plan_.program)),
      losses_(options.schedule.per_update(StageId{0}), plan_.program.parts.most_slices(),
              passes_ * plan_.document_updates, options.observation.on_update),
      data_(*options.data, options.model.seed, 2 * static_cast<std::size_t>(plan_.program.num_stages) + 8),
      mailbox_(
          plan_.program, clocks_,
          [this](std::span<std::byte> sum, std::span<const std::byte> term) {
            plan_.backend.add(plan_.options.model.numbers, sum, term);
          },
          executor_.waits || options.execution.processes != nullptr, own_device(options)) {
  check_executor(plan_, executor_);
  check_processes(plan_, executor_);
  check_links(plan_, executor_);
  check_pace(plan_, executor_);
  check_clock(plan_, executor_);
  check_room(plan_, own_device(options));
  if (processes() != nullptr) {
    between_processes_ = std::make_unique<ProcessTransport>(plan_, *processes(), mailbox_, losses_);
  }
  if (plan_.backend.paced) {
    Transport& inner = between_processes_ ? static_cast<Transport&>(*between_processes_) : mailbox_;
    paced_ = std::make_unique<PacedTransport>(plan_, clocks_.wall(), inner, mailbox_);
    if (between_processes_) between_processes_->pace(paced_->links());
  }
  if (executor_.queues) streams_ = std::make_unique<StreamRun>(plan_, mailbox_, between_processes_.get());
  for (std::int32_t number = 0; number < plan_.program.num_devices; ++number) {
    const DeviceId device{number};
    workers_.push_back(is_here(number) ? std::make_unique<DeviceWorker>(plan_, device, outputs_of(device)) : nullptr);
  }
  start_pass();
}

TrainingRun::~TrainingRun() {
  if (streams_) streams_->leave();
}

void TrainingRun::connect() {
  if (streams_) rethrow_root_cause([&] { streams_->connect(); });
}

template <class Part>
void TrainingRun::rethrow_root_cause(const Part& part) {
  try {
    part();
  } catch (const RunAborted&) {
    if (processes() != nullptr) processes()->await_end(std::chrono::milliseconds(0));
    throw;
  } catch (const PeerLost&) {
    await_reason();
    throw;
  }
}

void TrainingRun::await_reason() {
  for (std::chrono::milliseconds waited{0}; waited < kPatienceWithPeers; waited += kGlance) {
    processes()->await_end(kGlance);
    try {
      streams_->check();
    } catch (const PeerLost&) {  // nothing new
    }
  }
}

RunOutputs TrainingRun::outputs_of(DeviceId device) {
  Transport* transport = &mailbox_;
  if (between_processes_) transport = between_processes_.get();
  if (paced_) transport = paced_.get();
  if (streams_) transport = &streams_->transport(device);
  return {clocks_.of(index(device)), *transport, times_, losses_, data_, streams_ ? &streams_->queue(device) : nullptr};
}

bool TrainingRun::is_here(std::int32_t device) const {
  const auto own = own_device(plan_.options);
  return !own || *own == DeviceId{device};
}

void TrainingRun::start_pass() {
  for (const auto& worker : workers_) {
    if (worker) worker->start_document(pass_ * plan_.program.num_microbatches);
  }
  positions_.assign(plan_.program.lane_begin.begin(), plan_.program.lane_begin.end() - 1);
  mailbox_.restore({}, plan_.program.lane_begin);
  if (paced_) paced_->links().restart(positions_);
  if (streams_) streams_->restart({});
  whole_pass_ = true;
  clocks_.restart();
}

std::optional<Ticks> TrainingRun::document_time() const {
  if (!whole_pass_ || times_.end.empty()) return std::nullopt;
  return *std::ranges::max_element(times_.end);
}

void TrainingRun::next_pass() {
  ++pass_;
  start_pass();
}

void TrainingRun::run_to(std::span<const InstrIndex> limits) {
  rethrow_root_cause([&] { run_part(limits); });
}

void TrainingRun::run_part(std::span<const InstrIndex> limits) {
  if (between_processes_) {
    between_processes_->begin(clocks_.wall());
  } else {
    clocks_.wall().resume();
  }
  if (paced_) paced_->links().begin();
  if (streams_) streams_->begin(positions_, limits);
  executor_.run({plan_.program, workers_, limits, mailbox_, streams_.get()});
  if (streams_) {
    streams_->finish(clocks_.wall(), times_, losses_);
    for (const auto& worker : workers_) {
      if (worker) worker->note_times();
    }
  }
  if (between_processes_) between_processes_->end();
  if (paced_) paced_->links().end(times_);
  clocks_.wall().pause();
  positions_.assign(limits.begin(), limits.end());
}

bool TrainingRun::has_passed(std::span<const InstrIndex> positions) const {
  for (std::size_t device = 0; device < positions_.size(); ++device) {
    if (positions_[device] < positions[device]) return false;
  }
  return true;
}

void TrainingRun::resume(std::int64_t pass, std::span<const InstrIndex> positions, Mailbox::Contents contents) {
  pass_ = pass;
  whole_pass_ = false;
  for (std::size_t device = 0; device < workers_.size(); ++device) {
    if (workers_[device]) workers_[device]->restore(positions[device], pass * plan_.program.num_microbatches);
  }
  positions_.assign(positions.begin(), positions.end());
  if (paced_) paced_->links().restart(positions_);
  if (streams_) streams_->restart(contents);
  mailbox_.restore(std::move(contents), positions);
}

NamedValues TrainingRun::newest_weights() const {
  std::vector<DeviceReport> reports;
  for (const auto& worker : workers_) {
    if (!worker) continue;
    DeviceReport& report = reports.emplace_back();
    report.device = worker->device();
    for (auto& [number, holder] : worker->holders()) {
      report.holders[number] = {.weights = holder.stored_weights(), .gradients = {}, .frozen = holder.stored_frozen()};
    }
  }
  GatheredReports gathered;
  if (processes() != nullptr) {
    gathered = gather_reports(*processes(), reports.front());
    reports = std::move(gathered.reports);
  }
  return reports.empty() ? NamedValues() : final_parameters(plan_, reports);
}

TrainResult TrainingRun::result() const {
  std::vector<DeviceReport> reports;
  const bool with_streams = streams_ && !between_processes_;
  std::vector<Ticks> collective_ends = with_streams ? streams_->collective_ends() : mailbox_.collective_ends();
  if (paced_) collective_ends = paced_->collective_ends();
  for (const auto& worker : workers_) {
    if (worker) reports.push_back(report_of(*worker, plan_.program, times_, collective_ends));
  }
  GatheredReports gathered;
  if (processes() != nullptr) {
    gathered = gather_reports(*processes(), reports.front());
    reports = std::move(gathered.reports);
  }
  TrainResult result;
  if (reports.empty()) return result;
  result.losses = losses_.means();
  for (const DeviceReport& report : reports) {
    result.versions.push_back(report.versions);
    result.updates_rolled_back += report.updates_rolled_back;
    result.updates_skipped = std::max(result.updates_skipped, report.updates_skipped);
  }
  result.steady_delays = plan_.steady_delays;
  if (!paced_) result.weights_hash = weights_hash(plan_, reports);
  if (plan_.options.observation.keep_parameters) {
    result.parameters = final_parameters(plan_, reports);
    result.gradients = last_gradients(plan_, reports);
  }
  if (job_count(plan_) > 1) result.jobs = job_results(plan_, losses_, reports);
  if (!whole_pass_) return result;
  result.timeline = measured_timeline(plan_, reports);
  if (streams_) result.timeline->machine = streams_->description();
  result.timeline->machine += clock_words(plan_.options.execution.clock);
  return result;
}

}  // namespace plumb
