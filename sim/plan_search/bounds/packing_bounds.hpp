#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "sim/plan_search/bounds/pass_counts.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// What is known of the only schedule that is bounded, and how large a bound is wanted.
struct PackingDetail {
  Ticks sufficient = std::numeric_limits<Ticks>::max();  ///< bound beyond which a larger one need not be found
  std::span<const PassCounts> counts{};                  ///< passes by stage (`pass_counts`); empty: not known
};

/// Returns a lower bound on the step of every plan of a setup, from layers that no cut divides. Of 80 equal layers on
/// 64 places, for example, some place has two. 0 where it is not known what layers add to a stage
/// (`LayerPrices::least`).
///
/// Write p for the places, s_1 for the speed of the fastest, m for the microbatches, T for the step. Work is counted in
/// ticks of a place of speed 1; a place of speed s does s of it in a tick. Layer k adds at least f_k to every forward
/// of its stage, i_k to every input gradient, b_k to every backward, u_k to the update, h_k bytes to what the place
/// holds, and a_k bytes to what a microbatch keeps from forward to backward. N_k is the work of all its passes in the
/// step. Every place has U of update beside its layers. Where pairs hide communication, f, i, b and N count only what
/// is left in a pair, and f', b' count a pass alone; elsewhere f' = f and b' = b.
///
/// 1. *Packing.* T is at least the time after which loads N_k + u_k fit into p bins that take s T - U each.
///    Every layer is on one place, which does all its passes and its update. Of copies in both directions, a layer is
///    on both places of a pair: a bin is a pair of the fastest places, with twice the updates.
/// 2. *First gradient.* No backward and no update starts before G, the time of one microbatch through all layers on the
///    fastest place, with one message to each further place. A pass before G is not in a pair with a backward, so the
///    sum of f' counts.
/// 3. *Memory before G.* For every r >= 0, T - G is at least the time after which loads N_k + u_k - m max(0, f_k - r
///    a_k) + r h_k fit into bins that take s (T - G) + r R - U, for R bytes on the roomiest place.
///    Write x_k <= m for the forwards of layer k that a place has done at G. Nothing that they keep is free, so the sum
///    of a_k x_k + h_k over its layers is at most R. So the work done is at most the sum of
///        f_k x_k  <=  r a_k x_k + m max(0, f_k - r a_k)  <=  r R - r h_k + m max(0, f_k - r a_k),
///    and all other work lies behind G. A forward that dropped its stash counts as not done: it runs again for as long.
///    Where stashes move away, or memory has no limit, only r = 0 is used.
/// 4. *Communication before G.* Let q be the largest f_k / f'_k. In 1 the step counts (1 - q) G less.
///    Until G a place runs forwards alone. Of their time no more than q is work that 1 counts.
/// 5. *Communication at the end.* Let backwards be whole and let pairs hide them only beside forwards. Let D be the sum
///    of b'_k over s_1, and q_1 >= q_2 >= ... the ratios b_k / b'_k. For each j, T in 1 counts (1 - q_j) (D - A_j) less
///    if updates count by q_j only. A_j is the time of all backwards of the layers of q_1 to q_(j-1) on the slowest
///    place.
///    The last forward of all is one of the last stage. After it, its microbatch goes back through all layers, which
///    takes at least D, and all backwards of that time are alone. A place spends at most A_j of it on layers with a
///    ratio above q_j, and of the rest computes at most q_j, unless it updates. An update of u takes at most
///    (1 - q_j) u from that loss, which is what it counts less. This time begins after G, so 4 and 5 add up.
/// 6. *Places in order.* Let all places have one speed, at least one layer each, and first stages in their order. Then
///    place k (from 0) idles for the forwards f'_j of layers j < k and k messages. Where backwards are whole, it also
///    idles at the end: for the backwards of layers j < k, the messages, and the update of layer 0 (which then stands
///    for all updates).
///    A first stage of place k has at least k layers before it. A microbatch goes back through the first stage of a
///    place last, so the place's last pass is one of that stage, and its gradient goes on through the layers before.
///    Layer 0 is on place 0; the last layer is on place p - 1, or on place 0 where stages turn back an odd number of
///    times. The other layers need slots: for each, as many as there are layers at least as large. By 4 and 5 idle time
///    counts only by the ratios there, because the rest of it is lost anyway.
/// 7. *Two stages on each place* (V), on places of one speed: first stages from the network's beginning, second stages
///    from its end. A step of T is possible only if stages on p places cover all layers such that each place has time
///    for its passes and updates after the forwards before its first stage, and for all but the forwards of its first
///    stage after the forwards before its second stage.
///    Its first forward comes after those before it. No backward starts before a microbatch has gone through the second
///    stage; only forwards of the first stage can run before one gets there. Copies in both directions put two such
///    stages on a pair of places; both conditions hold of the mean of the two places, with half of all passes.
/// 8. *One stage on each place, in order.* A step of T is possible only if p stages cover all layers such that each has
///    time for its passes and update after the forwards before it, and for its forwards and input gradients between
///    these and the backwards of the stages before it.
///    The first forward of a stage comes after those before it; its last gradient goes through all stages before it.
/// 9. *Known pairs.* If it is known which passes are in pairs, 1 and 6 to 8 hold with N of the stage whose passes take
///    least, and 4 and 5 are not needed.
///    A pass outside a pair takes its full time on its device; a pair takes no less than what its halves compute.
///
/// Statements 1 to 5 bound all `kinds`; 6 and 8 schedules with one stage on each place; 6 those that loop; 6 and 7
/// those that turn back; 7 copies. Of several kinds the smallest bound counts. Schedules that cut microbatches into
/// slices, or place stages in other ways, have none.
Ticks packing_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                    const ScheduleKinds& kinds, const PackingDetail& detail = {});

}  // namespace plumb
