#pragma once

#include <cstdint>

#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/dnn/attention_kinds.hpp"
#include "trainer/cuda/dnn_attention.hpp"

namespace plumb::cuda {

/// The memory of one attention, rows q | k | v as the layers have them.
struct AttentionMemory {
  using BFloat16 = kernels::BFloat16;
  using Buffer = kernels::DeviceBuffer<BFloat16>;

  explicit AttentionMemory(const AttentionKind& of)
      : kind(of),
        key(key_of(of, true)),
        qkv(kernels::random_numbers(size_of(of.samples * of.sequence * key.query_row), 1)),
        gathered(kernels::random_numbers(size_of(of.before > 0 ? of.samples * key.keys * key.key_row : 8), 2)),
        attended(size_of(of.samples * of.sequence * key.attended_row)),
        attended_grad(kernels::random_numbers(attended.count(), 3)),
        log_sums(size_of(of.samples * of.sequence * of.heads)),
        deltas(log_sums.count()),
        qkv_grad(qkv.count()),
        gathered_grad(gathered.count()),
        workspace(size_of(attention_workspace_bytes(shape_of(of)))) {}

  BFloat16* keys() const { return kind.before > 0 ? gathered.data() : qkv.data() + key.attended_row; }
  BFloat16* key_grads() const { return kind.before > 0 ? gathered_grad.data() : qkv_grad.data() + key.attended_row; }
  std::int64_t keys_width() const { return kind.heads / kind.group * kind.head_width; }

  kernels::AttentionForward<BFloat16> forward() const {
    return {.shape = shape_of(kind),
            .queries = {qkv.data(), key.query_row},
            .keys = {keys(), key.key_row},
            .values = {keys() + keys_width(), key.key_row},
            .attended = {attended.data(), key.attended_row},
            .log_sums = log_sums.data()};
  }
  kernels::AttentionBackward<BFloat16> backward() const {
    return {.shape = shape_of(kind),
            .queries = {qkv.data(), key.query_row},
            .keys = {keys(), key.key_row},
            .values = {keys() + keys_width(), key.key_row},
            .attended = {attended.data(), key.attended_row},
            .attended_grad = {attended_grad.data(), key.attended_row},
            .log_sums = log_sums.data(),
            .query_grad = {qkv_grad.data(), key.query_row},
            .key_grad = {key_grads(), key.key_row},
            .value_grad = {key_grads() + keys_width(), key.key_row},
            .deltas = deltas.data()};
  }
  DnnPlace place(int sms) const {
    return {.sms = sms, .workspace = workspace.begin(), .workspace_bytes = static_cast<std::int64_t>(workspace.size())};
  }
  static std::size_t size_of(std::int64_t count) { return static_cast<std::size_t>(count); }
  bool intact() const {
    return qkv.intact() && gathered.intact() && attended.intact() && log_sums.intact() && deltas.intact() &&
           qkv_grad.intact() && gathered_grad.intact() && workspace.intact();
  }

  AttentionKind kind;
  AttentionKey key;
  Buffer qkv, gathered, attended, attended_grad;
  kernels::DeviceBuffer<float> log_sums, deltas;
  Buffer qkv_grad, gathered_grad;
  kernels::DeviceBytes workspace;
};

}  // namespace plumb::cuda
