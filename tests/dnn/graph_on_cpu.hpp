#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "trainer/cuda/dnn/dnn_graph.hpp"

namespace plumb::cuda {

/// Does what a graph says, operation by operation, on the host, in the meaning that cuDNN's documentation gives them.
/// Numbers are doubles, rounded as their tensor's type is. `memory`: by uid, where a tensor begins. Throws
/// std::logic_error for what neither attention nor convolutions need.
void run_on_cpu(const DnnGraph& graph, const std::map<std::int64_t, double*>& memory);

/// The same for operations without their graph. `numbers`: by uid, those by value.
using NumbersByValue = std::map<std::int64_t, std::array<std::byte, 4>>;
void run_on_cpu(const std::vector<DnnStep>& steps, const NumbersByValue& numbers,
                const std::map<std::int64_t, double*>& memory);

/// The nearest number of bf16.
double rounded_to_bf16(double value);

}  // namespace plumb::cuda
