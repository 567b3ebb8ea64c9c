#pragma once

#include <cstdint>
#include <vector>

namespace plumb {

/// From when to when something was under way.
struct Flight {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// How many things were under way at once.
class Crowd {
 public:
  explicit Crowd(const std::vector<Flight>& flights);

  /// Returns the mean number of flights from `start_ns` to `end_ns`, which must be later.
  double mean(std::int64_t start_ns, std::int64_t end_ns) const;

 private:
  /// Flights times ns up to a moment.
  double sum_until(std::int64_t ns) const;

  struct Change {
    std::int64_t at_ns = 0;
    std::int64_t count = 0;  ///< from here on
    double sum = 0;          ///< flights times ns before
  };

  std::vector<Change> changes_;  ///< by time
};

/// How many messages go at full speed beside each other, from messages that took `took_ns` in a crowd of `mean` where
/// one alone takes `alone_ns`. If n share what c of them can use, each takes n / c times as long as alone.
struct CrowdedMessage {
  double mean = 1;
  std::int64_t took_ns = 0;
};

/// Returns the capacity, at least 1; 0 (not known) for fewer than three messages in a crowd.
double message_capacity(const std::vector<CrowdedMessage>& messages, double alone_ns);

/// Messages with fewer of their like beside them, on average, count as alone.
inline constexpr double kAlone = 1.15;
/// Messages with more of their like beside them are in a crowd.
inline constexpr double kCrowded = 1.5;

}  // namespace plumb
