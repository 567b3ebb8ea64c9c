#include "trainer/cuda/dnn/attention_graphs.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace plumb::cuda {

namespace {

constexpr cudnnDataType_t kBf16 = CUDNN_DATA_BFLOAT16;
constexpr cudnnDataType_t kFloat = CUDNN_DATA_FLOAT;

/// Sizes and strides of what an attention has in memory.
struct Places {
  explicit Places(const AttentionKey& of) : key(of) {}

  const AttentionKey& key;

  DnnDims of_queries() const { return {key.samples, key.heads, key.queries, key.head_width}; }
  DnnDims of_keys() const { return {key.samples, key.kv_heads, key.keys, key.head_width}; }
  DnnDims of_every_head() const { return {key.samples, key.heads, key.keys, key.head_width}; }
  DnnDims of_scores() const { return {key.samples, key.heads, key.queries, key.keys}; }
  DnnDims of_statistics() const { return {key.samples, key.heads, key.queries, 1}; }
  DnnDims by_query(std::int64_t row) const { return {key.queries * row, key.head_width, row, 1}; }
  DnnDims by_key(std::int64_t row) const { return {key.keys * row, key.head_width, row, 1}; }
  DnnDims of_log_sums() const {
    return key.by_head ? packed(of_statistics()) : DnnDims{key.queries * key.heads, 1, key.heads, 1};
  }
};

DnnDims transposed(DnnDims of) {
  std::swap(of[2], of[3]);
  return of;
}

/// Minus infinity where a query does not see a key.
DnnTensor causal_scores(DnnGraph& graph, const AttentionKey& key, const DnnTensor& scores) {
  constexpr std::int64_t kRow = 2;
  constexpr std::int64_t kColumn = 3;
  const auto index_of = [&](std::int64_t axis) {
    return graph.apply({.mode = CUDNN_POINTWISE_GEN_INDEX, .axis = axis}, scores, CUDNN_DATA_INT32);
  };
  DnnTensor row = index_of(kRow);
  const DnnTensor column = index_of(kColumn);
  if (key.queries != key.keys) {  // in this form, which the library knows
    const DnnTensor keys = graph.number(static_cast<std::int32_t>(key.keys));
    const DnnTensor queries = graph.number(static_cast<std::int32_t>(key.queries));
    constexpr cudnnDataType_t kWhole = CUDNN_DATA_INT32;
    row = graph.apply({.mode = CUDNN_POINTWISE_ADD, .precision = kWhole, .y = &keys}, row, kWhole);
    row = graph.apply({.mode = CUDNN_POINTWISE_SUB, .precision = kWhole, .y = &queries}, row, kWhole);
  }
  const DnnTensor seen = graph.apply({.mode = CUDNN_POINTWISE_CMP_GE, .precision = CUDNN_DATA_BOOLEAN, .y = &column},
                                     row, CUDNN_DATA_BOOLEAN);
  const DnnTensor hidden = graph.number(-std::numeric_limits<float>::infinity());
  return graph.apply({.mode = CUDNN_POINTWISE_BINARY_SELECT, .y = &hidden, .chooses = &seen}, scores);
}

DnnTensor scale_of(DnnGraph& graph, const AttentionKey& key) {
  return graph.number(1.0F / std::sqrt(static_cast<float>(key.head_width)));
}

/// Scaled scores of queries and keys, which are given as columns.
DnnTensor scores_of(DnnGraph& graph, const Places& places, const DnnTensor& queries, const DnnTensor& keys) {
  const DnnTensor plain = graph.between(kFloat, places.of_scores());
  graph.multiply(queries, keys, plain);
  const DnnTensor scale = scale_of(graph, places.key);
  return graph.apply({.mode = CUDNN_POINTWISE_MUL, .y = &scale}, plain);
}

DnnOperations forward_graph(const AttentionKey& key) {
  const Places places(key);
  DnnOperations result;
  DnnGraph& graph = result.graph;
  const DnnTensor queries = graph.in_memory(kBf16, places.of_queries(), places.by_query(key.query_row));
  const DnnTensor keys = graph.in_memory(kBf16, transposed(places.of_keys()), transposed(places.by_key(key.key_row)));
  const DnnTensor values = graph.in_memory(kBf16, places.of_keys(), places.by_key(key.value_row));
  const DnnTensor attended = graph.in_memory(kBf16, places.of_queries(), places.by_query(key.attended_row));
  const DnnTensor log_sums = graph.in_memory(kFloat, places.of_statistics(), places.of_log_sums());
  DnnTensor scores = scores_of(graph, places, queries, keys);
  if (key.causal) scores = causal_scores(graph, key, scores);
  const DnnTensor largest = graph.between(kFloat, places.of_statistics());
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
  const DnnTensor below = graph.apply({.mode = CUDNN_POINTWISE_SUB, .y = &largest}, scores);
  const DnnTensor exponentials = graph.apply({.mode = CUDNN_POINTWISE_EXP}, below);
  const DnnTensor sums = graph.between(kFloat, places.of_statistics());
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, sums);
  const DnnTensor logarithms = graph.apply({.mode = CUDNN_POINTWISE_LOG}, sums);
  graph.apply({.mode = CUDNN_POINTWISE_ADD, .y = &logarithms}, largest, log_sums);
  const DnnTensor weights = graph.apply({.mode = CUDNN_POINTWISE_DIV, .y = &sums}, exponentials, kBf16);
  graph.multiply(weights, values, attended);
  result.memory = {queries.uid, keys.uid, values.uid, attended.uid, log_sums.uid};
  return result;
}

/// rows^T by, which becomes a gradient of keys or values: summed over the heads that share them.
void add_up_queries(DnnGraph& graph, const Places& places, const DnnTensor& rows, const DnnTensor& by,
                    const DnnTensor& to) {
  const DnnDims sizes = transposed(places.of_scores());
  const DnnTensor columns = graph.between(kBf16, sizes, transposed(packed(places.of_scores())));
  graph.relabel(rows, columns);
  if (places.key.heads == places.key.kv_heads) return graph.multiply(columns, by, to);
  const DnnTensor of_every_head = graph.between(kBf16, places.of_every_head());
  graph.multiply(columns, by, of_every_head);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, of_every_head, to);
}

/// attended . its gradient, by token and head.
void sum_deltas(DnnGraph& graph, const Places& places, const DnnTensor& attended, const DnnTensor& attended_grad,
                const DnnTensor& deltas) {
  const DnnTensor products = graph.apply({.mode = CUDNN_POINTWISE_MUL, .y = &attended}, attended_grad);
  const DnnTensor sums = graph.between(kFloat, places.of_statistics());
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, products, sums);
  const DnnTensor one = graph.number(1.0F);  // where the library expects the share of what was not dropped
  graph.apply({.mode = CUDNN_POINTWISE_MUL, .y = &one}, sums, deltas);
}

DnnOperations backward_graph(const AttentionKey& key) {
  const Places places(key);
  DnnOperations result;
  DnnGraph& graph = result.graph;
  const auto of_queries = [&](std::int64_t row) {
    return graph.in_memory(kBf16, places.of_queries(), places.by_query(row));
  };
  const auto as_columns = [&](std::int64_t row) {
    return graph.in_memory(kBf16, transposed(places.of_keys()), transposed(places.by_key(row)));
  };
  const auto of_keys = [&](std::int64_t row) { return graph.in_memory(kBf16, places.of_keys(), places.by_key(row)); };
  const DnnTensor queries = of_queries(key.query_row);
  const DnnTensor keys = as_columns(key.key_row);
  const DnnTensor values = as_columns(key.value_row);
  const DnnTensor attended = of_queries(key.attended_row);
  const DnnTensor attended_grad = of_queries(key.attended_grad_row);
  const DnnTensor log_sums = graph.in_memory(kFloat, places.of_statistics(), places.of_log_sums());
  const DnnTensor deltas = graph.in_memory(kFloat, places.of_statistics(), packed(places.of_statistics()));
  const DnnTensor query_grad = of_queries(key.query_grad_row);
  const DnnTensor key_grad = of_keys(key.key_grad_row);
  const DnnTensor value_grad = of_keys(key.value_grad_row);
  sum_deltas(graph, places, attended, attended_grad, deltas);
  DnnTensor scores = scores_of(graph, places, queries, keys);
  scores = graph.apply({.mode = CUDNN_POINTWISE_SUB, .y = &log_sums}, scores);
  if (key.causal) scores = causal_scores(graph, key, scores);
  const DnnTensor weights = graph.apply({.mode = CUDNN_POINTWISE_EXP}, scores);
  add_up_queries(graph, places, weights, attended_grad, value_grad);
  const DnnTensor weight_grads = graph.between(kFloat, places.of_scores());
  graph.multiply(attended_grad, values, weight_grads);
  DnnTensor score_grads = graph.apply({.mode = CUDNN_POINTWISE_SUB, .y = &deltas}, weight_grads);
  score_grads = graph.apply({.mode = CUDNN_POINTWISE_MUL, .y = &weights}, score_grads);
  const DnnTensor scale = scale_of(graph, key);
  score_grads = graph.apply({.mode = CUDNN_POINTWISE_MUL, .y = &scale}, score_grads);
  add_up_queries(graph, places, score_grads, queries, key_grad);
  const DnnTensor key_rows = graph.between(kBf16, places.of_keys(), places.by_key(key.key_row));
  graph.relabel(keys, key_rows);
  graph.multiply(score_grads, key_rows, query_grad);
  result.memory = {queries.uid,  keys.uid,   values.uid,     attended.uid, attended_grad.uid,
                   log_sums.uid, deltas.uid, query_grad.uid, key_grad.uid, value_grad.uid};
  return result;
}

}  // namespace

DnnOperations attention_graph(const AttentionKey& key) {
  return key.backward ? backward_graph(key) : forward_graph(key);
}

}  // namespace plumb::cuda
