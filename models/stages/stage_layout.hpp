#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/layers/layer_facts.hpp"
#include "models/network/network.hpp"
#include "models/stages/stage_flow.hpp"

namespace plumb {

/// The layers of one stage: [begin, end) of a network's chain.
struct LayerRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// The memory blocks of one stage and microbatch; `schedules/program/program.hpp`, "Life of a buffer", says when each
/// lives.
enum class StageBlock : std::uint8_t {
  kNone,
  kInput,              ///< value from the previous stage
  kOutput,             ///< value for the next stage
  kOutputGrad,         ///< gradient from the next stage
  kInputGrad,          ///< gradient for the previous stage
  kKeptForInputGrad,   ///< stash made by F, last used by I
  kKeptForWeightGrad,  ///< stash made by F, last used by W
  kMadeByInputGrad,    ///< stash made by I, last used by W
  kWorkspace,          ///< workspace of the running pass
  kKeyGrads,           ///< sums of what later sequence slices add to the gradients of a slice's keys and values
  kKeys,               ///< keys and values of a slice whose stash is dropped, which later slices read
};

/// Returns the room for `bytes` so that the next tensor starts at a multiple of 64 bytes.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

inline constexpr std::size_t kStageBlockCount = 11;

/// A block of several tensors.
struct BlockSize {
  std::int64_t bytes = 0;    ///< bytes of the tensors, as counted
  std::int64_t storage = 0;  ///< with the gaps that alignment leaves between them

  friend bool operator==(const BlockSize&, const BlockSize&) = default;
};

/// Where a tensor lies: a block and an offset in it, a multiple of 64 bytes.
struct TensorPlace {
  StageBlock block = StageBlock::kNone;
  std::int64_t offset = 0;

  friend bool operator==(const TensorPlace&, const TensorPlace&) = default;
};

/// The places of one tensor in the passes that touch it (kNone where none does).
struct TensorPlaces {
  TensorPlace f{};
  TensorPlace i{};
  TensorPlace w{};
  TensorPlace b{};  ///< fused backward
};

/// A parameter of a stage: one of `StageLayout::parameters`, or of `StageLayout::frozen`.
struct ParameterPlace {
  std::size_t index = 0;
  bool frozen = false;

  friend bool operator==(const ParameterPlace&, const ParameterPlace&) = default;
};

/// One layer of a stage, residual blocks opened up. Layer k of a plain chain reads value k and makes value k + 1.
struct LayoutStep {
  LayerSpec spec;  ///< never a residual or an addition
  LayerFacts facts;
  std::vector<ParameterPlace> parameters{};  ///< by parameter of the facts
  std::vector<TensorPlaces> stash{};         ///< by stash tensor of the facts
  TensorPlaces workspace{};
  TensorPlace key_grads{};
  TensorPlace keys{};
  std::size_t input = kNoValue;  ///< into `StageLayout::values`
  std::size_t from = kNoValue;   ///< second value of layers that read two
  std::size_t output = kNoValue;
  TensorPlaces input_grad{};  ///< place of the value's gradient, or one from which a move adds it there
  TensorPlaces from_grad{};
};

/// Between two layers: copies a value (or gradient) to another place, or adds it there. Idle in passes where one of the
/// two has no place.
struct ValueMove {
  std::size_t at = 0;  ///< F: before that step; backward: after it. The number of steps: after (before) all
  TensorPlaces to{};
  TensorPlaces from{};
  std::int64_t bytes = 0;
  bool adds = true;
};

/// Layers of a reversible stage whose sum with `other` is `made`. The backward runs them again, the last block first;
/// what they make is the difference of the two.
struct ReversedBlock {
  std::size_t begin = 0;  ///< steps
  std::size_t end = 0;
  std::size_t made = kNoValue;  ///< values
  std::size_t other = kNoValue;
  TensorPlaces again{};                       ///< what the last step makes again
  std::vector<TensorPlaces> workspaces = {};  ///< by step: of its forward
};

/// Everything that a stage computes with and where it lies. `StageMemory` follows from it, and the trainer allocates by
/// it, so both know the same bytes.
struct StageLayout {
  MicrobatchShape shape;
  std::vector<LayoutStep> steps;
  std::vector<ParameterFacts>
      parameters;                         ///< parameters of the stage, packed in this order; a tied weight appears once
  std::vector<ParameterFacts> frozen;     ///< parameters that no update changes, packed in a block of their own
  std::vector<TensorPlaces> values;       ///< inputs, then what layers and sums make, then copies for the next stage
  std::vector<std::int64_t> value_bytes;  ///< 0 where there is none (token ids, the loss)
  std::vector<TensorPlaces> gradients;    ///< gradients of the values
  std::vector<ValueMove> forward_moves;   ///< in order
  std::vector<ValueMove> backward_moves;  ///< in order
  std::vector<ReversedBlock> reversed;    ///< before everything else in the backward (models/stages/stage_reversal.hpp)
  std::vector<ValueMove> taken;           ///< copies, before that, of values that come back with the gradient
  std::vector<ValueMove> returned;        ///< copies that go back to the stage before, which reverses
  std::vector<std::size_t> copied_grads;  ///< values whose received gradient I copies for W: the block dies with I
  bool reads_data = false;                ///< some layer reads the microbatch's data
  bool first = false;                     ///< begins the network
  bool last = false;                      ///< ends the network
  StageMemory memory;

  BlockSize kept_for_input_grad;
  BlockSize kept_for_weight_grad;
  BlockSize made_by_input_grad;
  BlockSize key_grads;  ///< sizes of `kKeyGrads`, and of `kKeys`
};

}  // namespace plumb
