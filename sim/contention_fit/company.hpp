#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/cluster/contention.hpp"
#include "models/ground/units.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// A part of an action's time during which the same others were under way.
struct Stretch {
  double ns = 0;
  std::array<std::uint16_t, kComputeLoads> others{};  ///< on other devices, by kind
  std::uint16_t messages = 0;                         ///< being sent from the action's device or to it
  std::uint16_t collectives = 0;                      ///< that the action's device takes part in
  std::size_t step = 0;                               ///< into `Company::steps`

  bool alone() const;
};

/// A time between two moments at which anything of a run begins or ends.
struct LoadStep {
  double ns = 0;
  std::uint16_t active = 0;  ///< devices that compute
};

/// An action of a run and what it met.
struct MetAction {
  DeviceId device{};
  StageId stage{};
  Load kind{};
  std::int64_t update = 0;
  double ns = 0;
  std::size_t first = 0;  ///< into `Company::stretches`
  std::size_t behind = 0;
};

/// What every action of a run met, all devices in one node. An overlapped pair is one action.
struct Company {
  std::vector<MetAction> actions;
  std::vector<Stretch> stretches;
  std::vector<LoadStep> steps;  ///< of the whole run, in order, from 0 on
};

/// `timeline` must have spans.
Company company_of(const Timeline& timeline);

}  // namespace plumb
