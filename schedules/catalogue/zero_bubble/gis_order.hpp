#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/pass_costs.hpp"

namespace plumb {

/// The generalized interleaved schedule: groups of `group` microbatches pass all `chunks` of a device; a building block
/// of 3 group chunks slots is repeated for every group. Symbols: p devices, m microbatches.
struct GisOrder {
  std::int32_t p = 0;
  std::int32_t chunks = 0;
  std::int64_t group = 0;
  std::int64_t recompute = 0;  ///< this many chunks of a device run their forward again, right before their I

  /// A pass of the first group on a device.
  struct Pass {
    std::int64_t slot = 0;
    Op op{};
    std::int32_t chunk = 0;
    std::int64_t microbatch = 0;
  };

  std::int64_t period() const { return 3 * group * chunks; }

  /// The passes of the first group, by their slot modulo the period.
  std::vector<Pass> block(std::int32_t device) const;

  /// Writes one update of a device, whole groups folded: what `write(list, pass, microbatch)` appends for every pass.
  void write(std::int32_t device, std::int64_t m, ListBuilder& list) const;
};

/// The order for `params`: `group=N` from the smallest one that keeps devices busy (ceil(p / 2), more where
/// stages differ) to p, the default; `recompute=R`. Throws `Error("<name>: <rule>")`.
GisOrder gis_order(std::string_view name, const ScheduleParams& params, const PassCosts& costs);

/// Chunks per device in `params`, by default 2.
inline std::int32_t gis_chunks(const ScheduleParams& params) { return params.chunks > 0 ? params.chunks : 2; }

}  // namespace plumb
