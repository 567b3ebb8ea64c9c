#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumb {

/// What other programs took from this one while it measured.
struct Disturbance {
  double steal = 0;           ///< share of the processors' time that the hypervisor gave to other machines
  std::int64_t switches = 0;  ///< how often a thread of this process was taken off its processor
  double seconds = 0;         ///< how long it was watched
  double processors = 0;      ///< of the machine; 0: not known
  double others = 0;          ///< how many of them other programs kept busy, on average

  /// Estimated share of the time that `threads` threads that compute lost: the steal, and what is more of two things: a
  /// time slice of Linux's scheduler (3 ms) for every switch, or the processors that other programs left too few of
  /// (`threads` need as many). At most 1.
  double lost(std::int64_t threads) const;
};

/// Watches this process and the machine from its making on: /proc/stat (proc(5); where there is none, no time counts
/// as stolen) and getrusage(2).
class DisturbanceWatch {
 public:
  DisturbanceWatch();

  /// What happened until now.
  Disturbance read() const;

 private:
  std::chrono::steady_clock::time_point begin_;
  std::int64_t stolen_ = 0;
  std::int64_t all_ = 0;
  std::int64_t busy_ = 0;
  std::int64_t switches_ = 0;
  double own_seconds_ = 0;
};

/// The numbers of the rounds that count, ascending: those that lost at most `most`; the calmest half (rounded up) where
/// these are fewer.
std::vector<std::size_t> calm_rounds(const std::vector<double>& lost, double most);

}  // namespace plumb
