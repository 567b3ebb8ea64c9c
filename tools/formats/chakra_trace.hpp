#pragma once

#include <string>
#include <vector>

#include "schedules/program/program.hpp"

namespace plumb {

/// Chakra execution traces (MLCommons, schema/protobuf/et_def.proto) of `program`, one per device, as ASTRA-sim reads
/// them: a metadata message, then a node per action, send, receive and reduction, each preceded by its length.
///
/// A device's compute is a chain of control dependencies; what it waits for from others are data dependencies on its
/// receives. Durations are whole microseconds. A send and its receive have the same size and a tag of their own.
/// Memory and the reasons of idle time are lost. Throws `Error` without transfers between devices (abstract costs) and
/// for moves of stashes or weights.
std::vector<std::string> chakra_traces(const Program& program);

/// Writes PREFIX.0.et, PREFIX.1.et ...
void write_chakra_traces(const Program& program, const std::string& prefix);

}  // namespace plumb
