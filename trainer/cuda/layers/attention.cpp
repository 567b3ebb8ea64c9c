#include <string>

#include "models/ground/error.hpp"
#include "trainer/cuda/kernels/attention/key_slices.hpp"
#include "trainer/cuda/kernels/attention/rotary.hpp"
#include "trainer/cuda/layers/attend.hpp"
#include "trainer/cuda/layers/attention_sizes.hpp"
#include "trainer/cuda/layers/cuda_arithmetic.hpp"
#include "trainer/cuda/layers/kinds.hpp"
#include "trainer/layers/rotary.hpp"

namespace plumb::kernels {

namespace {

/// The core of an `AttentionLayer`. Keys and values of a sequence slice are gathered with those of the slices before
/// it; their gradients are made there and spread again.
template <class T>
class CudaAttentionUnit {
 public:
  CudaAttentionUnit(const LayerSpec& spec, const MicrobatchShape& shape)
      : sizes_(spec), shape_(shape), causal_(spec.causal), rotary_(spec.rotary) {
    const std::int64_t half = sizes_.head_width / 2;
    if (rotary_ && half > RotaryFrequencies::kMost) {
      throw Error("layer '" + spec.name + "': heads of " + std::to_string(sizes_.head_width) +
                  " numbers cannot turn on CUDA, expected at most " + std::to_string(2 * RotaryFrequencies::kMost));
    }
    for (std::int64_t i = 0; rotary_ && i < half; ++i) {
      frequencies_.of[i] = rotary_frequency(spec.turns, i, sizes_.head_width);
    }
  }

  void forward(const CudaPass<T>& pass) const {
    T* qkv = pass.stash_values(0);
    ScratchPieces scratch(pass.device.scratch);
    if (rotary_) turn_rows(pass, qkv, scratch.take<float>(angles()), false);
    if (pass.keys != nullptr) {
      copy_rows<T>(own_keys(), {pass.keys, sizes_.keys_width, shape_.sequence, 0}, in_rows<const T>(qkv),
                   pass.device.stream);
    }
    const HeadRows<const T> keys = keys_of(pass, qkv, scratch);
    attend<T>(pass.device, {.shape = sizes_.shape(shape_, causal_),
                            .queries = {qkv, sizes_.row},
                            .keys = keys,
                            .values = values_after(keys),
                            .attended = {pass.stash_values(2), sizes_.width},
                            .log_sums = pass.statistics(1)});
  }

  T* attended_grad(const CudaPass<T>& pass) const { return reinterpret_cast<T*>(pass.workspace); }

  void input_grad(const CudaPass<T>& pass, const T* attended_grad) const {
    const T* qkv = pass.stash_values(0);
    T* qkv_grad = pass.stash_values(3);
    ScratchPieces scratch(pass.device.scratch);
    float* angles_of_turn = scratch.take<float>(rotary_ ? angles() : 0);
    float* deltas = scratch.take<float>(shape_.tokens() * sizes_.heads);
    const HeadRows<const T> keys = keys_of(pass, qkv, scratch);
    const bool sliced = shape_.before > 0;
    const HeadRows<T> key_grads = sliced ? HeadRows<T>{scratch.take<T>(gathered()), sizes_.keys_width}
                                         : HeadRows<T>{qkv_grad + sizes_.width, sizes_.row};
    attend_back<T>(pass.device, {.shape = sizes_.shape(shape_, causal_),
                                 .queries = {qkv, sizes_.row},
                                 .keys = keys,
                                 .values = values_after(keys),
                                 .attended = {pass.stash_values(2), sizes_.width},
                                 .attended_grad = {attended_grad, sizes_.width},
                                 .log_sums = pass.statistics(1),
                                 .query_grad = {qkv_grad, sizes_.row},
                                 .key_grad = key_grads,
                                 .value_grad = {key_grads.rows + sizes_.keys_width / 2, key_grads.stride},
                                 .deltas = deltas});
    if (sliced) spread(pass, key_grads.rows, qkv_grad);
    if (pass.key_grads != nullptr) {
      add_rows<T>(own_keys(), in_rows(qkv_grad), {pass.key_grads, sizes_.keys_width, shape_.sequence, 0},
                  pass.device.stream);
    }
    if (rotary_) turn_rows(pass, qkv_grad, angles_of_turn, true);
  }

  std::int64_t scratch_bytes() const {
    const std::int64_t keys = shape_.before > 0 ? 2 * ScratchPieces::bytes<T>(gathered()) : 0;
    const std::int64_t statistics = ScratchPieces::bytes<float>(shape_.tokens() * sizes_.heads);
    return ScratchPieces::bytes<float>(rotary_ ? angles() : 0) + statistics + keys;
  }

 private:
  std::int64_t angles() const { return shape_.sequence * sizes_.head_width; }
  std::int64_t all_keys() const { return shape_.before + shape_.sequence; }
  std::int64_t gathered() const { return shape_.samples * all_keys() * sizes_.keys_width; }
  SampleShape own_keys() const { return {shape_.samples, shape_.sequence, sizes_.keys_width}; }

  HeadRows<const T> values_after(const HeadRows<const T>& keys) const {
    return {keys.rows + sizes_.keys_width / 2, keys.stride};
  }
  /// Keys and values of this slice, in rows q | k | v.
  template <class U>
  SampleRows<U> in_rows(U* qkv) const {
    return {qkv + sizes_.width, sizes_.row, shape_.sequence, 0};
  }

  void turn_rows(const CudaPass<T>& pass, T* rows, float* table, bool back) const {
    turn<T>({.rows = rows,
             .stride = sizes_.row,
             .tokens = shape_.tokens(),
             .sequence = shape_.sequence,
             .before = shape_.before,
             .heads = sizes_.heads + sizes_.kv_heads,
             .head_width = sizes_.head_width,
             .back = back,
             .angles = table},
            frequencies_, pass.device.stream);
  }

  /// The keys (and after them the values) of all slices up to this one.
  HeadRows<const T> keys_of(const CudaPass<T>& pass, const T* qkv, ScratchPieces& scratch) const {
    if (shape_.before == 0) return {qkv + sizes_.width, sizes_.row};
    T* all = scratch.take<T>(gathered());
    std::int64_t first = 0;
    const auto gather = [&](const T* from, std::int64_t stride, std::int64_t sequence) {
      copy_rows<T>({shape_.samples, sequence, sizes_.keys_width}, {all, sizes_.keys_width, all_keys(), first},
                   {from, stride, sequence, 0}, pass.device.stream);
      first += sequence;
    };
    for (const EarlierKeys<T>& slice : pass.earlier) gather(slice.keys, slice.stride, slice.sequence);
    gather(qkv + sizes_.width, sizes_.row, shape_.sequence);
    return {all, sizes_.keys_width};
  }

  /// Gradients of all keys to the slices that they belong to: added for earlier ones, written for this one.
  void spread(const CudaPass<T>& pass, const T* all, T* qkv_grad) const {
    std::int64_t first = 0;
    for (const EarlierKeys<T>& slice : pass.earlier) {
      add_rows<T>({shape_.samples, slice.sequence, sizes_.keys_width},
                  {slice.key_grads, sizes_.keys_width, slice.sequence, 0}, {all, sizes_.keys_width, all_keys(), first},
                  pass.device.stream);
      first += slice.sequence;
    }
    copy_rows<T>(own_keys(), in_rows(qkv_grad), {all, sizes_.keys_width, all_keys(), first}, pass.device.stream);
  }

  AttentionSizes sizes_;
  MicrobatchShape shape_;
  bool causal_;
  bool rotary_;
  RotaryFrequencies frequencies_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_attention(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<AttentionLayer<CudaArithmetic<T>, CudaAttentionUnit<T>>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_attention(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_attention(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
