#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedules/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/arguments.hpp"

namespace plumb {

/// Options that say how messages travel and which engine runs.
struct SimulationArguments {
  std::string transfers = "buffered";
  std::string engine = "auto";
  std::string receives = "ahead";
  std::optional<std::int64_t> send_buffers;
  std::optional<std::int64_t> seed;

  /// Declares the options; this object must outlive the parsing.
  void add_to(ArgumentParser& parser);

  /// Throw `Error` for unknown names, with the nearest one.
  SimOptions simulation() const;
  LowerOptions lowering() const;
};

}  // namespace plumb
