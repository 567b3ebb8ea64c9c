#pragma once

#include "trainer/cuda/dnn/attention_key.hpp"
#include "trainer/cuda/dnn/dnn_graph.hpp"

namespace plumb::cuda {

/// Returns an attention in cuDNN's operations. What lies in memory, in this order: forward: queries, keys, values,
/// attended, log sums; backward: queries, keys, values, attended, its gradient, log sums, deltas (scratch), gradients
/// of queries, keys and values. For `key.backward` the gradients. The gradient of the scores goes to memory as a whole
/// and becomes that of the queries in a product of its own: the form that has the same bits in every run. (The other
/// form adds tile by tile.)
DnnOperations attention_graph(const AttentionKey& key);

}  // namespace plumb::cuda
