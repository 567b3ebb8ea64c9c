#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "schedules/program/instr.hpp"
#include "sim/rules/run_times.hpp"
#include "trainer/data/microbatch_cache.hpp"
#include "trainer/ground/run_clock.hpp"
#include "trainer/memory/device_memory.hpp"
#include "trainer/streams/shared_scratch.hpp"
#include "trainer/streams/stream_order.hpp"
#include "trainer/streams/time_marks.hpp"
#include "trainer/transport/loss_log.hpp"

namespace plumb {

/// The streams of one device, for the thread that issues its work: work is done later, in the order in which it was
/// issued. Times and losses are known to the host when the part of the run is finished.
class DeviceQueue {
 public:
  /// All must outlive this.
  DeviceQueue(StreamMachine& machine, StreamOrder& order, TimeMarks& marks, DeviceId device);
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;
  ~DeviceQueue();

  /// Sets how the host waits for what it reads, instead of synchronizing the whole machine. `wait` throws when the
  /// event will never be done.
  void wait_by(std::function<void(EventId)> wait) { wait_ = std::move(wait); }

  DeviceMemory& memory() { return *memory_; }
  DeviceId device() const { return device_; }
  StreamId stream(StreamKind kind) const { return streams_[static_cast<std::size_t>(kind)]; }
  /// Returns where a stage's arithmetic runs: the compute stream, ...
  StreamPlace stage_place() const;
  /// ... with as much scratch memory of its own; null for none.
  std::byte* make_stage_scratch(std::int64_t bytes);
  void launch(Work work);
  void add(NumberType type, std::span<std::byte> sum, std::span<const std::byte> term);

  /// Work that is issued to the compute stream from now on waits for `event`.
  void need(EventId event) { needed_.push_back(event); }
  /// Issues the waits that `need` has collected.
  void flush();
  /// Returns an event that is done when all work issued to the compute stream so far is.
  EventId done();

  /// The instrs [first, end) begin when everything needed is done, and end with the work issued before `end_unit`.
  void begin_unit(InstrIndex first, InstrIndex end, const Action& action);
  void end_unit();
  std::uint32_t last_mark() const { return static_cast<std::uint32_t>(own_marks_.size()) - 1; }
  Ticks time_of(std::uint32_t mark) const { return mark_times_[mark]; }
  /// An EVICT or LOAD ends with the current unit.
  void note_move(std::uint32_t transfer) { moves_.emplace_back(transfer, units_.size() - 1); }
  /// Holds the data until the part is finished. The ids are for the next pass: they lie on the device, at the same
  /// place for every microbatch, so that passes are replayed.
  MicrobatchIds keep(PartData data);
  /// Returns where passes write their losses.
  double* loss();
  /// The last pass has written `noted`.
  void note_loss(const NotedLoss& noted);

  void begin_part();
  /// After `StreamMachine::synchronize`: the times of the units since `begin_part`, by `clock`, and the losses.
  void finish_part(const RunClock& clock, RunTimes& times);
  std::vector<NotedLoss> take_losses();
  /// Returns the first unit that has not ended, for a part that makes no progress.
  std::optional<InstrIndex> stuck_at() const;

 private:
  class Memory;
  struct Unit {
    InstrIndex first = 0;
    InstrIndex end = 0;
    std::uint32_t begin_mark = 0;
    std::uint32_t end_mark = 0;
  };
  void mark();
  template <class T>
  const T* put_on_device(std::size_t kind, const std::vector<T>& values);

  StreamMachine& machine_;
  StreamOrder& order_;
  TimeMarks& marks_;
  DeviceId device_;
  std::array<StreamId, kStreamKinds> streams_{};
  std::unique_ptr<DeviceMemory> memory_;
  std::function<void(EventId)> wait_;
  std::vector<EventId> needed_;
  EventId done_ = StreamOrder::kAlways;
  bool worked_ = false;  ///< since `done_`
  std::vector<MarkId> own_marks_;
  std::vector<Ticks> mark_times_;
  std::vector<Unit> units_;
  mutable std::size_t ended_ = 0;                             ///< number of the first `units_` that have ended
  std::vector<std::pair<std::uint32_t, std::size_t>> moves_;  ///< transfer and unit
  std::vector<PartData> kept_;
  SharedScratch scratch_;
  std::map<std::pair<std::size_t, std::size_t>, std::byte*> id_places_;  ///< by kind of ids and bytes
  double* loss_place_ = nullptr;
  std::vector<std::pair<NotedLoss, const double*>> losses_;
  std::vector<std::byte*> stage_scratch_;
};

}  // namespace plumb
