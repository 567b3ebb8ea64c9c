#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

/// How many passes of a stage a step has, on all devices that hold it: alone, and as halves of overlapped pairs. A pass
/// alone takes its full time, since nothing hides its communication.
struct PassCounts {
  struct Passes {
    std::int64_t f = 0;
    std::int64_t b = 0;
    std::int64_t i = 0;
    std::int64_t w = 0;
  };
  Passes alone{};
  Passes paired{};
};

/// Counts the passes of each stage in the lists of `schedule`. Returns nothing where the lists do not say what runs
/// (rules that decide at run time, slices) or are very long.
std::vector<PassCounts> pass_counts(const Schedule& schedule);

/// The least work of a layer in a step, all microbatches together, in ticks of a place of speed 1.
struct LayerWork {
  Ticks forward = 0;
  Ticks backward = 0;
  Ticks both = 0;
};

/// Computes the work of every layer, whatever stage it is in.
///
/// The layer runs in some stage s, whose passes `counts[s]` tells: those alone at the layer's full time, those in pairs
/// at what is left in a pair. The least over all s bounds it. Without `counts`, all `microbatches` passes may be halves
/// of pairs, if the schedules have pairs.
std::vector<LayerWork> layer_work(const LayerPrices& prices, const LeastPasses& least, std::int64_t microbatches,
                                  std::span<const PassCounts> counts);

/// Pass counts of schedules whose order depends on nothing but their size, each computed once. Several threads may ask.
class KnownPassCounts {
 public:
  using Counts = std::vector<PassCounts>;

  /// Returns the counts; null where they are not known, or where the order depends on costs. Throws what the schedule
  /// throws at that size.
  std::shared_ptr<const Counts> of(const ScheduleVariant& variant, std::int32_t places, std::int64_t microbatches);

 private:
  using Key = std::tuple<std::string_view, std::int32_t, std::int32_t, std::int64_t>;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Counts>> known_;
};

}  // namespace plumb
