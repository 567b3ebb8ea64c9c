#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plumb {

/// What can be under way at one moment, as far as others feel it: actions by op (V counts as U, an overlapped pair is
/// F+B), messages being sent, collectives.
enum class Load : std::uint8_t { kF, kB, kI, kW, kR, kU, kX, kPair, kMessage, kCollective };

inline constexpr std::size_t kLoadCount = 10;
/// The first ones compute.
inline constexpr std::size_t kComputeLoads = 8;

inline constexpr std::array<std::string_view, kLoadCount> kLoadNames{"F", "B", "I",   "W",       "R",
                                                                     "U", "X", "F+B", "message", "collective"};

/// A set of loads, one bit each.
using LoadSet = std::uint32_t;

constexpr LoadSet set_of(Load load) { return LoadSet{1} << static_cast<unsigned>(load); }
constexpr bool has(LoadSet set, std::size_t load) { return ((set >> load) & 1U) != 0; }

/// How much longer actions take while others are under way.
struct Slowdown {
  LoadSet of = 0;             ///< actions that feel it
  LoadSet by = 0;             ///< what they feel
  std::vector<double> gamma;  ///< with 1, 2, ... of these under way elsewhere; with more: the last one

  friend bool operator==(const Slowdown&, const Slowdown&) = default;
};

struct ClockPoint {
  double load = 0;
  double clock = 1;  ///< share of the full clock, (0, 1]

  friend bool operator==(const ClockPoint&, const ClockPoint&) = default;
};

/// The clock that the load allows, and how fast it follows.
struct ClockModel {
  bool per_device = false;                ///< every device has a clock of its own; otherwise one for all of a node
  std::array<double, kLoadCount> load{};  ///< what each thing under way adds
  std::vector<ClockPoint> points;         ///< by ascending load, linear between, constant outside
  std::int64_t period_ns = 0;             ///< the clock moves at multiples of it; 0: at once
  double gain = 1;                        ///< by this share of the difference, (0, 1]

  friend bool operator==(const ClockModel&, const ClockModel&) = default;
};

/// How much devices slow each other down. An action of kind i proceeds at the rate
///
///     clock x (1 - occupied) / (1 + sum of gamma_ij(n_j))
///
/// where n_j counts what else is under way in its node (a message in those of both its ends), j over the slowdowns that
/// concern i, and `occupied` is the share of the device's multiprocessors that messages being sent from it or to it,
/// and collectives that it takes part in, occupy (at most 0.99). Times of actions are those alone, at full clock.
struct Contention {
  std::vector<Slowdown> slowdowns;
  double message_slowdown = 0;     ///< share of the device at either end that a message occupies; [0, 1)
  double collective_slowdown = 0;  ///< share of every member that a collective occupies; [0, 1)
  std::optional<ClockModel> clock;

  bool empty() const { return slowdowns.empty() && message_slowdown == 0 && collective_slowdown == 0 && !clock; }

  friend bool operator==(const Contention&, const Contention&) = default;
};

}  // namespace plumb
