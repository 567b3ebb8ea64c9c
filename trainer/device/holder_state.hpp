#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "trainer/device/correction_chain.hpp"
#include "trainer/device/frozen_weights.hpp"
#include "trainer/device/teacher.hpp"
#include "trainer/plan/post_validation.hpp"
#include "trainer/stages/backend.hpp"

namespace plumb {

class DeviceQueue;

/// Where the newest weights are: on the device, copied to another memory but still there, or only in the other memory.
enum class WeightsPlace : std::uint8_t { kHere, kCopied, kAway };

/// A stage as held by one device: its newest weights, the old versions still to be read, gradients, optimizer state.
/// Version v is what v updates of the running document have made.
class HolderState {
 public:
  /// All outlive this; `shared`: of all holders of the device; `queue`: that of the device, if it has one.
  HolderState(const RunPlan& plan, std::uint32_t holder, Arena& arena, SharedByCopies& shared, DeviceQueue* queue);

  /// Returns the layout of the first part; parameters and what lives the whole run are alike in all parts.
  const StageLayout& layout() const { return *layout_; }
  StageId stage() const { return plan_->program.holders[holder_].stage; }
  /// Returns the arithmetic of one part of a microbatch.
  StageBackend& backend(std::size_t part) { return *backends_[part]; }
  std::byte* gradients() { return gradients_.data(); }             ///< gradients that backwards add to
  std::byte* update_gradients() { return update_block().data(); }  ///< gradients that the next U applies
  /// REDUCE_GRAD, with two blocks: what was added up waits in one for its U, and backwards add to the other.
  void hand_over_gradients();
  std::int32_t version() const { return version_; }
  const std::byte* frozen() const { return shared_->frozen.of(stage()).data(); }  ///< weights, or null
  /// Returns the weights of `version`. Throws std::logic_error when they are gone or not made yet.
  const std::byte* weights(std::int32_t version) const;
  /// Returns what the methods of the schedule make a pass read; otherwise those of its version.
  const std::byte* weights(const WeightRead& read);
  /// Returns the weights of the teacher of an update of the whole run, for X, or null. Must be asked at the latest when
  /// the U before it begins.
  const std::byte* teacher_weights(std::int64_t update);
  /// SYNC_WEIGHTS: the weights that are summed over the holders, and the new weights from the sum over `members`.
  std::vector<std::byte> given_weights();
  void take_weights(std::vector<std::byte> sum, std::size_t members);

  /// U begins: keeps the newest version if it is still to be read; `with_state`: so that it can be taken back.
  void begin_update(bool keep, bool with_state = false);
  /// U: applies the gradients; they are zero then. `forward_version`: what methods look back at; -1: nothing.
  void update(std::int32_t forward_version);
  /// U of an update that V validates: makes it as is known now, or (no value) leaves it to V. Gradients stay.
  void propose(const std::optional<UpdateDecision>& decision);
  /// V: the update is that of `decision` afterwards; the gradients are zero. A skipped one counts for versions only.
  void validate(const UpdateDecision& decision);
  /// Norms of the gradients as they are (trainer/numbers/gradient_clip.hpp), and what makes means of them.
  std::vector<double> squared_norms() { return backend(0).squared_norms(holder_blocks()); }
  double gradient_scale() const { return 1.0 / static_cast<double>(microbatches_summed()); }
  /// U ends.
  void end_update() { workspace_ = Block(); }
  /// The last reader of an old version is done.
  void drop(std::int32_t version) {
    versions_.erase(version);
    kept_state_ = Block();
  }

  /// EVICT of the weights: copies them to another memory, then frees them; LOAD: brings them back.
  void copy_weights_away();
  void free_weights() { weights_ = Block(); }
  void bring_weights_back();
  WeightsPlace weights_place() const;
  /// Returns the newest weights that updates work on (bf16: float32), wherever they are, for the host; until they
  /// change.
  std::span<const std::byte> stored_weights();
  std::span<const std::byte> stored_frozen();  ///< frozen weights for the host; empty: nothing

  /// The document starts again: its versions count from 0.
  void restart_document() { version_ = 0; }

  /// Gradient blocks as they were before the last update, when the run keeps parameters.
  const std::vector<std::byte>& last_gradients() const { return last_gradients_; }

  /// For checkpoints: everything that the next action may read.
  struct Blocks {
    Block* weights = nullptr;
    Block* gradients = nullptr;
    Block* handed_over = nullptr;  ///< empty where the holder has one block of gradients
    std::map<std::int32_t, Block>* versions = nullptr;
    std::vector<Block>* corrections = nullptr;
    std::vector<std::int64_t*> notes;  ///< notes of the methods
  };
  Blocks blocks();
  std::int64_t updates_done() const { return updates_done_; }
  std::int64_t updates_skipped() const { return updates_skipped_; }
  std::int64_t updates_rolled_back() const { return updates_rolled_back_; }
  void place_weights(WeightsPlace place);
  void set_weights(std::span<const std::byte> weights);
  /// Returns what the optimizer keeps besides the weights.
  std::span<std::byte> optimizer_state() { return state_.span().subspan(masters().size()); }
  /// Takes over the counts of a checkpoint, and makes room for the old versions named.
  void restore(std::int32_t version, std::int64_t updates_done, std::span<const std::int32_t> old_versions);

 private:
  /// Returns the microbatches that the gradients of the next update are a sum of.
  std::int64_t microbatches_summed() const;
  DeviceMemory& memory() const { return arena_->memory(); }
  void initialize();
  std::vector<std::byte> with_values(const NamedValues& values);
  void start_teacher();
  /// Returns the weights that updates work on, where passes read rounded copies; otherwise empty.
  std::span<std::byte> masters();
  void keep_last_gradients();
  /// Returns what is known of the next update before anything changes it.
  UpdateStep next_step() const;
  /// An update without methods, with the gradients times `gradient_scale`, which stay.
  void step(double gradient_scale);
  CorrectedHolder corrected(const std::byte* forward_weights);
  Block& update_block() { return handed_over_.bytes() > 0 ? handed_over_ : gradients_; }
  HolderBlocks holder_blocks() { return {weights_.data(), update_gradients(), state_.data()}; }

  const RunPlan* plan_;
  std::uint32_t holder_;
  Arena* arena_;
  const StageLayout* layout_;
  std::vector<std::unique_ptr<StageBackend>> backends_;  ///< by part
  Block weights_;
  std::vector<std::byte> away_;  ///< the newest weights in another memory; empty when they are only here
  std::vector<std::byte> seen_;  ///< by the host, where it cannot read the device's memory
  Block gradients_;
  Block state_;
  std::vector<Block> corrections_;  ///< what the schedule's methods keep, each as large as the weights
  CorrectionChain chain_;
  Teacher teacher_;  ///< in the last block of `corrections_`
  SharedByCopies* shared_;
  Block workspace_;                         ///< workspace of U
  std::map<std::int32_t, Block> versions_;  ///< old ones
  std::int32_t version_ = 0;                ///< version of `weights_`
  std::int64_t updates_done_ = 0;           ///< in the whole run
  std::vector<std::byte> last_gradients_;
  Block kept_state_;                        ///< the optimizer state before an update that is not validated yet
  std::optional<UpdateDecision> proposed_;  ///< what was done to it
  double proposed_scale_ = 1;
  std::int64_t updates_skipped_ = 0;
  std::int64_t updates_rolled_back_ = 0;
  Block handed_over_;  ///< gradients that wait for their U
};

}  // namespace plumb
