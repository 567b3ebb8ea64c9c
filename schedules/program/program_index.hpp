#pragma once

#include <mutex>

#include "schedules/program/index_lists.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Which transfers do something at an instr: what an executor asks at every step. Made once per program and shared by
/// everything that runs or reads it. Each list is made when it is first asked for, so nothing is paid for lists that
/// nobody needs; threads may ask at the same time. Asking is an atomic operation, so a hot loop asks before it begins.
/// Within an instr transfers stand in order of index.
class ProgramIndex {
 public:
  /// `program` must outlive this, and its transfers must not change.
  explicit ProgramIndex(const Program& program) : program_(program) {}
  explicit ProgramIndex(const Program&&) = delete;

  const Program& program() const { return program_; }

  const IndexLists& made() const;    ///< by `Transfer::producer`
  const IndexLists& issued() const;  ///< by `Transfer::issue`
  const IndexLists& posted() const;  ///< by `Transfer::post`
  /// By `Transfer::sent`, the instr before which the sender waits; those awaited at the end of a lane by `lane_end`.
  const IndexLists& sent() const;

  /// The key in `sent` of the end of the device's lane.
  std::size_t lane_end(DeviceId device) const { return program_.size() + index(device); }

 private:
  struct LazyLists {
    std::once_flag once;
    IndexLists lists;
  };

  template <class Key>
  const IndexLists& lists_of(LazyLists& lazy, Key&& key) const;

  const Program& program_;
  mutable LazyLists made_;
  mutable LazyLists issued_;
  mutable LazyLists posted_;
  mutable LazyLists sent_;
};

}  // namespace plumb
