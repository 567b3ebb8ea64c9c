#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// A published profile on a cluster: the job that both the planners and the joint search solve.
struct ScoredProfile {
  std::string network;  ///< a path below the folder `results`, or a name
  std::string cluster;
  std::int64_t microbatches = 0;  ///< per update, of the profile's own size
};

/// The simulated step times of all plans for a profile.
struct ProfileScores {
  ScoredProfile asked{};
  std::size_t layers = 0;
  std::int64_t our_ns = 0;  ///< step of the joint search; 0: nothing fits
  double gap = 0;           ///< proved: no plan takes less than (1 - gap) of it
  std::string our_plan{};
  std::map<std::string, std::int64_t> their_ns{};  ///< by method: the best step of its plans that fit; 0: none does

  /// No published planner's plan is faster than ours.
  bool holds() const;
};

/// Reads a list of profiles; `file_name` for messages.
std::vector<ScoredProfile> scored_profiles(std::string_view json, std::string_view file_name);

/// Asks every planner and searches, with at most so many simulations. Deterministic.
ProfileScores score_profile(const ScoredProfile& asked, std::int64_t simulations);

/// Two tables: profiles with our step and the best of theirs, and methods with how much longer their plans take.
std::string planner_scores_markdown(const std::vector<ProfileScores>& scores);

}  // namespace plumb
