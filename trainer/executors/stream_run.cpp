#include "trainer/executors/stream_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"

namespace plumb {
namespace {

/// Completes the options of streams by the devices of this process: one of several processes has one.
StreamOptions options_for(const RunPlan& plan) {
  StreamOptions options = plan.options.execution.streams;
  options.devices = plan.program.num_devices;
  options.links = plan.options.execution.links != nullptr;
  if (const ProcessGroup* processes = plan.options.execution.processes) {
    options.devices = 1;
    options.first_device = static_cast<std::int32_t>(processes->rank());
    options.first_gpu = static_cast<std::int32_t>(processes->local_rank());
  }
  return options;
}

std::unique_ptr<StreamMachine> machine_of(const RunPlan& plan) {
  if (plan.options.hooks.own_streams != nullptr) return nullptr;
  if (plan.backend.make_streams == nullptr) {
    throw Error("train: the back end " + std::string(plan.backend.name) + " has no streams; expected another executor");
  }
  return plan.backend.make_streams(options_for(plan));
}

/// Returns what a member gives to a collective, by collective.
std::vector<std::int64_t> part_bytes(const RunPlan& plan) {
  std::vector<std::int64_t> bytes;
  for (std::uint32_t c = 0; c < plan.program.collectives.size(); ++c) {
    const StageId stage = plan.program.instrs[plan.program.collectives[c].members.front()].action.stage;
    std::int64_t sum = 0;
    for (const ByteRange& range : plan.reduced_ranges(c, stage))
      sum += static_cast<std::int64_t>(range.end - range.begin);
    bytes.push_back(sum);
  }
  return bytes;
}

}  // namespace

/// Transport of one device when all are in this process: messages and sums go by streams. What crossed a cut, was sent
/// again, or sums weights goes through the mailbox of the hosts.
class StreamRun::Port : public Transport {
 public:
  Port(StreamRun& run, DeviceId device) : run_(run), device_(device) {}

  void send(std::uint32_t transfer, std::span<Block> message) override { run_.messages_.send(transfer, message); }
  void await_sent(std::uint32_t transfer) override { run_.messages_.await_sent(transfer); }
  void post(std::uint32_t transfer, std::span<const Block> slots) override { run_.messages_.post(transfer, slots); }

  TransferTimes await(std::uint32_t transfer) override {
    if (!run_.messages_.await(transfer)) return run_.mailbox_.await(transfer);
    return run_.messages_.times(transfer);
  }

  void take(std::uint32_t transfer, std::span<Block> slots) override {
    if (run_.messages_.take(transfer)) return;
    std::vector<std::byte> message(static_cast<std::size_t>(run_.plan_.program.transfers[transfer].bytes));
    run_.mailbox_.take_again(transfer, message);
    std::span<const std::byte> rest = message;
    for (const Block& slot : slots) {
      const auto size = static_cast<std::size_t>(slot.bytes());
      memory().write(slot.data(), rest.first(size));
      rest = rest.subspan(size);
    }
  }

  void send_again(std::uint32_t transfer, std::span<const std::byte> message) override {
    if (run_.messages_.is_known(transfer)) run_.messages_.replace(transfer);
    run_.mailbox_.send_again(transfer, message);
  }
  void await_again(std::uint32_t transfer) override { run_.mailbox_.await_again(transfer); }
  bool take_again(std::uint32_t transfer, std::span<std::byte> slot) override {
    return !run_.messages_.is_known(transfer) && run_.mailbox_.take_again(transfer, slot);
  }
  void publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) override {
    run_.mailbox_.publish(holder, update, note);
  }
  std::vector<std::byte> published(std::uint32_t holder, std::int32_t update, DeviceId waiting) override {
    return run_.mailbox_.published(holder, update, waiting);
  }

  void join(std::uint32_t collective, std::size_t member, Pieces part) override {
    if (!by_host(collective)) return run_.reductions_.join(collective, member, device_, part);
    if (is_sync(collective)) return run_.mailbox_.join(collective, member, part);  // weights at the host
    std::vector<std::byte> bytes;
    for (const std::span<std::byte> piece : part) {
      std::vector<std::byte> scratch;
      const std::span<const std::byte> seen = memory().view(piece, scratch);
      bytes.insert(bytes.end(), seen.begin(), seen.end());
    }
    run_.mailbox_.put_part(collective, member, std::move(bytes));
  }

  void await_reduced(std::uint32_t collective, DeviceId waiting) override {
    if (by_host(collective)) return run_.mailbox_.await_reduced(collective, waiting);
    run_.reductions_.await(collective, device_);
  }

  void collect(std::uint32_t collective, Pieces sum) override {
    if (!by_host(collective)) return run_.reductions_.collect(collective, device_);
    if (is_sync(collective)) return run_.mailbox_.collect(collective, sum);
    std::vector<std::vector<std::byte>> bytes;
    for (const std::span<std::byte> piece : sum) bytes.emplace_back(piece.size());
    const std::vector<std::span<std::byte>> pieces(bytes.begin(), bytes.end());
    run_.mailbox_.collect(collective, pieces);
    for (std::size_t i = 0; i < bytes.size(); ++i) memory().write(sum[i].data(), bytes[i]);
  }

  void passed(DeviceId device, InstrIndex position) override {
    run_.passed_[index(device)].emplace_back(position, queue().done());
  }

  void await_instr(DeviceId device, InstrIndex instr, DeviceId) override {
    const auto& passed = run_.passed_[index(device)];
    const auto at = std::ranges::upper_bound(passed, instr, {}, &std::pair<InstrIndex, EventId>::first);
    if (at == passed.end()) throw std::logic_error("awaited by the only thread, but never done");
    queue().need(at->second);
  }

 private:
  DeviceQueue& queue() const { return *run_.queues_[index(device_)]; }
  DeviceMemory& memory() const { return queue().memory(); }
  bool is_sync(std::uint32_t collective) const {
    return run_.plan_.program.collectives[collective].kind == Collective::Kind::kSyncWeights;
  }
  bool by_host(std::uint32_t collective) const {
    return is_sync(collective) || run_.host_collectives_.contains(collective);
  }

  StreamRun& run_;
  DeviceId device_;
};

StreamRun::StreamRun(const RunPlan& plan, Mailbox& mailbox, ProcessTransport* between)
    : plan_(plan),
      mailbox_(mailbox),
      own_machine_(machine_of(plan)),
      machine_(own_machine_ ? *own_machine_ : *plan.options.hooks.own_streams),
      order_(machine_),
      marks_(machine_),
      queues_([this] {
        std::vector<std::unique_ptr<DeviceQueue>> queues;
        const ProcessGroup* processes = plan_.options.execution.processes;
        for (std::int32_t device = 0; device < plan_.program.num_devices; ++device) {
          const bool is_here = processes == nullptr || static_cast<std::size_t>(device) == processes->rank();
          queues.push_back(is_here ? std::make_unique<DeviceQueue>(machine_, order_, marks_, DeviceId{device})
                                   : nullptr);
          if (is_here) here_.push_back(queues.back().get());
        }
        return queues;
      }()),
      messages_({plan.program, machine_, order_, marks_, queues_}),
      reductions_({plan.program, machine_, order_, marks_, queues_}, plan.options.model.numbers),
      collective_ends_(plan.program.collectives.size(), -1),
      passed_(queues_.size()) {
  if (between == nullptr) {
    for (DeviceQueue* queue : here_) ports_.push_back(std::make_unique<Port>(*this, queue->device()));
    return;
  }
  if (plan.options.execution.links != nullptr) {
    links_ = std::make_unique<LinkMessages>(StreamSetting{plan.program, machine_, order_, marks_, queues_},
                                            *plan.options.execution.links, index(here_.front()->device()),
                                            plan.options.model.numbers, part_bytes(plan));
  }
  staged_ = std::make_unique<StagedTransport>(
      StagedTransport::Setting{.program = plan.program,
                               .between = *between,
                               .mailbox = mailbox,
                               .machine = machine_,
                               .order = order_,
                               .queue = *here_.front(),
                               .patience_s = plan.options.execution.streams.watchdog_s,
                               .give_up = [this] { give_up(); },
                               .links = links_.get()});
  // A message may be waited for by a link whose other end waits for this device: never for the whole machine.
  if (links_) here_.front()->wait_by([this](EventId event) { staged_->wait_for(event); });
}

StreamRun::~StreamRun() = default;

Transport& StreamRun::transport(DeviceId device) {
  if (staged_) return *staged_;
  return *ports_[index(device)];
}

std::string StreamRun::description() const {
  return machine_.description() + (links_ ? "; messages by " + links_->description() : "");
}

void StreamRun::connect() {
  if (!links_) return;
  under_way_ = true;
  links_->connect(*plan_.options.execution.processes);
  under_way_ = false;
}

void StreamRun::leave() {
  if (!under_way_) return;
  if (links_) links_->abort();
  try {
    machine_.synchronize();          // what streams and links read and write may be freed after this
  } catch (const std::exception&) {  // of what was left undone
  }
}

/// Begins a part of the run, from cut to cut, with no work on any stream.
void StreamRun::begin(std::span<const InstrIndex> positions, std::span<const InstrIndex> limits) {
  under_way_ = true;
  machine_.synchronize();
  order_.restart();
  marks_.restart();
  machine_.begin_part();
  for (DeviceQueue* queue : here_) queue->begin_part();
  if (links_) links_->begin_part(positions, limits);
}

/// Waits for all issued work, then reads times and losses. Losses are added in the order of microbatches, as every
/// executor does.
void StreamRun::finish(const RunClock& clock, RunTimes& times, LossLog& losses) {
  for (DeviceQueue* queue : here_) queue->flush();
  if (staged_) staged_->flush();
  watch();
  machine_.synchronize();
  if (staged_) staged_->finish_part();
  for (DeviceQueue* queue : here_) queue->finish_part(clock, times);
  if (links_) {
    links_->finish_part(clock, times);
    links_->reductions().finish_part(clock, collective_ends_);
  }
  messages_.finish_part(clock, times);
  reductions_.finish_part(clock, collective_ends_);
  // Events end with the part; what was passed before is done.
  for (auto& passed : passed_) {
    for (auto& [position, event] : passed) event = StreamOrder::kAlways;
  }
  std::vector<NotedLoss> noted;
  for (DeviceQueue* queue : here_) {
    const std::vector<NotedLoss> own = queue->take_losses();
    noted.insert(noted.end(), own.begin(), own.end());
  }
  std::ranges::stable_sort(noted, {}, &NotedLoss::microbatch);
  for (const NotedLoss& loss : noted) losses.add(loss.microbatch, loss.slice, loss.of, loss.loss);
  under_way_ = false;
}

/// Waits as long as there is progress. A hang is reported with the first action of every device that has not ended.
void StreamRun::watch() {
  using Clock = std::chrono::steady_clock;
  const std::chrono::duration<double> patience(plan_.options.execution.streams.watchdog_s);
  Clock::time_point progressed = Clock::now();
  for (std::vector<std::optional<InstrIndex>> before;;) {
    std::vector<std::optional<InstrIndex>> stuck;
    for (DeviceQueue* queue : here_) stuck.push_back(queue->stuck_at());
    const bool ended = std::ranges::none_of(stuck, [](const auto& at) { return at.has_value(); });
    if (ended && (!links_ || links_->is_idle())) return;
    check();
    if (stuck != before) progressed = Clock::now();
    if (Clock::now() - progressed > patience) give_up();
    before = std::move(stuck);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void StreamRun::check() {
  if (staged_) staged_->check();
}

/// Throws an error with the first action of every device that has not ended.
void StreamRun::give_up() {
  std::string text;
  for (DeviceQueue* queue : here_) {
    const auto at = queue->stuck_at();
    if (!at) continue;
    text += std::string(text.empty() ? "" : ", ") + "device " + std::to_string(index(queue->device())) + " at ";
    append_text(text, plan_.program.instrs[*at].action);
  }
  if (text.empty()) text = "every action is done, but messages are under way";
  machine_.abandon();
  const auto seconds = std::llround(plan_.options.execution.streams.watchdog_s);
  throw Error("train: no progress for " + std::to_string(seconds) + " s; " + text);
}

void StreamRun::restart(const Mailbox::Contents& contents) {
  messages_.forget();
  if (links_) links_->forget();
  reductions_.forget();
  host_collectives_.clear();
  for (const auto& [collective, reduction] : contents.reductions) host_collectives_.insert(collective);
  collective_ends_.assign(plan_.program.collectives.size(), -1);
  for (std::size_t device = 0; device < passed_.size(); ++device) {
    passed_[device].clear();
  }
}

Mailbox::Contents StreamRun::contents() {
  Mailbox::Contents contents = mailbox_.contents();
  contents.messages.merge(messages_.under_way());
  if (links_) contents.messages.merge(links_->under_way());
  contents.reductions.merge(reductions_.under_way());
  return contents;
}

}  // namespace plumb
