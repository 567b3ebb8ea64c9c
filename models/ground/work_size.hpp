#pragma once

#include <cstdint>
#include <string>

namespace plumb {

/// What it takes to go over all actions of a schedule: to simulate, check or write them.
struct WorkSize {
  std::int64_t actions = 0;
  std::int64_t bytes = 0;  ///< bytes of memory, rather too few than too many
  double seconds = 0;      ///< on one core of an ordinary machine, within a factor of three
};

/// Returns the size of work on so many actions, from bytes and seconds of each.
WorkSize work_size(double actions, double bytes_each, double seconds_each);

/// Throws `Error` when the work needs more memory than this process can get: one line that begins with `what` and says
/// what the work takes and what there is.
void check_work_size(const std::string& what, const WorkSize& size);

/// Returns a number of bytes as "3.5 GiB".
std::string gibibytes(std::int64_t bytes);

}  // namespace plumb
