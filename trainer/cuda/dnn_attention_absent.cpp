#include "models/ground/error.hpp"
#include "trainer/cuda/dnn_attention.hpp"

// Where cuDNN's headers were not installed when the program was built.

namespace plumb::cuda {

struct DnnAttention::Library {};

std::string attention_table_head(const std::string&) {
  throw Error("cuDNN: this program was built without its headers; expected cudnn_graph.h where CUDA's are");
}

DnnAttention::DnnAttention(std::shared_ptr<AttentionTable>, bool) { attention_table_head(""); }
DnnAttention::~DnnAttention() = default;
std::unique_ptr<kernels::AttentionUnits> DnnAttention::units(const AttentionPlace&) { return nullptr; }

}  // namespace plumb::cuda
