#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plumb {

/// The kinds of work that can slow down other devices while they are under way: actions by op (V counts as U, an
/// overlapped pair of any two actions is F+B), messages being sent, collectives.
enum class Load : std::uint8_t { kF, kB, kI, kW, kR, kU, kX, kPair, kMessage, kCollective };

inline constexpr std::size_t kLoadCount = 10;
/// The first `kComputeLoads` loads are computation.
inline constexpr std::size_t kComputeLoads = 8;

inline constexpr std::array<std::string_view, kLoadCount> kLoadNames{"F", "B", "I",   "W",       "R",
                                                                     "U", "X", "F+B", "message", "collective"};

/// A set of loads, one bit each.
using LoadSet = std::uint32_t;

constexpr LoadSet set_of(Load load) { return LoadSet{1} << static_cast<unsigned>(load); }
constexpr bool has(LoadSet set, std::size_t load) { return ((set >> load) & 1U) != 0; }

/// How much longer actions take while other work is under way.
struct Slowdown {
  LoadSet of = 0;             ///< actions that take longer
  LoadSet by = 0;             ///< because of these loads
  std::vector<double> gamma;  ///< with 1, 2, ... of these under way elsewhere; the last one holds for more

  friend bool operator==(const Slowdown&, const Slowdown&) = default;
};

struct ClockPoint {
  double load = 0;
  double clock = 1;  ///< share of the full clock, (0, 1]

  friend bool operator==(const ClockPoint&, const ClockPoint&) = default;
};

/// How the clock depends on the load, and how fast it follows.
struct ClockModel {
  bool per_device = false;                ///< every device has a clock of its own; otherwise one for all of a node
  std::array<double, kLoadCount> load{};  ///< what each load under way adds
  std::vector<ClockPoint> points;         ///< by ascending load, linear between, constant outside
  std::int64_t period_ns = 0;             ///< the clock moves at multiples of it; 0: at once
  double gain = 1;                        ///< each time by this share of the difference, (0, 1]

  friend bool operator==(const ClockModel&, const ClockModel&) = default;
};

/// How devices of a node slow each other down. An action of kind i runs at the rate
///
///     clock x (1 - share) / (1 + sum of gamma_ij(n_j))
///
/// where j runs over the slowdowns of i and n_j counts the other loads under way in its node (a message counts in the
/// nodes of both its ends). `share` is the share of the device's multiprocessors that are occupied by messages from it
/// or to it and by collectives that it takes part in (at most 0.99). Times of actions are those of an action alone, at
/// full clock.
struct Contention {
  std::vector<Slowdown> slowdowns;
  double message_share = 0;  ///< share of the multiprocessors of either end, per message; [0, 1); `theft` in documents
  double collective_share = 0;  ///< share of the multiprocessors of every member, per collective; [0, 1)
  std::optional<ClockModel> clock;

  bool empty() const { return slowdowns.empty() && message_share == 0 && collective_share == 0 && !clock; }

  friend bool operator==(const Contention&, const Contention&) = default;
};

}  // namespace plumb
