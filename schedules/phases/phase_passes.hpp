#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "schedules/document/action.hpp"
#include "schedules/document/device_list.hpp"
#include "schedules/phases/phase_frame.hpp"

namespace plumb {

/// What a pattern asks for, its expressions taken.
struct WantedPass {
  Op op{};
  std::int32_t copy = 0;
  std::int64_t chunk = -1;  ///< -1: any (of W)
  std::int16_t where = Action::kNowhere;
  std::int64_t merged = 1;  ///< microbatches at once
  bool newest = false;
  bool with_next = false;
};

/// The passes of one device that have been written, and which one is next.
///
/// Forwards of a chunk are numbered by slice; what they keep is numbered in the order in which backwards take it:
/// number k is slice `slices` - 1 - k % `slices` of microbatch k / `slices`. Both are held as runs, so that turns of a
/// pattern can be skipped.
class PhasePasses {
 public:
  explicit PhasePasses(const PhaseFrame& frame);

  /// None has been written.
  void begin(std::int32_t device);

  bool holds(std::int32_t copy, std::int64_t chunk) const { return frame_.stage(copy, chunk, device_) >= 0; }

  /// The action for it; nothing where its microbatch is beyond those that there are. Throws `Error("<where>: ...")`
  /// when there is none left.
  std::optional<Action> take(const WantedPass& wanted, const std::string& where);

  /// Backwards of the chunk that have been taken.
  std::int64_t backwards(std::int32_t copy, std::int64_t chunk) const {
    const Chunk& one = chunks_[frame_.place(copy, chunk)];
    return one.taken.oldest + one.taken.newest;
  }
  std::int64_t updates(std::int32_t copy, std::int64_t chunk) const {
    return chunks_[frame_.place(copy, chunk)].taken.updates;
  }
  /// The microbatch that the next backward of the chunk takes; -1: none.
  std::int64_t next_backward(std::int32_t copy, std::int64_t chunk, bool newest) const;

  /// How many passes of each kind a chunk has taken.
  struct Taken {
    std::int64_t forwards = 0;
    std::int64_t oldest = 0;  ///< backwards of the oldest microbatch, ...
    std::int64_t newest = 0;  ///< ... of the newest
    std::int64_t inputs = 0;  ///< those of both that leave a weight gradient
    std::int64_t weights = 0;
    std::int64_t weights_of_any = 0;  ///< those of them that named no chunk
    std::int64_t newest_weights = 0;  ///< those of them that took the newest
    std::int64_t recomputes = 0;
    std::int64_t updates = 0;

    friend bool operator==(const Taken&, const Taken&) = default;
  };
  /// What is known of a chunk where a turn begins.
  struct Stand {
    Taken taken;
    bool even = false;        ///< backwards take what stands in one run, and forwards add to it
    std::int64_t front = 0;   ///< length of the first run that backwards take, ...
    std::int64_t back = 0;    ///< ... of the last one
    std::int64_t first = 0;   ///< the number that the next backward takes of the first run
    std::int64_t last = 0;    ///< ... of the last one
    bool waits_even = false;  ///< weight gradients likewise
    std::int64_t waiting = 0;
  };

  /// A turn begins; another one may begin and end inside.
  void begin_turn();
  void end_turn() { --depth_; }
  /// Backwards of the chunk since the turn began.
  std::int64_t backwards_of_turn(std::int32_t copy, std::int64_t chunk) const {
    const Taken turn = taken_in_turn(frame_.place(copy, chunk));
    return turn.oldest + turn.newest;
  }

  /// Turns that may be left out because they do the same as this one, `advance` later.
  struct Skip {
    std::int64_t turns = 0;
    Advance advance;
  };
  /// At most `most`. What a turn does follows from where runs begin; as long as it takes from one run and adds to it,
  /// the next turn does the same with all numbers moved by what was taken.
  Skip skippable(std::int64_t most);

  /// The passes of so many more turns like this one, behind `skippable`.
  void skip(std::int64_t turns);

  /// Throws `Error` when passes are missing.
  void check_all(const std::string& where) const;

 private:
  /// Numbers [begin, end).
  struct Run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
  };
  /// Weight gradients that wait: `first`, `first` + `step`, ... The i-th has been waiting since `since` + i `apart`.
  struct Waiting {
    std::int64_t first = 0;
    std::int64_t step = 1;
    std::int64_t count = 0;
    std::int64_t since = 0;
    std::int64_t apart = 1;
    std::int64_t size() const { return count; }
  };
  struct Chunk {
    Taken taken;
    std::int64_t recomputed = 0;  ///< numbers below have been recomputed, if at all
    std::deque<Run> kept;
    std::deque<Waiting> waiting;
    std::uint64_t touched = 0;  ///< the time at which the turn began that last took of it
  };
  /// A turn: chunks that it has taken of, as they stood before.
  struct Turn {
    std::uint64_t since = 0;
    std::vector<Stand> before;  ///< by place
    std::vector<Taken> taken;   ///< what a turn takes, as `skippable` found it
  };
  class TurnCheck;

  std::int64_t forward(const WantedPass& wanted, Chunk& chunk, const std::string& where) const;
  std::int64_t backward(const WantedPass& wanted, Chunk& chunk, const std::string& where);
  std::int64_t recompute(const WantedPass& wanted, Chunk& chunk, const std::string& where) const;
  /// The chunk that it is of is told, too.
  std::int64_t weight(const WantedPass& wanted, std::size_t& place, const std::string& where);
  void leave_weight(Chunk& chunk, std::int64_t number);
  static void leave_weights(Chunk& chunk, std::int64_t count, std::int64_t apart);
  void skip_kept(Chunk& chunk, const Taken& turn, std::int64_t turns, std::int64_t gained);
  void take_newest_slices(Chunk& chunk, std::int64_t count) const;
  Action without_microbatch(const WantedPass& wanted, Chunk& chunk) const;
  std::int64_t microbatch_of(std::int32_t copy, std::int64_t number) const;
  /// The number of what the next whole microbatch of forwards keeps first.
  std::int64_t next_kept(const Chunk& chunk) const { return whole(chunk.taken.forwards); }
  /// The first slice of the microbatch.
  std::int64_t whole(std::int64_t number) const {
    return frame_.slices == 1 ? number : number / frame_.slices * frame_.slices;
  }
  Stand stand_of(const Chunk& chunk) const;
  /// Before anything of the chunk changes.
  void touch(std::size_t place);
  Taken taken_in_turn(std::size_t place) const;
  [[noreturn]] void fail(const std::string& where, const std::string& what) const;
  std::string name_of(const WantedPass& wanted) const;

  const PhaseFrame& frame_;
  std::int32_t device_ = 0;
  std::vector<Chunk> chunks_;   ///< by copy, then chunk
  std::int64_t left_over_ = 0;  ///< weight gradients that inputs have left so far
  std::vector<Turn> turns_;     ///< the first `depth_` of them have begun
  std::size_t depth_ = 0;
  std::uint64_t time_ = 0;  ///< turns that have begun so far
};

}  // namespace plumb
