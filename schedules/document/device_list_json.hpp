#pragma once

#include "models/ground/json_reader.hpp"
#include "models/ground/mistakes.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// Reads one device's list of a schedule document: texts of actions and repeat blocks, which stay folded.
/// Notes every item that is something else, and blocks whose indices leave 0 .. 2147483647, before anything is
/// expanded; the list is then of no use. Throws `Error` where `json` is no array, and `Errors` for too many mistakes.
DeviceList device_list_from_json(const JsonValue& json, Mistakes& mistakes);

}  // namespace plumb
