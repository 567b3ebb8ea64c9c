#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

// Lower bounds on the step of synchronous pipelines, proved from what every schedule has to do. Times in ticks.

/// What the schedules of a search may do.
struct ScheduleKinds {
  bool sliced = false;           ///< microbatches are cut into slices
  bool overlaps = false;         ///< pairs hide communication
  bool linear = false;           ///< a stage on each place, in order
  bool single = false;           ///< a place for each stage
  bool copied = false;           ///< two places for each stage, each for some of the microbatches
  bool other = false;            ///< nothing is known about where stages stand
  bool fuses = false;            ///< backwards may be in one
  bool splits = false;           ///< and in halves
  bool moves = false;            ///< what microbatches keep may be moved away
  bool hides_backwards = false;  ///< pairs of two backwards hide communication
  bool looped = false;  ///< of `single`: the first stage of every place and the last stages in the order of places
  bool turned = false;  ///< of `single`: the first stages in order; others in any
  bool deep = false;    ///< of `turned`: places have others than two stages, one there and one back
  std::int32_t per_place = 1;  ///< stages of one copy that a place has at least
};

ScheduleKinds kinds_of(const std::vector<ScheduleVariant>& variants);

/// What schedules of some kinds do at least of a layer, in ticks of a place of speed 1.
class LeastPasses {
 public:
  /// `speed`: of the places that may be used.
  LeastPasses(const ScheduleKinds& kinds, const std::vector<double>& speed);

  const LayerLeast::Passes& passes(const LayerLeast& layer) const { return overlaps_ ? layer.paired : layer.alone; }
  Ticks backward(const LayerLeast& layer) const;
  /// Until the gradient goes on.
  Ticks input(const LayerLeast& layer) const;
  /// Less what rounding may take of so many passes.
  Ticks rounded(Ticks ticks, std::int64_t passes) const { return std::max<Ticks>(0, ticks - rounding_ * passes); }

 private:
  bool fuses_, splits_, overlaps_;
  Ticks rounding_;
};

/// Whatever the cut, the schedule and the order of devices: the largest of
///     all work and updates, divided over the fastest `places` places,
///     one microbatch forwards on the fastest place, then all backwards and updates divided: before the first whole
///     microbatch is through there is no gradient, so nothing of these can have been done by then,
///     all microbatches of the largest layer on the fastest place (half of them where stages have copies),
///     one microbatch through the whole network and back on the fastest place; and where layers are known (`least`)
///     with the least layers on the places that are slower, with the messages between as many places, after it the
///     weight gradients and the update of the first layer, and, since one place has the last layer, all other
///     microbatches there and back through that one.
/// Every place updates some layers, and one of them the layer whose update takes longest: so long do updates take at
/// least together, and no less than that of the network as one stage. Pipelines of more places than a node has cross
/// between nodes at least once on each way: the smallest message over that link. Less a tick per pass that rounding may
/// take. Slices may run ahead of the rest of their microbatch, which leaves the first and the third. Without slices and
/// where layers are known it is no less than `traded_bound` and the `cuts_bound` of the most liberal of the schedules.
Ticks setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                  const ScheduleKinds& kinds);

/// Whatever the cut and the holders of every stage on places of `speed`, all of which are used: the same but for the
/// largest layer and the crossing.
Ticks held_bound(const LayerPrices& prices, const std::vector<double>& speed, std::int64_t microbatches,
                 const ScheduleKinds& kinds);

/// Whatever the cut, the holders of every stage (each microbatch of it on one of them) and their order: the same but
/// for the largest layer and the crossing, over all places that `prices` knows. Every holder makes an update of its
/// own.
Ticks replicated_bound(const LayerPrices& prices, std::int64_t microbatches);

/// Bytes that are missing whatever the cut and the schedule: one copy of weights, gradients and optimizer state must
/// lie on the `places` largest places, and the largest layer on one. 0: not proved impossible.
std::int64_t missing_bytes(const LayerPrices& prices, std::int32_t places);

/// Of priced stages at given places, for every device that holds some stages of the only copy of the network:
///     after the forwards (and messages) before any of its stages lie all forwards of that stage and of its later
///     ones, and all its backwards, since a microbatch's backwards come after all its forwards; after one microbatch
///     there, and back to the device's last stage, lie all its backwards; and after its last input gradient lie those
///     of the stages before.
/// No link between neighbours carries all messages faster than one after another.
/// `placement` as in `Schedule::placement`, by place of the cluster. 0 when there are several copies.
Ticks placement_bound(const PricedStages& stages, const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                      std::int64_t microbatches);

/// Bytes by which the peak of every device is above what it can use, proved from how many microbatches the lists of
/// `schedule` have in flight; 0: not proved. Documents that move stashes or recompute prove nothing.
std::vector<std::int64_t> excess_by_place(const PricedStages& stages, const Schedule& schedule);

}  // namespace plumb
