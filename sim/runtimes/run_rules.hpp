#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// Which system runs a schedule, what replaces the system's own rules for messages, and how the run is simulated.
struct RunRules {
  std::string runtime{};                    ///< a row of `runtime_presets`; empty: `plumbline`
  std::optional<TransferMode> transfers{};  ///< none: the system's
  std::optional<ReceivePlacement> receives{};
  std::optional<std::int64_t> send_buffers{};
  EngineChoice engine = EngineChoice::kAuto;
  std::optional<std::int64_t> seed{};  ///< seed of the jitter; none: 0

  std::uint64_t seed_or_zero() const { return static_cast<std::uint64_t>(seed.value_or(0)); }

  /// Returns what the system does with the messages of `schedule`. Throw `Error` for an unknown system, with the
  /// nearest one.
  LowerOptions lowering(const Schedule& schedule) const;
  SimOptions simulation(const Schedule& schedule) const;
};

}  // namespace plumb
