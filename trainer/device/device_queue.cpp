#include "trainer/device/device_queue.hpp"

#include <utility>

#include "schedules/document/action_text.hpp"

namespace plumb {

/// The device's memory by its compute stream.
/// Memory whose operations stand on the compute stream, behind what was issued before. Only looks by the host wait.
class DeviceQueue::Memory : public DeviceMemory {
 public:
  explicit Memory(DeviceQueue& queue) : queue_(queue), machine_(queue.machine_) {}

  std::byte* reserve(std::int64_t bytes) override { return machine_.allocate(queue_.device_, bytes); }
  void give_back(std::byte* storage) override { machine_.free(queue_.device_, storage); }

  void fill(std::span<std::byte> bytes, std::byte value) override {
    if (!bytes.empty()) machine_.fill(compute(), bytes, value);
  }

  void copy(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) machine_.copy(compute(), to, from);
  }

  std::span<const std::byte> view(std::span<const std::byte> from, std::vector<std::byte>& scratch) override {
    if (machine_.host_reads_devices()) {
      wait();
      return from;
    }
    if (queue_.wait_) wait();  // a copy to the host's memory holds the host, who may have to look after something
    scratch.resize(from.size());
    copy(scratch.data(), from);
    wait();
    return scratch;
  }

  void write(std::byte* to, std::span<const std::byte> from) override {
    if (queue_.wait_) wait();
    copy(to, from);
    wait();
  }

  void wait() override {
    queue_.flush();
    queue_.wait_ ? queue_.wait_(queue_.done()) : queue_.order_.synchronize();
  }

  void begin_block(std::span<const std::byte> block) override { machine_.begin_block(compute(), block); }
  void end_block(std::span<const std::byte> block) override { machine_.end_block(compute(), block); }

 private:
  StreamId compute() {
    queue_.flush();
    queue_.worked_ = true;
    return queue_.stream(StreamKind::kCompute);
  }

  DeviceQueue& queue_;
  StreamMachine& machine_;
};

DeviceQueue::DeviceQueue(StreamMachine& machine, StreamOrder& order, TimeMarks& marks, DeviceId device)
    : machine_(machine), order_(order), marks_(marks), device_(device), scratch_(machine) {
  for (std::size_t kind = 0; kind < kStreamKinds; ++kind) {
    streams_[kind] = machine.make_stream(device, static_cast<StreamKind>(kind));
  }
  memory_ = std::make_unique<Memory>(*this);
  begin_part();
}

DeviceQueue::~DeviceQueue() {
  for (std::byte* scratch : stage_scratch_) machine_.free(device_, scratch);
  for (const auto& [kind, place] : id_places_) machine_.free(device_, place);
  if (loss_place_ != nullptr) machine_.free(device_, reinterpret_cast<std::byte*>(loss_place_));
}

StreamPlace DeviceQueue::stage_place() const { return machine_.place(stream(StreamKind::kCompute)); }

std::byte* DeviceQueue::make_stage_scratch(std::int64_t bytes) {
  return bytes > 0 ? stage_scratch_.emplace_back(machine_.allocate(device_, bytes)) : nullptr;
}

void DeviceQueue::launch(Work work) {
  flush();
  worked_ = true;
  machine_.launch(stream(StreamKind::kCompute), std::move(work));
}

void DeviceQueue::add(NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) {
  flush();
  worked_ = true;
  machine_.add(stream(StreamKind::kCompute), type, sum, term);
}

/// Lets the compute stream wait for all events that were needed since the last call.
void DeviceQueue::flush() {
  if (needed_.empty()) return;
  order_.wait(stream(StreamKind::kCompute), needed_);
  needed_.clear();
  worked_ = true;
}

/// Returns an event after all issued work. Without new work the last one is good enough.
EventId DeviceQueue::done() {
  flush();
  if (std::exchange(worked_, false)) done_ = order_.record(stream(StreamKind::kCompute));
  return done_;
}

void DeviceQueue::mark() {
  flush();
  own_marks_.push_back(marks_.mark(stream(StreamKind::kCompute)));
}

void DeviceQueue::begin_unit(InstrIndex first, InstrIndex end, const Action& action) {
  std::string name;
  append_text(name, action);
  machine_.begin_instr(stream(StreamKind::kCompute), first, name);
  mark();
  units_.push_back({first, end, last_mark(), last_mark()});
}

void DeviceQueue::end_unit() {
  mark();
  units_.back().end_mark = last_mark();
  machine_.begin_instr(stream(StreamKind::kCompute), StreamMachine::kNoInstr, "");
}

/// Keeps data until the part of the run is over, since passes read it later; and copies it where devices see no host
/// memory.
MicrobatchIds DeviceQueue::keep(PartData data) {
  const PartData& kept = kept_.emplace_back(std::move(data));
  if (machine_.host_reads_devices()) return kept.ids;
  const Microbatch& source = kept.part == Microbatch{} ? kept.whole->data : kept.part;
  MicrobatchIds ids = kept.ids;
  ids.tokens = put_on_device(0, source.tokens);
  ids.targets = put_on_device(1, source.targets);
  ids.target_tokens = put_on_device(2, source.target_tokens);
  ids.values = put_on_device(3, source.values);
  ids.target_values = put_on_device(4, source.target_values);
  return ids;
}

/// Copies values to their place on the device. The copy stands on the stream behind the last pass that reads others.
template <class T>
const T* DeviceQueue::put_on_device(std::size_t kind, const std::vector<T>& values) {
  if (values.empty()) return nullptr;
  const std::span<const std::byte> shared = std::as_bytes(std::span(scratch_.put(values), values.size()));
  std::byte*& place = id_places_[{kind, shared.size()}];
  if (place == nullptr) place = machine_.allocate(device_, static_cast<std::int64_t>(shared.size()));
  memory_->copy(place, shared);
  return reinterpret_cast<const T*>(place);
}

double* DeviceQueue::loss() {
  if (loss_place_ == nullptr) loss_place_ = reinterpret_cast<double*>(machine_.allocate(device_, sizeof(double)));
  return loss_place_;
}

void DeviceQueue::note_loss(const NotedLoss& noted) {
  std::byte* shared = scratch_.take(sizeof(double));
  memory_->copy(shared, std::as_bytes(std::span(loss_place_, 1)));
  losses_.emplace_back(noted, reinterpret_cast<const double*>(shared));
}

void DeviceQueue::begin_part() {
  own_marks_.clear();
  units_.clear();
  ended_ = 0;
  moves_.clear();
  done_ = StreamOrder::kAlways;
  worked_ = false;
  mark();
}

/// Turns marks into times: of the instrs of every unit, and of moves, which end with their unit.
void DeviceQueue::finish_part(const RunClock& clock, RunTimes& times) {
  mark_times_.clear();
  for (const MarkId mark : own_marks_) mark_times_.push_back(marks_.time_ns(mark) - clock.origin_ns());
  for (const Unit& unit : units_) {
    for (InstrIndex at = unit.first; at < unit.end; ++at) {
      times.start[at] = mark_times_[unit.begin_mark];
      times.end[at] = mark_times_[unit.end_mark];
    }
  }
  for (const auto& [transfer, unit] : moves_) {
    const Ticks end = mark_times_[units_[unit].end_mark];
    times.transfers[transfer] = {end, end, end};
  }
}

std::vector<NotedLoss> DeviceQueue::take_losses() {
  std::vector<NotedLoss> noted;
  for (const auto& [loss, place] : std::exchange(losses_, {})) {
    noted.push_back({loss.microbatch, loss.slice, loss.of, *place});
  }
  kept_.clear();
  scratch_.forget();
  return noted;
}

/// Returns the first unit that has not ended, or nothing. Streams work in order, so the search goes on from the last
/// answer.
std::optional<InstrIndex> DeviceQueue::stuck_at() const {
  while (ended_ < units_.size() && marks_.is_done(own_marks_[units_[ended_].end_mark])) ++ended_;
  if (ended_ == units_.size()) return std::nullopt;
  return units_[ended_].first;
}

}  // namespace plumb
