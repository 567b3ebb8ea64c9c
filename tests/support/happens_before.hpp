#pragma once

#include <string>
#include <vector>

#include "schedules/program/program.hpp"
#include "tests/support/stream_log.hpp"

namespace plumb {

/// What is wrong with the order that the calls of `log` give to the work: by the order of every stream, and by events.
/// Empty when whatever the streams do at the same time can do no harm:
///
/// - of two accesses to the same memory, one of them a write, one happens before the other;
/// - a block is touched after its begin and before its end only, and read only after a write;
/// - an event is recorded before anybody waits for it;
/// - work touches the memory of its own device, a copy also the host's; only a send touches two.
///
/// A cycle cannot be: every wait is for a record that was asked for before.
std::vector<std::string> find_races(const StreamLog& log);

/// Edges of the program that the log does not imply: the lane of every device, and what an instr waits for. `log` is of
/// one run of the document.
std::vector<std::string> find_missing_edges(const StreamLog& log, const Program& program);

}  // namespace plumb
