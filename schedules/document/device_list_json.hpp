#pragma once

#include "models/ground/json_reader.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// Reads one device's list of a schedule document: texts of actions and repeat blocks, which stay folded.
/// Throws `Error` for anything else, and for blocks whose indices leave 0 .. 2147483647, before anything is expanded.
DeviceList device_list_from_json(const JsonValue& json);

}  // namespace plumb
