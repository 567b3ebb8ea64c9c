#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "models/memory_class.hpp"
#include "models/units.hpp"
#include "schedules/program.hpp"
#include "sim/index_lists.hpp"

namespace plumb {

/// Moments at which buffers come and go: just before an instr (waits of sends, then posts), at its start, at its end.
enum class MemoryPhase : std::uint8_t { kBefore, kStart, kEnd };

/// What a buffer holds. Stash tensors of equal life count as one buffer.
enum class BufferKind : std::uint8_t {
  kStashForInputGrad,   ///< made by F, last read by I
  kStashForWeightGrad,  ///< made by F, last read by W
  kStashFromInputGrad,  ///< made by I, last read by W
  kInput,               ///< the stage's input, received or handed over on the device
  kOutput,              ///< the stage's output, on its way to another device
  kOutputGrad,          ///< gradient received for the output, or handed over on the device
  kInputGrad,           ///< gradient of the input, on its way to another device
  kWeightVersion,       ///< a version that an update replaced
  kWorkspace,
};

/// One step of the life of a buffer on one device (schedules/program.hpp, "Life of a buffer").
struct MemoryChange {
  InstrIndex instr = 0;  ///< where it happens; the lane's end for sends waited for behind the last instr (kBefore)
  MemoryPhase phase{};
  MemoryClass cls{};
  BufferKind buffer{};
  InstrIndex owner = 0;    ///< the instr whose stage and microbatches the buffer belongs to
  std::int64_t bytes = 0;  ///< negative when freed

  friend bool operator==(const MemoryChange&, const MemoryChange&) = default;
};

/// The kind of buffer that a stash tensor lives in.
BufferKind buffer_of(const StashTensor& tensor);

/// Where to find what belongs to a device; made once per Program.
struct MemoryPositions {
  explicit MemoryPositions(const Program& program);

  const Program* program;
  IndexLists by_channel;                      ///< transfers in order of index
  IndexLists channels_from;                   ///< channels by sending device
  IndexLists channels_to;                     ///< channels by receiving device
  IndexLists versions;                        ///< kept versions by device
  std::vector<bool> leaves_without_transfer;  ///< by instr: another device gets its value by an edge that is no
                                              ///< transfer; empty when transfers exist
};

/// Tells the changes of one device, lane position by lane position.
///
/// Within one position the order is: frees of waited-for sends, new receive slots (by index of the transfer); at a
/// start: the input changes from transfer to its kept class, then stash, outputs, workspace, weight version; at an end:
/// workspace, stash, input, output gradient, weight versions. Edges that are latencies have a send buffer during their
/// producer and a receive slot from just before their consumer. Without backwards (forward_only) F keeps nothing.
class MemoryChanges {
 public:
  /// `positions` and its program must outlive this. Linear in the lane.
  MemoryChanges(const MemoryPositions& positions, DeviceId device);

  /// Replaces `changes` by those of the next instr (an overlapped pair is one; the last call has the sends waited for
  /// at the lane's end). False when the lane is over.
  bool next(std::vector<MemoryChange>& changes);

  InstrIndex lane_begin() const { return begin_; }
  InstrIndex lane_end() const { return end_; }

  /// Transfers whose send the lane waits for just before `i` (or at the lane's end).
  std::span<const std::uint32_t> sends_waited_for(InstrIndex i) const { return sent_.of(i - begin_); }

 private:
  using Work = std::tuple<std::uint32_t, MicrobatchId, std::int16_t>;

  void index_transfers(DeviceId device);
  template <class T>
  IndexLists by_position(std::span<const std::uint32_t> chosen, const std::vector<T>& all,
                         InstrIndex T::*position) const;
  const Row& row(InstrIndex i) const;
  std::size_t stage(InstrIndex i) const;
  const StageMemory& memory(InstrIndex i) const;
  Work work_of(InstrIndex i) const;
  bool comes_without_transfer(InstrIndex i) const;
  bool leaves_without_transfer(InstrIndex i) const;
  bool keeps_input(InstrIndex i) const;
  bool was_recomputed(InstrIndex i);

  void at(InstrIndex i, MemoryPhase phase);
  void change(MemoryClass cls, BufferKind buffer, std::int64_t bytes);
  void free_sends(InstrIndex i);
  void before(InstrIndex i);
  void start(InstrIndex i);
  void start_forward(InstrIndex i);
  void start_backward(InstrIndex i);
  void make_value(InstrIndex i, BufferKind buffer, BufferKind handed_over, std::int64_t bytes);
  void allocate_stash(InstrIndex i, std::int64_t times);
  void change_versions(InstrIndex i, const IndexLists& versions, std::int64_t sign);
  void end(InstrIndex i);
  void end_forward(InstrIndex i);
  void end_backward(InstrIndex i);
  void free_stash_for_weight_grad(InstrIndex i);

  /// Bytes of a stage's stash by life, all tensors together.
  struct StashSums {
    std::int64_t for_i = 0;
    std::int64_t for_w = 0;
    std::int64_t from_i = 0;
  };

  const MemoryPositions& positions_;
  const Program& program_;
  InstrIndex begin_;
  InstrIndex end_;
  InstrIndex next_;
  IndexLists made_;              ///< transfers by producer
  IndexLists sent_;              ///< transfers by `sent`
  IndexLists posted_;            ///< transfers by `post`
  IndexLists replaced_;          ///< kept versions by `replaced_by`
  IndexLists read_;              ///< kept versions by `last_reader`
  std::vector<StashSums> sums_;  ///< by stage
  std::set<Work> recomputed_;    ///< stashes made again by an R

  std::vector<MemoryChange>* changes_ = nullptr;
  InstrIndex at_ = 0;
  InstrIndex owner_ = 0;
  MemoryPhase phase_{};
};

}  // namespace plumb
