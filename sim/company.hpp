#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/contention.hpp"
#include "models/units.hpp"
#include "sim/timeline.hpp"

namespace plumb {

/// A part of an action's time during which the same others were under way.
struct Stretch {
  double ns = 0;
  std::array<std::uint16_t, kComputeLoads> others{};  ///< on other devices, by kind
  std::uint16_t messages = 0;                         ///< being sent from the action's device or to it

  bool alone() const;
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
};

/// `timeline` must have spans.
Company company_of(const Timeline& timeline);

}  // namespace plumb
