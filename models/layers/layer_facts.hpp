#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// One parameter of a layer.
struct ParameterFacts {
  std::string name;                 ///< "<layer>.<parameter>", unique in the network
  std::vector<std::int64_t> shape;  ///< row-major; a matrix is [outputs, inputs]
  bool decayed = false;             ///< weight decay applies: matrices and tables, not biases and norm scales
  bool frozen = false;              ///< no update changes it: without gradient and optimizer state, and shared
  bool tied = false;                ///< a further copy of the embedding's weight (a tied head)
  double initial_mean = 0;
  double initial_deviation = 0;  ///< deviation of a normal distribution; 0: the mean itself

  std::int64_t count() const;
  friend bool operator==(const ParameterFacts&, const ParameterFacts&) = default;
};

/// What one pass of a layer does for one microbatch.
struct PassFacts {
  double flops = 0;                  ///< matrix products only, 2 per multiply-add (Megatron's count)
  std::int64_t bytes_moved = 0;      ///< read and written by its kernels, each operand once per kernel
  std::int64_t workspace_bytes = 0;  ///< alive inside the pass only

  friend bool operator==(const PassFacts&, const PassFacts&) = default;
};

/// What a layer is, for one microbatch: the one list that the memory model, prices and the trainer read.
///
/// A layer reads its input in F, and again in I or W as `input_last_use` says; it never reads its output again.
/// It reads the gradient of its output in I, and again in W as `output_grad_last_use` says. The parameter gradients
/// of norms are made by I (the data are being read there), all others by W.
///
/// FLOPs: attention counts the whole s x s scores, also when it is causal (a causal kernel does half of that), and not
/// that I computes the scores again from the kept statistics. Element-wise work counts bytes, but no FLOPs.
struct LayerFacts {
  std::vector<ParameterFacts> parameters;
  std::vector<StashTensor> stash;  ///< kept between passes, without the input, the output and their gradients
  LastUse input_last_use = LastUse::kForward;
  LastUse output_grad_last_use = LastUse::kInputGrad;  ///< kInputGrad or kWeightGrad
  LastUse from_last_use = LastUse::kForward;           ///< last use of the second input
  std::int64_t from_bytes = 0;                         ///< bytes of the second input; 0 where there is none
  bool input_grad_optional = false;                    ///< I may be told not to make the gradient of the input
  std::int64_t input_bytes = 0;     ///< activations read; 0 where the input is token ids, or not known (profiled)
  std::int64_t output_bytes = 0;    ///< activations handed to the next layer; 0 for a head, which ends in the loss
  std::int64_t key_grad_bytes = 0;  ///< attention on a sequence slice: what later slices add to its keys' and values'
                                    ///< gradients; I of the last slice makes them all
  std::int64_t earlier_key_grad_bytes = 0;  ///< those of all slices before the last one, which this is
  PassFacts forward;
  PassFacts input_grad;
  PassFacts weight_grad;

  std::int64_t parameter_count() const;
  friend bool operator==(const LayerFacts&, const LayerFacts&) = default;
};

}  // namespace plumb
