#pragma once

#include <cstdint>

#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

// Lower bounds on the step of synchronous pipelines that need to know what every layer takes, keeps and hands on: for
// stages that are the sums of their layers (`LayerPrices::times`), 0 for others. No microbatch is cut into slices.

/// Returns a lower bound whatever the cut, the schedule, the places of the stages and their holders, from time, memory
/// and the way to the host together.
///
/// Write m for the microbatches, T for the step. Places together have P of time in a tick, R bytes beside one copy of
/// weights and state, and links that take L bytes to hosts in a tick. Layer k takes t_k for forward and backward, g_k
/// to run its forward again, and keeps a_k bytes. l_k is the least time from the start of its forward to the end of its
/// input gradient. For all x, y, z >= 0
///
///     T (x P + y R + z L)  >=  m sum over k of (x t_k + min(x g_k, y a_k l_k, z a_k)).
///
/// Give a tick of a place the price x, a byte held for a tick y, a byte on its way to a host z. The left side is what
/// all of it costs in a step. Every microbatch takes t_k in layer k and goes to the network's end and back meanwhile.
/// So its stash is held for l_k, or its forward runs again, or its stash moves away: each costs no less than the least.
/// The bound is the largest T of many such prices.
Ticks traded_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches);

/// Where stages are: one on each place, in order; several on a place, each on one; each on one place for some of the
/// microbatches and on another for the rest.
enum class StagePlacing : std::uint8_t { kLinear, kSingle, kCopied };

/// Returns a lower bound from the cuts that there must be: the least step that statements 1 to 5 leave possible.
///
/// Write p for the places, T for the step, and n for the microbatches that one place is sure to have of a layer: m, or
/// half of them rounded up for `kCopied`. e_k and r_k are one microbatch's forwards and input gradients of the layers
/// before k. c_k is the longer of the messages over the cut before layer k, forward or back, on the fastest link; c'_k
/// the same between nodes.
///
/// 1. *Open cuts.* The cut before k is between two places only if e_k + n c_k <= T, and between two nodes only if
///    e_k + n c'_k <= T.
///    Its messages go one after another, the first no earlier than after the forwards before it.
/// 2. *Runs of layers without open cuts.* Each is on one place (or in one node). It fits if its weights fit into the
///    roomiest place, and if its work after e_k, or its forwards and input gradients between e_k and r_k, end by T. In
///    a node, its work must be at most T on all places of the node.
/// 3. *Enough runs.* There are at least p runs between places, and as many between nodes as p places need nodes: every
///    place has a stage, and every node has one.
/// 4. *Shared links.* Every microbatch goes over p - 1 cuts there and back; at least as many of these as nodes, less
///    one, are between nodes. For some number of them, shared links carry the least messages of so many cuts within T.
/// 5. *Cover*, for `kLinear`: exactly p stages in order cover the layers, each between open cuts, and with 2. Each has
///    room for the stash and the messages of one microbatch beside its weights, whatever runs again or moves away
///    later. Enough of the cuts between them are open between nodes.
Ticks cuts_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches, StagePlacing placing);

}  // namespace plumb
