#include "trainer/cuda/dnn_place.hpp"

#include "trainer/cuda/dnn/dnn_library.hpp"

namespace plumb::cuda {

std::string dnn_table_head(const std::string& gpu) { return "cuDNN " + dnn_version() + ", " + gpu; }

}  // namespace plumb::cuda
