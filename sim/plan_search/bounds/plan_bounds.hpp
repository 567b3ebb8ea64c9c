#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

// Lower bounds on the step of synchronous pipelines, proved from what every schedule has to do. Times are ticks.

/// What the schedules of a search may do. Placements (`linear` to `other`) are told for all of them together.
struct ScheduleKinds {
  bool sliced = false;           ///< microbatches are cut into slices
  bool overlaps = false;         ///< pairs hide communication
  bool linear = false;           ///< one stage on each place, in order
  bool single = false;           ///< several stages on each place, each stage on one
  bool copied = false;           ///< two places for each stage, each for some of the microbatches
  bool other = false;            ///< nothing is known about where stages stand
  bool fuses = false;            ///< backwards may be whole
  bool splits = false;           ///< backwards may be in halves
  bool moves = false;            ///< stashes may be moved away
  bool hides_backwards = false;  ///< pairs of two backwards hide communication
  bool looped = false;           ///< `single`, with first and last stages in the order of places
  bool turned = false;           ///< `single`, with the first stages in the order of places, others in any
  bool deep = false;             ///< `turned`, with more or fewer than two stages on a place (one there, one back)
  std::int32_t per_place = 1;    ///< least number of stages of one copy on a place
};

/// Collects what any of `variants` may do.
ScheduleKinds kinds_of(const std::vector<ScheduleVariant>& variants);

/// The least that schedules of some kinds compute of a layer, in ticks of a place of speed 1.
class LeastPasses {
 public:
  /// `speed`: the speeds of the places that may be used.
  LeastPasses(const ScheduleKinds& kinds, const std::vector<double>& speed);

  const LayerLeast::Passes& passes(const LayerLeast& layer) const { return overlaps_ ? layer.paired : layer.alone; }
  Ticks backward(const LayerLeast& layer) const;
  /// Computes the part of a backward that must be over before the gradient goes on.
  Ticks input(const LayerLeast& layer) const;
  /// Takes from `ticks` what rounding may take from so many passes.
  Ticks rounded(Ticks ticks, std::int64_t passes) const { return std::max<Ticks>(0, ticks - rounding_ * passes); }

 private:
  bool fuses_, splits_, overlaps_;
  Ticks rounding_;
};

/// Returns a lower bound on the step of every plan of a setup, whatever the cut, the schedule and the order of devices.
///
/// Write s_1 >= ... >= s_p for the speeds of the fastest p places, S for their sum, and m for the microbatches. F, I
/// and B are the forward, the input gradient and the whole backward of one microbatch through the network as one stage,
/// V all updates together. X is the least time of a message between nodes if p places are more than a node has, or 0.
/// The bound is the largest of these, less a tick for each pass that rounding may have made longer:
///
/// 1. *Work.* (m (F + B) + V) / S.
///    The places do all of it and no p of them are faster. Every place updates some layer, and one of them the layer
///    whose update takes longest; V is no less than that, nor than the update of the network as one stage.
/// 2. *Fill.* F / s_1 + X + (m B + V) / S.
///    Before one whole microbatch is through there is no gradient, so all backwards and updates lie behind that.
/// 3. *Largest layer.* m l / s_1, where l is the forward and backward of the largest layer.
///    One place does all passes of it; where stages have copies, one does half of them or more.
/// 4. *There and back.* (F + I) / s_1 + 2 X.
///    Every microbatch goes through all layers and back.
/// 5. *Chain*, where it is known what layers add to a stage (`least`). Add up: forward and input gradient of one
///    microbatch in every layer, the least layers on the slower places and one on each; its messages both ways, each
///    time through all p places as often as places have stages; m - 1 forwards and input gradients of the last layer;
///    weight gradient and update of the first layer.
///    The place of the last layer begins after one microbatch's forwards of all others and then does m forwards and
///    input gradients of it (where stages have copies, half of them or more). From the end of the last one, its
///    gradient goes back through all other layers, and the first one updates.
/// 6. `traded_bound`, and the least `cuts_bound` of the placements of `kinds`.
///
/// Slices may run ahead of the rest of their microbatch, which leaves 1 and 3. Where nothing is known about places, 1,
/// 2 and 4 are left.
Ticks setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                  const ScheduleKinds& kinds);

/// Statements 1, 2 and 4 of `setup_bound`, with X = 0, for all places of `speed`: a lower bound whatever the cut and
/// the holders of every stage, if all these places are used. With slices only statement 1.
Ticks held_bound(const LayerPrices& prices, const std::vector<double>& speed, std::int64_t microbatches,
                 const ScheduleKinds& kinds);

/// Returns a lower bound whatever the cut, the holders of every stage (each microbatch of it on one of them) and their
/// order: the least `held_bound` of any number of the places that `prices` knows, fastest first. Every holder updates,
/// so fewer places may do less.
Ticks replicated_bound(const LayerPrices& prices, std::int64_t microbatches);

/// Returns the bytes that are missing whatever the cut and the schedule; 0: it is not proved that any are. One copy of
/// weights, gradients and optimizer state lies on at most the `places` largest places, and the largest layer on one of
/// them.
std::int64_t missing_bytes(const LayerPrices& prices, std::int32_t places);

/// Returns a lower bound on the step of priced stages at given places. `placement` is as in `Schedule::placement`, by
/// place of the cluster; 0 where there are several copies or holders.
///
/// Write e_s for one microbatch's forwards and messages before stage s, r_s for its input gradients and messages from
/// there back to the beginning. A device has stages s(1) < ... < s(n), with sums F, I and B of a microbatch's forwards,
/// input gradients and backwards on it, and updates V. The bound is the largest of these over all devices and links:
///
/// 1. *Arrival.* e_s(j) + m (F of s(j) to s(n) + B) + V, for each j.
///    A microbatch's backwards come after all its forwards. So after the first one arrives at s(j), the device still
///    has all forwards of s(j) and later stages, and all its backwards.
/// 2. *Arrival, and on.* e_s(j) + m (F of s(j) to s(n) + I) + r_s(1), for each j.
///    The device's last input gradient is one of s(1), and goes on through the stages before.
/// 3. *First gradient.* 1 and 2 with the time at which one microbatch's gradient arrives at s(n) instead of e_s(j), and
///    without forwards: all backwards lie behind it.
/// 4. *Links.* e_(s+1) less the message, plus m messages from s to s + 1: one after another, none before the first
///    forward of s.
Ticks placement_bound(const PricedStages& stages, const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                      std::int64_t microbatches);

/// Returns the bytes by which the peak of every device is above what it can use; 0: not proved. A device holds the
/// weights, gradients and optimizer state of its stages and, of some stage, as many stashes as the lists of `schedule`
/// have microbatches in flight. Documents that move stashes or recompute prove nothing.
std::vector<std::int64_t> excess_by_place(const PricedStages& stages, const Schedule& schedule);

}  // namespace plumb
