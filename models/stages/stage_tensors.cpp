#include "models/stages/stage_tensors.hpp"

#include <utility>

namespace plumb {

TensorPlace keep_tensor(StageLayout& layout, StashTensor tensor) {
  const bool by_forward = tensor.made_by == StashTensor::MadeBy::kForward;
  const bool for_input_grad = tensor.last_use == LastUse::kInputGrad;
  BlockSize& size = !by_forward      ? layout.made_by_input_grad
                    : for_input_grad ? layout.kept_for_input_grad
                                     : layout.kept_for_weight_grad;
  const StageBlock block = !by_forward      ? StageBlock::kMadeByInputGrad
                           : for_input_grad ? StageBlock::kKeptForInputGrad
                                            : StageBlock::kKeptForWeightGrad;
  const TensorPlace place{block, size.storage};
  size.bytes += tensor.bytes;
  size.storage += aligned_bytes(tensor.bytes);
  layout.memory.stash.push_back(std::move(tensor));
  return place;
}

}  // namespace plumb
