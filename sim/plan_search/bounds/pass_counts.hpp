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

/// How often a step has the passes of a stage, on all devices that hold it together: by themselves, and as halves of
/// overlapped pairs. A pass by itself takes its full time, since nothing hides its communication.
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

/// By stage; nothing for schedules whose lists say less than what runs: rules that decide at run time, and very long
/// lists.
std::vector<PassCounts> pass_counts(const Schedule& schedule);

/// What a step takes at least of a layer, all microbatches together, in ticks of a place of speed 1.
struct LayerTurns {
  Ticks forward = 0;
  Ticks backward = 0;
  Ticks both = 0;
};

/// By layer, whatever stage it is in: the least of all stages with `counts`. Without any: `microbatches` passes, all of
/// which may be halves of pairs where there are some.
std::vector<LayerTurns> layer_turns(const LayerPrices& prices, const LeastPasses& least, std::int64_t microbatches,
                                    std::span<const PassCounts> counts);

/// Pass counts of schedules whose order depends on nothing but their size. May be asked by several threads.
class KnownPassCounts {
 public:
  using Counts = std::vector<PassCounts>;

  /// Nothing where the order depends on costs. Throws what the schedule throws at that size.
  std::shared_ptr<const Counts> of(const ScheduleVariant& variant, std::int32_t places, std::int64_t microbatches);

 private:
  using Key = std::tuple<std::string_view, std::int32_t, std::int32_t, std::int64_t>;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Counts>> known_;
};

}  // namespace plumb
