#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "schedules/program/waits.hpp"
#include "sim/timeline/timeline.hpp"
#include "trainer/device/holder_state.hpp"
#include "trainer/device/run_outputs.hpp"
#include "trainer/memory/arena.hpp"
#include "trainer/memory/live_buffers.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/plan/train_result.hpp"

namespace plumb {

/// One device of a run: the interpreter of `Program` that all executors share. It knows no schedule; buffers come and
/// go exactly by `schedules/program/program.hpp`, "Life of a buffer". One thread at a time.
class DeviceWorker {
 public:
  /// Both must outlive this. Allocates what lives the whole run.
  DeviceWorker(const RunPlan& plan, DeviceId device, const RunOutputs& outputs);

  InstrIndex position() const { return position_; }
  /// What stands just before the next instr: frees what was sent, posts receives. The next `step` does it otherwise.
  void prepare();
  bool is_prepared() const { return prepared_; }
  /// Ends the lane: frees what was sent last. `step` does it, unless there is a queue.
  void end_lane();
  /// Runs the next instr (an overlapped pair is one): frees what was sent, posts receives, waits, computes, sends.
  void step();
  /// Runs until `limit`, which stands between units.
  void run_to(InstrIndex limit) {
    while (position_ < limit) step();
    rerun_forwards();
  }

  /// Forwards to run again before anything but a V, which took back weights that they, or those before them, read.
  struct PendingReruns {
    std::int32_t update = 0;
    std::vector<InstrIndex> forwards;
    std::vector<std::uint32_t> messages;
  };
  const std::optional<PendingReruns>& pending_reruns() const { return pending_reruns_; }
  bool must_rerun() const;
  void rerun_forwards();
  /// Notes the times of the memory of a device with a queue; everything is done.
  void note_times();
  /// Back to the beginning of the document. `first_microbatch`: number of its first microbatch in the whole run.
  void start_document(std::int64_t first_microbatch);
  const Arena& arena() const { return arena_; }
  const std::vector<VersionRead>& versions_read() const { return versions_read_; }
  const std::vector<MemoryPoint>& memory() const { return memory_; }
  std::map<std::uint32_t, HolderState>& holders() { return holders_; }

  DeviceId device() const { return device_; }
  const RunPlan& plan() const { return plan_; }
  /// Returns what is there, for checkpoints; for restoring, the position, and blocks brought to life to be filled in.
  LiveBuffers& live() { return live_; }
  void restore(InstrIndex position, std::int64_t first_microbatch);
  StageStash& add_stash(const StashKey& key);
  std::span<std::byte> add_value(const ValueKey& key, std::int64_t bytes);
  /// Returns one block for every part of the message.
  const std::vector<Block>& add_buffer(std::uint32_t transfer, bool sending);
  void add_remote_stash(std::uint32_t move);

 private:
  /// A part of a microbatch that the unit under way works on.
  struct RunningPart {
    StashKey key;
    std::size_t part = 0;  ///< into `Program::parts`
    StageBlocks blocks;
    std::vector<EarlierSlice> earlier;
  };
  bool is_for_message(const Wait& wait) const { return is_for_transfer(wait) && !plan_.program.is_move(wait.via); }
  std::uint32_t holder_index(InstrIndex at) const { return plan_.row(at).holder; }
  void before(InstrIndex at);
  void update_remote_stashes(std::size_t place);
  void evict(InstrIndex at);
  void free_evicted(std::uint32_t transfer);
  void load(InstrIndex at);
  void note_move(InstrIndex at);
  template <class Visit>
  void for_each_stash(InstrIndex at, Visit&& visit);
  void await(InstrIndex at);
  void take_messages(InstrIndex at);
  void begin(InstrIndex at);
  void begin_pass(InstrIndex at);
  StashLife stash_life(InstrIndex at) const;
  void begin_part(InstrIndex at, RunningPart& running);
  void make_key_grads(const RunningPart& last);
  void make_room_for_teacher(const RunningPart& running);
  std::int64_t update_of(InstrIndex at) const;
  SoftTargets soft_targets(Op op, const RunningPart& running);
  void forget_teacher(const RunningPart& running);
  void find_earlier(RunningPart& running);
  void compute(InstrIndex at);
  void compute_pass(InstrIndex at, HolderState& holder);
  void compute_part(InstrIndex at, HolderState& holder, const RunningPart& running, PassArguments pass);
  void begin_validation(InstrIndex at);
  void propose(InstrIndex at, HolderState& holder);
  void validate(InstrIndex at, HolderState& holder);
  UpdateDecision decision(std::span<const std::uint32_t> known, std::uint32_t own, std::int32_t update) const;
  bool was_wrong(InstrIndex validation) const;
  void run_again(InstrIndex forward);
  Block input_again(RunningPart& running, std::span<const std::byte> message);
  std::vector<std::byte> message_again(InstrIndex forward);
  void hand_over_again(InstrIndex forward, const RunningPart& running, const Block& output);
  void reduce(InstrIndex at, HolderState& holder);
  std::vector<std::span<std::byte>> reduced_pieces(std::uint32_t collective, HolderState& holder) const;
  void collect(InstrIndex at, HolderState& holder);
  void collect_weights(std::uint32_t collective, HolderState& holder);
  void end(InstrIndex at);
  void end_part(InstrIndex at, const RunningPart& running);
  void forget_forward(StashKey last);
  void send(InstrIndex at);

  /// While it lives, blocks are the microbatch's.
  std::optional<Arena::Lent> blocks_of(std::int32_t microbatch);
  std::vector<Block> allocate_message(std::uint32_t transfer);
  Block take_value(InstrIndex at, const RunningPart& running);
  void hand_over(InstrIndex at, const RunningPart& running, Block value);
  Ticks now() const;
  void show_gradients(HolderState& holder, std::int64_t microbatch);
  void note_memory(std::int64_t time);

  const RunPlan& plan_;
  DeviceId device_;
  RunOutputs outputs_;
  Arena arena_;
  bool lends_lanes_;
  SharedByCopies shared_;
  std::map<std::uint32_t, HolderState> holders_;
  InstrIndex position_;
  bool prepared_ = false;
  std::int64_t first_microbatch_ = 0;
  LiveBuffers live_;
  std::map<InstrIndex, std::vector<RunningPart>> running_;  ///< parts of the unit under way, by microbatch and slice
  std::optional<PendingReruns> pending_reruns_;
  std::vector<Block> spare_;  ///< room for a forward of the V under way
  std::vector<VersionRead> versions_read_;
  std::vector<MemoryPoint> memory_;
  std::size_t timed_memory_ = 0;  ///< points with their time; the others have a mark of the queue
};

}  // namespace plumb
