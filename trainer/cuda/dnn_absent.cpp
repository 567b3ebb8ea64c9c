#include "models/ground/error.hpp"
#include "trainer/cuda/dnn_attention.hpp"
#include "trainer/cuda/dnn_convolution.hpp"

// Where cuDNN's headers were not installed when the program was built.

namespace plumb::cuda {

struct DnnAttention::Library {};
struct DnnConvolution::Library {};

std::string dnn_table_head(const std::string&) {
  throw Error("cuDNN: this program was built without its headers; expected cudnn_graph.h where CUDA's are");
}

DnnAttention::DnnAttention(std::shared_ptr<DnnTable>, bool) { dnn_table_head(""); }
DnnAttention::~DnnAttention() = default;
std::unique_ptr<kernels::AttentionUnits> DnnAttention::units(const DnnPlace&) { return nullptr; }

DnnConvolution::DnnConvolution(std::shared_ptr<DnnTable>, bool) { dnn_table_head(""); }
DnnConvolution::~DnnConvolution() = default;
std::unique_ptr<kernels::ConvolutionUnits> DnnConvolution::units(const DnnPlace&) { return nullptr; }

}  // namespace plumb::cuda
