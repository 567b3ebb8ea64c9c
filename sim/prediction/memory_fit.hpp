#pragma once

#include <cstdint>
#include <optional>

#include "models/kernels/kernel_rates.hpp"
#include "models/pricing/price.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// What a device may hold at most: stashes or abstract units when costs are abstract, bytes otherwise.
struct MemoryLimit {
  bool in_bytes = false;
  std::optional<double> value{};  ///< no value: the memory of the cluster's devices, where known
  double stash_share = 1;         ///< which part of 1/p of the model the stash of one stage belongs to
  bool per_stage = false;         ///< `value` counts stashes of one stage, not of 1/p of the model
};

/// What tensors of `peak_bytes` need with all that is held beside them: the allocator's reserve, the context, and what
/// libraries hold. `limit_bytes` 0: there is no limit.
MemoryNeed memory_need(std::int64_t peak_bytes, const KernelRates& rates, std::int64_t limit_bytes);
/// The same of tensors beside which nothing is held, and whose peak is known exactly.
MemoryNeed exact_need(std::int64_t peak_bytes, std::int64_t limit_bytes);

/// How surely a peak has to fit.
enum class FitMargin : std::uint8_t {
  kNone,  ///< as far as the prediction says: it fits or is tight
  kError  ///< even with the largest error that was measured: it fits
};

/// The largest peak of tensors whose need is within `limit_bytes`, at least 1; of no limit (0) there is none (0).
std::int64_t largest_peak(std::int64_t limit_bytes, const KernelRates& rates, FitMargin margin);

/// Bytes that device `device` of `priced` may hold; 0: not known.
std::int64_t limit_bytes(std::size_t device, const PricedPipeline& priced, const MemoryLimit& limit);

/// Notes the need and the limit of every device of `timeline`: of a job with all that is held beside tensors, of other
/// costs in bytes its peak. Of abstract costs, the limit in stashes.
void fill_memory(Timeline& timeline, const PricedPipeline& priced, const MemoryLimit& limit);

/// Whether device `device` needs no more than its limit, once `fill_memory` has noted both.
bool fits(const Timeline& timeline, std::size_t device, const MemoryLimit& limit);
/// Whether every device does.
bool fits(const Timeline& timeline, const MemoryLimit& limit);
/// Of the device for which it is worst. Of stashes and abstract units, which have no error, it fits or does not.
MemoryVerdict memory_verdict(const Timeline& timeline, const MemoryLimit& limit);
/// What the device needs that needs most; 0: not known.
std::int64_t most_needed(const Timeline& timeline);

}  // namespace plumb
