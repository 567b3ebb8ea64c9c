#pragma once

#include <string>
#include <vector>

#include "schedules/program/program.hpp"

namespace plumb {

/// What `program` breaks of the rules that simulator and trainer rely on, one line each; empty for every result of
/// `lower`: lanes, rows and waits in range, no wait for something later in the same lane, transfers in their lanes and
/// in the order of their channel, versions kept until their last reader.
std::vector<std::string> check_program(const Program& program);

}  // namespace plumb
