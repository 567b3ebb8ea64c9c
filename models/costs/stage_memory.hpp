#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumb {

/// Last pass that reads a tensor made by the forward: the forward itself, I or W.
enum class LastUse : std::uint8_t { kForward, kInputGrad, kWeightGrad };

/// One tensor (or group of equal life) that a stage keeps for one microbatch between its passes.
struct StashTensor {
  enum class MadeBy : std::uint8_t { kForward, kInputGrad };

  std::string name;  ///< "layer3.mlp.gelu_in"
  std::int64_t bytes = 0;
  MadeBy made_by = MadeBy::kForward;
  LastUse last_use = LastUse::kInputGrad;  ///< kInputGrad or kWeightGrad; made by I implies kWeightGrad

  friend bool operator==(const StashTensor&, const StashTensor&) = default;
};

/// Bytes of one stage on one device. Every figure is per microbatch unless it says otherwise.
///
/// The simulator's memory curve and the trainer's arena both follow `schedules/program/program.hpp`, "Life of a
/// buffer", with these sizes; that is why predicted and measured peaks are equal to the byte.
struct StageMemory {
  // Whole run.
  std::int64_t weight_bytes = 0;  ///< one version of all parameters of the stage
  std::int64_t frozen_bytes =
      0;  ///< part of these for parameters that no update changes; copies on one device share them
  std::int64_t gradient_bytes = 0;   ///< gradient accumulators
  std::int64_t optimizer_bytes = 0;  ///< state of the optimizer (master weights included)

  // Between passes.
  std::vector<StashTensor> stash = {};  ///< without the stage's input
  /// Sequence slices: sums of the gradients of keys and values, which themselves are as large. The backward (B or I) of
  /// the last slice makes those of all slices before it; the backward of each of these frees its own.
  std::int64_t key_grads_made_bytes = 0;
  std::int64_t key_grads_freed_bytes = 0;
  std::int64_t input_bytes = 0;  ///< value received from the previous stage (0 on the first stage)
  LastUse input_last_use = LastUse::kForward;
  std::int64_t output_bytes = 0;       ///< value handed to the next stage (0 on the last stage)
  std::int64_t output_grad_bytes = 0;  ///< gradient received from the next stage; freed at the end of I
  std::int64_t input_grad_bytes = 0;   ///< gradient handed to the previous stage
  /// What a link carries of output and gradient of the input, where neighbouring stages have unlike tensor degrees and
  /// the ranks of one of them send or receive more than they hold or keep. 0: the value itself.
  std::int64_t sent_output_bytes = 0;
  std::int64_t sent_input_grad_bytes = 0;
  std::int64_t logit_bytes = 0;  ///< what the head makes its loss of (0 on all stages but the last)

  // Inside one action.
  std::int64_t workspace_f_bytes = 0;
  std::int64_t workspace_b_bytes = 0;  ///< fused backward: includes what I makes for W, layer by layer
  std::int64_t workspace_i_bytes = 0;
  std::int64_t workspace_w_bytes = 0;
  std::int64_t workspace_u_bytes = 0;

  /// Returns the bytes of the message to the next stage, or of the gradient to the one before (`backward`).
  std::int64_t message_bytes(bool backward) const {
    const std::int64_t sent = backward ? sent_input_grad_bytes : sent_output_bytes;
    return sent > 0 ? sent : backward ? input_grad_bytes : output_bytes;
  }
  std::int64_t updated_bytes() const { return weight_bytes - frozen_bytes; }  ///< bytes of a version of the weights
  friend bool operator==(const StageMemory&, const StageMemory&) = default;
};

}  // namespace plumb
