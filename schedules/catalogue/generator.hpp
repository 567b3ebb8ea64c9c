#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schedules/catalogue/list_builder.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"

// What the generators share. Symbols: `p` devices, `m` microbatches per update, `v` chunks per device.

namespace plumb {

/// The largest number of microbatches that an index can name.
inline constexpr std::int64_t kMostMicrobatches = std::numeric_limits<std::int32_t>::max();

/// Throws `Error("<name>: <rule>")` unless `ok`.
void require(bool ok, std::string_view name, const std::string& rule);

/// Throws unless one chunk per device (or none named) was asked for.
void require_one_chunk(std::string_view name, const ScheduleParams& params);

/// The option's value, which the table of the schedule's options allows; the first of `choices` when not given.
std::string choice(std::string_view name, const ScheduleParams& params, const std::string& key,
                   std::span<const std::string_view> choices);
inline std::string choice(std::string_view name, const ScheduleParams& params, const std::string& key,
                          std::initializer_list<std::string_view> choices) {
  return choice(name, params, key, std::span(choices.begin(), choices.size()));
}

/// The option as a whole number of at least `least`, `otherwise` when not given. Throws `Error` for anything else.
std::int64_t whole_number(std::string_view name, const ScheduleParams& params, const std::string& key,
                          std::int64_t otherwise, std::int64_t least = 1);

/// A schedule of one replica with stage s on device s mod p, without its lists; `parameters` holds p, m and, where it
/// is not 1, `updates`. Throws `Error` when m x updates exceeds what a microbatch index can name.
Schedule looped_schedule(std::string_view name, const ScheduleParams& params, std::int32_t chunks,
                         std::int64_t updates);

/// A device's list of a synchronous schedule: `step(list)` writes one update from microbatch 0 to `0U0`; it is repeated
/// for all updates.
template <class Step>
DeviceList repeat_steps(const ScheduleParams& params, std::int64_t updates, Step&& step) {
  ListBuilder list;
  const Advance next{.microbatch = static_cast<std::int32_t>(params.num_microbatches), .update = 1};
  list.repeat(updates, next, [&] { std::forward<Step>(step)(list); });
  return list.take();
}

/// The number of updates in `params`, or `otherwise` if there is none.
inline std::int64_t updates_or(const ScheduleParams& params, std::int64_t otherwise) {
  return params.updates > 0 ? params.updates : otherwise;
}

}  // namespace plumb
