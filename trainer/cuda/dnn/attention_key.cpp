#include "trainer/cuda/dnn/attention_key.hpp"

#include <array>

namespace plumb::cuda {

namespace {

constexpr std::int64_t kPack = 8;  ///< numbers of 16 bytes

std::int64_t round_up(std::int64_t count) { return (count + 127) / 128 * 128; }

template <class Attention>
AttentionKey sizes_of(const Attention& of, int sms) {
  const kernels::AttentionShape& shape = of.shape;
  return {.causal = shape.causal,
          .samples = shape.samples,
          .queries = shape.sequence,
          .keys = shape.keys(),
          .heads = shape.heads,
          .kv_heads = shape.heads / shape.group,
          .head_width = shape.head_width,
          .query_row = of.queries.stride,
          .key_row = of.keys.stride,
          .value_row = of.values.stride,
          .attended_row = of.attended.stride,
          .sms = sms};
}

std::array<std::int64_t, 8> rows_of(const AttentionKey& key) {
  return {key.query_row,         key.key_row,        key.value_row,    key.attended_row,
          key.attended_grad_row, key.query_grad_row, key.key_grad_row, key.value_grad_row};
}

}  // namespace

AttentionKey key_of(const kernels::AttentionForward<kernels::BFloat16>& attention, int sms) {
  return sizes_of(attention, sms);
}

AttentionKey key_of(const kernels::AttentionBackward<kernels::BFloat16>& attention, int sms) {
  AttentionKey key = sizes_of(attention, sms);
  key.backward = true;
  key.attended_grad_row = attention.attended_grad.stride;
  key.query_grad_row = attention.query_grad.stride;
  key.key_grad_row = attention.key_grad.stride;
  key.value_grad_row = attention.value_grad.stride;
  return key;
}

std::string text_of(const AttentionKey& key) {
  std::string text = key.backward ? "backward" : "forward";
  text += " b" + std::to_string(key.samples) + " q" + std::to_string(key.queries) + " k" + std::to_string(key.keys) +
          " h" + std::to_string(key.heads) + "/" + std::to_string(key.kv_heads) + " d" +
          std::to_string(key.head_width) + (key.causal ? " causal" : " all") + " rows";
  const std::array<std::int64_t, 8> rows = rows_of(key);
  for (std::size_t i = 0; i < (key.backward ? 8U : 4U); ++i) text += (i == 0 ? "" : ",") + std::to_string(rows[i]);
  return text + " sms" + std::to_string(key.sms);
}

std::int64_t attention_workspace_bytes(const kernels::AttentionShape& shape) {
  constexpr std::int64_t kRest = std::int64_t{64} << 10;
  const std::int64_t heads = shape.samples * shape.heads;
  const std::int64_t keys = round_up(shape.keys());
  const std::int64_t of_every_head = shape.group > 1 ? 2 * heads * keys * shape.head_width * 2 : 0;
  const std::int64_t log_sums =
      log_sums_bytes({.samples = shape.samples, .queries = shape.sequence, .heads = shape.heads});
  return heads * round_up(shape.sequence) * keys * 2 + of_every_head + kRest + log_sums;
}

std::int64_t log_sums_bytes(const AttentionKey& key) {
  return (key.samples * key.heads * key.queries * 4 + 255) / 256 * 256;
}

std::string not_asked_because(const AttentionKey& key, std::size_t version) {
  constexpr std::size_t kFirst = 91100;       // before it 9.10 had wrong results, and devices no properties to give
  constexpr std::size_t kRaggedKeys = 91501;  // keys of the backward that are no multiple of 128
  if (version < kFirst) return "it is older than 9.11";
  if (key.head_width % kPack != 0 || key.head_width > 128) {
    return "heads of " + std::to_string(key.head_width) + " numbers";
  }
  for (const std::int64_t row : rows_of(key)) {
    if (row % kPack != 0) return "rows of " + std::to_string(row) + " numbers";
  }
  if (key.backward && key.keys == 1) return "a single key";
  if (key.backward && key.keys % 128 != 0 && version < kRaggedKeys) {
    return "before 9.15.1 " + std::to_string(key.keys) + " keys, no multiple of 128";
  }
  return "";
}

}  // namespace plumb::cuda
