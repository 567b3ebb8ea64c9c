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
#include "sim/memory_plan.hpp"

namespace plumb {

/// Moments at which buffers come and go: just before an instr (waits of sends, then posts), at its start, at its end.
enum class MemoryPhase : std::uint8_t { kBefore, kStart, kEnd };

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

/// Where to find what belongs to a device; made once per Program.
struct MemoryPositions {
  explicit MemoryPositions(const Program& program);

  const Program* program;
  IndexLists by_channel;                      ///< transfers in order of index
  IndexLists channels_from;                   ///< channels by sending device
  IndexLists channels_to;                     ///< channels by receiving device
  IndexLists versions;                        ///< kept versions by device
  std::vector<RowPlan> plans;                 ///< by row; empty when memory is not modelled
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
  const Row& row(InstrIndex i) const { return program_.rows[program_.instrs[i].row]; }
  bool comes_without_transfer(InstrIndex i) const;
  bool leaves_without_transfer(InstrIndex i) const;
  bool was_recomputed(InstrIndex i);

  void add(const MemoryChange& change);
  void free_sends(InstrIndex i);
  void before(InstrIndex i);
  void start(InstrIndex i);
  void make_value(InstrIndex i, const PlannedChange& planned);
  void end(InstrIndex i);
  void change_versions(InstrIndex i, MemoryPhase phase, const IndexLists& versions, std::int64_t sign);

  const MemoryPositions& positions_;
  const Program& program_;
  InstrIndex begin_;
  InstrIndex end_;
  InstrIndex next_;
  IndexLists made_;            ///< transfers by producer
  IndexLists sent_;            ///< transfers by `sent`
  IndexLists posted_;          ///< transfers by `post`
  IndexLists replaced_;        ///< kept versions by `replaced_by`
  IndexLists read_;            ///< kept versions by `last_reader`
  std::set<Work> recomputed_;  ///< stashes made again by an R

  std::vector<MemoryChange>* changes_ = nullptr;
};

}  // namespace plumb
