#pragma once

#include <cstdint>

#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

// Lower bounds on the step of synchronous pipelines that need to know what every layer takes, keeps and hands on: of
// stages that are the sums of their layers (`LayerPrices::times`), 0 for others. No microbatch is cut into slices.

/// Whatever the cut, the schedule, the places of the stages and their holders: work, memory and the way to the host are
/// used up together. The stash of layer k is there from the start of its forward to the end of its input gradient, and
/// its microbatch goes to the end of the network and back meanwhile: kept_k life_k byte-seconds; unless its forward is
/// run again, or it is moved to the host. So with any prices a, b, c >= 0 of a second of a place, a byte-second of what
/// the memories have beside one copy of the weights, and a byte on the links to the host, the step T pays for
///
///     T (a places + b room + c links) >= M sum over k of (a load_k + min(a r_k, b kept_k life_k, c kept_k))
///
/// and the largest T of many such prices is taken.
Ticks traded_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches);

/// Where the stages of a schedule stand: one on each place in order, each on one place, each on one place for some of
/// the microbatches and on another for the rest.
enum class StagePlacing : std::uint8_t { kLinear, kSingle, kCopied };

/// The least step that leaves enough cuts. A cut between places can only be where all messages, one after another on
/// the fastest link, are through within the step, after the forwards of one microbatch before them; one between nodes
/// where they are on a link between nodes. So layers with no such cut between them are on one place, which holds their
/// weights and works on all microbatches, after one microbatch's forwards before them and before its gradient's way
/// back; or they are on one node. There are at least as many such runs as places, or as nodes that so many places need.
/// Every microbatch passes at least places - 1 cuts there and back, nodes - 1 of them between nodes: links that are
/// shared inside nodes, and cards that are between them, carry no less than the least messages of so many cuts.
/// Of `kLinear` pipelines exactly `places` stages cover the network, each with room for the stash and the messages of a
/// microbatch beside its weights (whatever is run again or moved away later), with at least so many cuts between nodes
/// as there must be. Of `kCopied` ones half the microbatches is all that is known of a place, or of a link.
Ticks cuts_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches, StagePlacing placing);

}  // namespace plumb
