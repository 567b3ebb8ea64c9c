#pragma once

#include <cstdint>
#include <optional>

namespace plumb {

/// What the process may take from now on. Limits that are stricter already stay.
struct ProcessLimits {
  std::optional<std::int64_t> seconds{};  ///< of all processors together
  std::optional<std::int64_t> bytes{};    ///< of address space, which memory comes from

  /// Beyond `seconds` the process ends with one line and the status of wrong input; beyond `bytes` it gets no memory.
  /// Throws `Error` where the system refuses.
  void put_in_force() const;
};

}  // namespace plumb
