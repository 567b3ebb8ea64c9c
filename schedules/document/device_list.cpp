#include "schedules/document/device_list.hpp"

#include <limits>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

std::int64_t saturating_add(std::int64_t a, std::int64_t b) { return a > kHuge - b ? kHuge : a + b; }
std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) { return b != 0 && a > kHuge / b ? kHuge : a * b; }

/// Walks the items of [begin, end); `next` is the first repeat not yet opened.
std::int64_t count(const DeviceList& list, std::size_t begin, std::size_t end, std::size_t& next) {
  std::int64_t total = 0;
  for (std::size_t at = begin; at < end;) {
    if (next < list.repeats.size() && list.repeats[next].begin == at && list.repeats[next].end <= end) {
      const Repeat& repeat = list.repeats[next++];
      total = saturating_add(total, saturating_multiply(count(list, at, repeat.end, next), repeat.count));
      at = repeat.end;
    } else {
      total = saturating_add(total, 1);
      ++at;
    }
  }
  return total;
}

/// Appends [begin, end) to `out`; returns the first repeat after it.
std::size_t append(const DeviceList& list, std::size_t begin, std::size_t end, std::size_t next,
                   std::vector<Action>& out) {
  for (std::size_t at = begin; at < end;) {
    if (next >= list.repeats.size() || list.repeats[next].begin != at || list.repeats[next].end > end) {
      out.push_back(list.actions[at++]);
      continue;
    }
    const Repeat& repeat = list.repeats[next];
    const std::size_t first = out.size();
    const std::size_t after = append(list, at, repeat.end, next + 1, out);
    const std::size_t length = out.size() - first;
    for (std::int64_t i = 1; i < repeat.count; ++i) {
      for (std::size_t j = 0; j < length; ++j) {
        out.push_back(advanced(out[out.size() - length], repeat.advance));
      }
    }
    if (repeat.count == 0) out.resize(first);
    next = after;
    at = repeat.end;
  }
  return next;
}

}  // namespace

std::int64_t expanded_size(const DeviceList& list) {
  if (list.repeats.empty()) return static_cast<std::int64_t>(list.actions.size());
  std::size_t next = 0;
  return count(list, 0, list.actions.size(), next);
}

std::vector<Action> expand(const DeviceList& list, std::int64_t limit) {
  const std::int64_t size = expanded_size(list);
  if (size > limit) {
    throw Error("a device list expands to " + std::to_string(size) + " actions; expected at most " +
                std::to_string(limit));
  }
  std::vector<Action> out;
  out.reserve(static_cast<std::size_t>(size));
  append(list, 0, list.actions.size(), 0, out);
  return out;
}

}  // namespace plumb
