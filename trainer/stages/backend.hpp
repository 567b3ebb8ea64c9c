#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/network/network.hpp"
#include "models/stages/stage_layout.hpp"
#include "schedules/document/action.hpp"
#include "trainer/memory/stage_stash.hpp"
#include "trainer/numbers/elementwise.hpp"
#include "trainer/numbers/number_type.hpp"
#include "trainer/numbers/optimizer.hpp"
#include "trainer/stages/stage_module.hpp"

namespace plumb {

/// What a pass of a stage works on; unused members are null.
struct PassArguments {
  const std::byte* weights = nullptr;  ///< the version that the pass reads; null for W
  const std::byte* frozen = nullptr;   ///< weights that no update changes; null where the stage has none
  std::byte* gradients = nullptr;      ///< added to; null for F
  StageBlocks blocks = {};
  MicrobatchIds ids = {};  ///< F and R
  double* loss = nullptr;  ///< F of the last stage
};

/// The flat blocks of a holder.
struct HolderBlocks {
  std::byte* weights = nullptr;
  std::byte* gradients = nullptr;
  std::byte* state = nullptr;
};

/// The arithmetic of one holder (a stage on a device) on some hardware: what an executor needs of a back end. One
/// thread at a time.
class StageBackend {
 public:
  virtual ~StageBackend() = default;
  /// F, R, I, W or B of one microbatch; X: F of a teacher. Folded recompute: R on the blocks of the backward, just
  /// before it.
  virtual void run(Op op, const PassArguments& arguments) = 0;
  /// Fills the weights by `seed`, the rest (where there is any) with zeros.
  virtual void initialize(std::uint64_t seed, const HolderBlocks& blocks) = 0;
  /// Optimizer step on the weights; gradients are zero afterwards, unless `step` keeps them.
  virtual void update(const UpdateStep& step, const HolderBlocks& blocks) = 0;
  // For corrections: arithmetic on blocks as large as the weights.
  virtual void copy(std::byte* to, const std::byte* from) = 0;
  /// Applies an operation to as many blocks as it works on, in the order that it names; only those that it writes
  /// change.
  virtual void apply(const Elementwise& operation, std::initializer_list<const std::byte*> blocks) = 0;
  /// Sum of the products of two blocks' numbers, by parameter.
  virtual std::vector<double> products(const std::byte* a, const std::byte* b) = 0;
  /// Multiplies the numbers of every parameter by its factor.
  virtual void scale(std::byte* block, std::span<const double> factors) = 0;
  /// Squared norm of every parameter's gradient, in the layout's order (trainer/numbers/gradient_clip.hpp).
  virtual std::vector<double> squared_norms(const HolderBlocks& blocks) = 0;
};

namespace cuda {
class ProductTable;
class DnnAttention;
class DnnConvolution;
}  // namespace cuda

/// Where a stage's arithmetic runs, when that is a stream of a GPU.
struct StreamPlace {
  void* stream = nullptr;  ///< cudaStream_t
  int gpu = 0;
  int sms = 0;                             ///< multiprocessors that the stream has; 0: all
  std::byte* product_workspace = nullptr;  ///< workspace of the stream's matrix products
  std::int64_t product_workspace_bytes = 0;
  cuda::ProductTable* product_table = nullptr;   ///< their algorithms, those of all streams
  cuda::DnnAttention* attention = nullptr;       ///< attention of the GPU's library; null: our kernels
  cuda::DnnConvolution* convolutions = nullptr;  ///< convolutions of the GPU's library; null: our kernels
  std::byte* scratch = nullptr;                  ///< as much as `Backend::scratch_bytes` has asked for; not counted
};

/// What a `StageBackend` is made for.
struct StageSpec {
  const StageLayout* layout = nullptr;  ///< outlives the back end
  MicrobatchShape shape;
  OptimizerOptions optimizer;
  StreamPlace place = {};
};

class StreamMachine;
struct StreamOptions;

/// One row of the table of back ends (trainer/backends/backends.hpp).
struct Backend {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<StageBackend> (*make_stage)(NumberType type, const StageSpec& spec);
  /// Adds `term` to `sum`, number by number.
  void (*add)(NumberType type, std::span<std::byte> sum, std::span<const std::byte> term);
  /// Multiplies every number by `factor`.
  void (*scale)(NumberType type, std::span<std::byte> numbers, double factor);
  /// Makes the streams that the executor `streams` uses. Throws `Error` when this machine has none.
  std::unique_ptr<StreamMachine> (*make_streams)(const StreamOptions& options) = nullptr;
  /// Memory that a stage needs besides its blocks, at its `StreamPlace`, which lacks only that; null: none.
  std::int64_t (*scratch_bytes)(NumberType type, const StageSpec& spec) = nullptr;
  bool only_streams = false;  ///< its memory is not the host's: no other executor will do
  bool bfloat16 = false;      ///< does `NumberType::kBFloat16`
  bool frozen = false;        ///< passes read weights that no update changes, and adapters beside them
  bool teacher = false;       ///< runs X, a forward with the weights of a teacher; heads read its logits
  /// Computes nothing: actions and messages take the times that `PaceOptions` gives, by the clock.
  bool paced = false;
};

}  // namespace plumb
