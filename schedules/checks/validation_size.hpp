#pragma once

#include <cstdint>

#include "models/ground/work_size.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// Actions of all lists, repeats unfolded; the largest number where there are more.
std::int64_t action_count(const Schedule& schedule);

/// What `validate` takes.
WorkSize validation_size(const Schedule& schedule);

/// What `check_runs` takes where messages travel, in all modes.
WorkSize message_check_size(const Schedule& schedule);

/// Throws `Error` when `check_document` would take hours (more than 2^28 actions, or cells of its tables) or more
/// memory than this process can get.
void check_document_size(const Schedule& schedule);
/// The same for `validate`.
void check_validation_size(const Schedule& schedule);
/// Throws `Error` when work of this size on all actions takes more memory than this process can get.
void check_size_to_check(const Schedule& schedule, const WorkSize& size);

}  // namespace plumb
