#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plumb {

/// What a teacher says of a microbatch: the logits of its head, numbers of the pass, a row for each target. A head with
/// `given` ones has the loss (1 - weight) x cross-entropy + weight x temperature^2 x KL(teacher || student), both as
/// softmax of their logits / temperature. (Hinton, Vinyals, Dean, arXiv 1503.02531)
struct SoftTargets {
  std::byte* made = nullptr;  ///< the pass is the teacher's: its logits go there, and there is no loss
  const std::byte* given = nullptr;
  double weight = 0;
  double temperature = 1;
};

/// Streams of a microbatch or a part of one (trainer/data/training_data.hpp), row after row. A layer reads those of its
/// kind in F; null where the data do not have one.
struct MicrobatchIds {
  const std::int32_t* tokens = nullptr;
  const std::int32_t* targets = nullptr;
  double loss_tokens = 0;  ///< that the loss is a mean over; 0: those of the pass
  const std::int32_t* target_tokens = nullptr;
  const double* values = nullptr;
  const double* target_values = nullptr;
  SoftTargets soft = {};  ///< F of a head
};

/// Attention on a sequence slice: what it reads of an earlier slice of the same microbatch, and adds to.
template <class T>
struct EarlierKeys {
  const T* keys = nullptr;  ///< rotated keys and values of the slice, a row per token ...
  std::int64_t stride = 0;  ///< ... so far apart
  T* key_grads = nullptr;   ///< I: gradients of its keys and values, by token; added to
  std::int64_t sequence = 0;
};

/// What one pass of one layer computes on. Pointers of tensors that are dead in a pass are null.
/// Matrices are row-major with one row per token, samples one after the other. T: numbers of weights and activations;
/// G: of the parameters' gradients.
template <class T, class G = T>
struct LayerPass {
  std::span<const T* const> weights;  ///< F and I; by parameter of the layer's facts
  std::span<G* const> gradients;      ///< I (norms) and W; added to
  std::span<std::byte* const> stash;  ///< by stash tensor of the layer's facts
  const T* input = nullptr;           ///< F; in I and W as the facts say
  const T* from = nullptr;            ///< second input, where the kind has one; read as the facts say
  T* output = nullptr;                ///< F; null when only the stash is wanted (recompute)
  const T* output_grad = nullptr;     ///< I; in W as the facts say
  T* input_grad = nullptr;            ///< I; overwritten; null where the facts allow it and nobody wants it
  T* from_grad = nullptr;             ///< I; overwritten
  std::byte* workspace = nullptr;     ///< of the pass
  MicrobatchIds ids;                  ///< F
  double* loss = nullptr;  ///< F of a loss: sum over the rows (of cross-entropies, in nats), over `loss_tokens`
  std::int64_t* correct = nullptr;  ///< F of a head: grows by the rows whose largest logit is the target; or null
  double loss_tokens = 0;           ///< F of a loss: rows that it is a mean over
  std::span<const EarlierKeys<T>> earlier;  ///< attention, F and I: all slices before this one, in order
  T* keys = nullptr;                        ///< attention, F: room for its keys and values, for later slices; or null
  const T* key_grads = nullptr;             ///< attention, I: what later slices have added up; null: nothing

  T* stash_values(std::size_t tensor) const { return reinterpret_cast<T*>(stash[tensor]); }
};

/// The arithmetic of one layer, for one size of microbatch. It has no state but sizes: forward and backward may be
/// given different versions of the weights. `LayerFacts` (models/layers/layer_facts.hpp) lists what it reads and
/// writes. Same input, same bits, on whatever thread.
template <class Pass>
class LayerOf {
 public:
  virtual ~LayerOf() = default;
  /// F: output and what the facts keep.
  virtual void forward(const Pass& pass) const = 0;
  /// I: gradient of the input, and of the parameters where the facts say so.
  virtual void input_grad(const Pass& pass) const = 0;
  /// W: gradients of the parameters. May run any time after I.
  virtual void weight_grad(const Pass& pass) const = 0;
  /// Bytes of scratch that a pass needs, where a back end has scratch beside the workspace.
  virtual std::int64_t scratch_bytes() const { return 0; }
};

/// A layer on the CPU.
template <class T>
using Layer = LayerOf<LayerPass<T>>;

}  // namespace plumb
