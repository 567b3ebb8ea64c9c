#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/checks/action_table.hpp"
#include "schedules/checks/findings.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// A device's part in a stage: number `number` of the `of` devices that hold it.
struct Share {
  ReplicaId replica{};
  StageId stage{};
  std::size_t number = 0;
  std::size_t of = 1;
  std::int64_t exchanges = 0;  ///< SYNC_WEIGHTS of the stage in the device's list, once that has been checked
};

/// What the lists of a document hold, filled while they are checked one after another.
struct ListContents {
  std::vector<std::vector<Share>> shares;  ///< by device: what it holds, by replica, then stage
  ActionTable seen;
  std::vector<std::int16_t> replica_of;  ///< by microbatch; -1 until an action names it

  explicit ListContents(const Schedule& schedule);
};

/// Text of an action given by its parts; `number` -1 for collectives.
std::string text_of(StageId stage, Op op, std::int64_t number, ReplicaId replica);

/// Checks one device's list on its own: indices, holders, each action once, order on the device, updates and
/// reductions of its stages.
void check_list(const Schedule& schedule, DeviceId device, ListContents& contents, Findings& findings);

/// Checks that nothing is missing once all lists have been seen.
void check_complete(const Schedule& schedule, const ListContents& contents, Findings& findings);

/// Checks that explicit sends and receives match: each has the other, and those between two devices come in the same
/// order.
void check_transfers(const Schedule& schedule, Findings& findings);

/// Checks that all microbatches of a merged action are recomputed, or none. Every list is in order.
void check_recompute(const Schedule& schedule, Findings& findings);

/// Checks that the ends of `extra_edges` stand in the lists.
void check_extra_edges(const Schedule& schedule, Findings& findings);

/// Checks that the stages of every list of `start_together` are on one device each, all of them different.
void check_start_together(const Schedule& schedule, Findings& findings);

/// Checks that passes that start together are there on all of their devices, alone in their units. The lists of
/// `start_together` are in order.
void check_common_starts(const Schedule& schedule, Findings& findings);

/// Checks that the forwards of a teacher, if there is one, come in order and with their edges. Every list is in order.
void check_teacher(const Schedule& schedule, Findings& findings);

}  // namespace plumb
