#include "models/ground/work_size.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "models/ground/available_memory.hpp"
#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Bytes below which nobody is asked whether they are there: the answer takes longer than such work.
constexpr std::int64_t kSmallWork = std::int64_t{16} << 20U;

/// Returns a number with one decimal and a unit.
std::string rounded(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

std::int64_t whole(double value) {
  return std::llround(std::min(value, static_cast<double>(std::numeric_limits<std::int64_t>::max() / 2)));
}

}  // namespace

WorkSize work_size(double actions, double bytes_each, double seconds_each) {
  return {.actions = whole(actions), .bytes = whole(actions * bytes_each), .seconds = actions * seconds_each};
}

void check_work_size(const std::string& what, const WorkSize& size) {
  if (size.bytes <= kSmallWork) return;
  const auto available = available_memory();
  if (!available || size.bytes <= *available) return;
  throw Error(what + ": they take about " + gibibytes(size.bytes) + " of memory and " + rounded(size.seconds, "s") +
              "; expected at most " + gibibytes(*available) + ", which this process can get");
}

std::string gibibytes(std::int64_t bytes) { return rounded(static_cast<double>(bytes) / 0x1p30, "GiB"); }

}  // namespace plumb
