#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "schedules/document/extra_work.hpp"
#include "schedules/document/part_table.hpp"

namespace plumb::lowering {

/// Costs of every stage for every part of its microbatches. Empty when the parts are plain.
class PartCostTable {
 public:
  /// Throws `Error` when the parts do not fit the costs' microbatch.
  PartCostTable(const StageCosts& costs, const PartTable& parts);

  const PartCosts& at(StageId stage, std::size_t part) const { return costs_[index(stage) * parts_ + part]; }

  /// Memory by stage and part, as in `Program::part_memory`.
  std::vector<StageMemory> memory() const;

 private:
  std::size_t parts_;
  std::vector<PartCosts> costs_;
};

/// Adds what is counted per microbatch; `to` takes its resident bytes from `more` when it is empty.
void add_memory(StageMemory& to, const StageMemory& more);

/// `costs` in units of time and memory so small that the share of every part is a whole number: thirds stay exact.
/// Unchanged if the parts are plain, have costs of their own, or would need too small a unit.
StageCosts with_whole_shares(const StageCosts& costs, const PartTable& parts);

/// The same for extra work: abstract `costs` in units of time so small that every declared amount is whole, where it is
/// a fraction of small whole numbers (`units_as_fraction`).
StageCosts with_whole_extras(StageCosts costs, const std::map<std::string, ExtraWork>& extras);

}  // namespace plumb::lowering
