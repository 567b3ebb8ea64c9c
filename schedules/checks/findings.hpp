#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedules/checks/violation.hpp"

namespace plumb {

/// Collects violations; after the first 10000 it only counts, so that the report of a very wrong document stays short.
class Findings {
 public:
  static constexpr std::size_t kMost = 10000;

  void add(std::size_t device, std::int64_t position, std::string action, std::string reason) {
    if (++count_ > static_cast<std::int64_t>(kMost)) return;
    list_.push_back({DeviceId{static_cast<std::int32_t>(device)}, static_cast<std::size_t>(position), std::move(action),
                     std::move(reason)});
  }

  bool empty() const { return count_ == 0; }

  /// In order of device and position; the last one says how many more there are.
  std::vector<Violation> take();

 private:
  std::int64_t count_ = 0;
  std::vector<Violation> list_;
};

}  // namespace plumb
