#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "schedules/document/action.hpp"
#include "schedules/phases/phase_frame.hpp"

namespace plumb {

/// What a pattern asks for, its expressions taken.
struct WantedPass {
  Op op{};
  std::int32_t copy = 0;
  std::int64_t chunk = -1;  ///< -1: any (of W)
  std::int16_t where = Action::kNowhere;
  bool newest = false;
  bool with_next = false;
};

/// The passes of one device that have been written, and which one is next.
class PhasePasses {
 public:
  PhasePasses(const PhaseFrame& frame, std::int32_t device);

  bool holds(std::int32_t copy, std::int64_t chunk) const { return frame_.stage(copy, chunk, device_) >= 0; }

  /// The action for it; nothing where its microbatch is beyond those that there are. Throws `Error("<where>: ...")`
  /// when there is none left.
  std::optional<Action> take(const WantedPass& wanted, const std::string& where);

  /// Throws `Error` when passes are missing.
  void check_all(const std::string& where) const;

 private:
  /// A slice of a microbatch, by its number in the copy.
  struct Unit {
    std::int64_t number = 0;
    std::int64_t slice = 0;
    bool recomputed = false;
  };
  struct Chunk {
    std::int64_t forwards = 0;  ///< units
    std::int64_t updates = 0;
    std::deque<Unit> kept;  ///< forwards without a backward, of whole microbatches
  };
  struct Waiting {
    std::size_t place = 0;
    Unit unit;
  };

  Unit forward(const WantedPass& wanted, Chunk& chunk, const std::string& where) const;
  /// The place in `kept` of what a backward or a recompute takes next.
  std::size_t next_kept(const Chunk& chunk, const WantedPass& wanted, const std::string& where) const;
  Waiting weight(const WantedPass& wanted, const std::string& where);
  Action without_microbatch(const WantedPass& wanted, Chunk& chunk) const;
  std::int64_t microbatch_of(std::int32_t copy, std::int64_t number) const;
  [[noreturn]] void fail(const std::string& where, const std::string& what) const;
  std::string name_of(const WantedPass& wanted) const;

  const PhaseFrame& frame_;
  std::int32_t device_;
  std::vector<Chunk> chunks_;  ///< by copy, then chunk
  std::deque<Waiting> waiting_;
};

}  // namespace plumb
