#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "models/network/network.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/numbers/number_type.hpp"
#include "trainer/weights/tensor_names.hpp"

namespace plumb {

/// Returns the weights of `network` in `path`: a safetensors file, an index of several
/// (`model.safetensors.index.json`), or a folder that has `model.safetensors` or such an index. Tensors are F64, F32,
/// F16 or BF16, under our own names or under published ones (trainer/weights/WEIGHTS.md). Throws `Error` in one line:
/// which tensors are missing, which have no place in the network, and which have another shape or type than expected.
NamedValues read_weights(const std::filesystem::path& path, const Network& network);

/// Returns the newest weights in the checkpoint folder `directory` of a run with `network` (trainer/checkpoint). Throws
/// `Error` when there is no checkpoint, or when it is one of another network.
NamedValues read_checkpoint_weights(const std::filesystem::path& directory, const Network& network);

/// Returns the weights that a run with this seed starts from, as numbers of `numbers` (bf16: float32).
NamedValues initial_weights(const Network& network, std::uint64_t seed, NumberType numbers);

/// Writes `values` (all parameters of `network`) as one safetensors file of F64, F32 or BF16 that appears whole or not
/// at all. Throws `Error` when it cannot be written.
void write_weights(const std::filesystem::path& path, const Network& network, const TensorNames& names,
                   const NamedValues& values, NumberType numbers);

/// Returns the names of `naming`, or of the published project that the network corresponds to, or our own (`naming`
/// empty). Throws `Error` when the network has no counterpart there.
TensorNames names_for(const Network& network, std::string_view naming);

}  // namespace plumb
