// A stand-in for cuDNN under its name: keeps what it is told, proposes one plan for any graph, and works graphs out on
// the CPU, in memory of the host. PLUMB_FAKE_CUDNN makes it worse: old (another version), none (no proposals),
// nondeterministic (it says so), wrong (results are 1.5 times what they should be), by_head (log sums lie by head,
// whatever strides say).
#include <cudnn_graph.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/dnn/graph_on_cpu.hpp"

namespace {

using plumb::cuda::DnnDims;
using plumb::cuda::DnnStep;
using plumb::cuda::DnnTensor;
using plumb::cuda::DnnWindows;

struct Kept {
  cudnnBackendDescriptorType_t type;
  std::map<int, std::vector<std::byte>> attributes;

  template <class V>
  V value(cudnnBackendAttributeName_t name, V otherwise = {}) const {
    const auto found = attributes.find(name);
    if (found != attributes.end()) std::memcpy(&otherwise, found->second.data(), sizeof(V));
    return otherwise;
  }
  template <class V>
  std::vector<V> values(cudnnBackendAttributeName_t name) const {
    const std::vector<std::byte>& bytes = attributes.at(name);
    std::vector<V> all(bytes.size() / sizeof(V));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
};

Kept& kept(cudnnBackendDescriptor_t of) { return *static_cast<Kept*>(of); }

bool is(const char* fault) {
  const char* faults = std::getenv("PLUMB_FAKE_CUDNN");
  return faults != nullptr && std::string(faults) == fault;
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    default:
      return 4;
  }
}

/// A tensor of an operation, and whether it has one.
bool read_tensor(const Kept& operation, cudnnBackendAttributeName_t name, DnnTensor& tensor) {
  const auto descriptor = operation.value<cudnnBackendDescriptor_t>(name);
  if (descriptor == nullptr) return false;
  const Kept& from = kept(descriptor);
  tensor.uid = from.value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.type = from.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  tensor.sizes = from.value<DnnDims>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = from.value<DnnDims>(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.is_between = from.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  if (is("by_head") && tensor.sizes[3] == 1) tensor.strides = plumb::cuda::packed(tensor.sizes);
  return true;
}

/// A convolution as its operation has it: padding alike on both sides, what cuDNN would do with others is not told
/// here.
DnnWindows windows_of(const Kept& operation, cudnnBackendAttributeName_t name) {
  const Kept& convolution = kept(operation.value<cudnnBackendDescriptor_t>(name));
  return {convolution.values<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES).front(),
          convolution.values<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS).front()};
}

/// One of the three convolutions; false: the operation is none.
bool read_convolution(const Kept& operation, DnnStep& step) {
  struct Names {
    DnnStep::Kind kind;
    cudnnBackendAttributeName_t x, y, to, convolution;
  };
  static const std::map<cudnnBackendDescriptorType_t, Names> kNames{
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       {DnnStep::Kind::kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       {DnnStep::Kind::kBackToImages, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       {DnnStep::Kind::kBackToFilters, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC}}};
  const auto names = kNames.find(operation.type);
  if (names == kNames.end()) return false;
  DnnTensor y;
  step.kind = names->second.kind;
  read_tensor(operation, names->second.x, step.x);
  if (read_tensor(operation, names->second.y, y)) step.y = y;
  read_tensor(operation, names->second.to, step.to);
  step.windows = windows_of(operation, names->second.convolution);
  return true;
}

DnnStep step_of(const Kept& operation) {
  DnnStep step{};
  DnnTensor y;
  DnnTensor chooses;
  if (read_convolution(operation, step)) return step;
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      step.kind = DnnStep::Kind::kMultiply;
      read_tensor(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, step.x);
      if (read_tensor(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, y)) step.y = y;
      read_tensor(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, step.to);
      break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      step.kind = DnnStep::Kind::kRelabel;
      read_tensor(operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, step.x);
      read_tensor(operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, step.to);
      break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      step.kind = DnnStep::Kind::kReduce;
      read_tensor(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, step.x);
      read_tensor(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, step.to);
      step.by = kept(operation.value<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATION_REDUCTION_DESC))
                    .value<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
      break;
    default: {
      const Kept& mode = kept(operation.value<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
      step.kind = DnnStep::Kind::kApply;
      read_tensor(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, step.x);
      if (read_tensor(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, y)) step.y = y;
      if (read_tensor(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, chooses)) step.chooses = chooses;
      read_tensor(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, step.to);
      step.mode = mode.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
      step.axis = mode.value<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
    }
  }
  return step;
}

/// Memory of a tensor as doubles, which go back where they came from.
class Mirror {
 public:
  Mirror(const DnnTensor& of, void* memory) : of_(of), memory_(memory), values_(static_cast<std::size_t>(extent())) {
    each([&](std::int64_t at) { values_[static_cast<std::size_t>(at)] = read(at); });
  }

  double* values() { return values_.data(); }
  void put_back(double factor) {
    each([&](std::int64_t at) { write(at, factor * values_[static_cast<std::size_t>(at)]); });
  }

 private:
  std::int64_t extent() const {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < 4; ++i) last += (of_.sizes[i] - 1) * of_.strides[i];
    return last + 1;
  }
  template <class Visit>
  void each(Visit visit) const {
    const DnnDims& n = of_.sizes;
    for (std::int64_t i = 0; i < n[0] * n[1] * n[2] * n[3]; ++i) {
      visit(i / (n[1] * n[2] * n[3]) * of_.strides[0] + i / (n[2] * n[3]) % n[1] * of_.strides[1] +
            i / n[3] % n[2] * of_.strides[2] + i % n[3] * of_.strides[3]);
    }
  }
  double read(std::int64_t at) const {
    if (of_.type == CUDNN_DATA_FLOAT) return static_cast<double>(static_cast<float*>(memory_)[at]);
    const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<std::uint16_t*>(memory_)[at]) << 16U;
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return static_cast<double>(value);
  }
  void write(std::int64_t at, double number) {
    if (of_.type == CUDNN_DATA_FLOAT) {
      static_cast<float*>(memory_)[at] = static_cast<float>(number);
      return;
    }
    const auto value = static_cast<float>(plumb::cuda::rounded_to_bf16(number));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    static_cast<std::uint16_t*>(memory_)[at] = static_cast<std::uint16_t>(bits >> 16U);
  }

  DnnTensor of_;
  void* memory_;
  std::vector<double> values_;
};

const Kept& graph_of(const Kept& plan) {
  const Kept& configuration = kept(plan.value<cudnnBackendDescriptor_t>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  return kept(configuration.value<cudnnBackendDescriptor_t>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
}

}  // namespace

size_t cudnnGetVersion() { return is("old") ? 90900 : 91900; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "refused"; }
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size > 0) *message = '\0';
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static char something;
  *handle = reinterpret_cast<cudnnHandle_t>(&something);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Kept{type, {}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Kept*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  const auto* bytes = static_cast<const std::byte*>(values);
  kept(descriptor).attributes[name] = {bytes, bytes + static_cast<std::size_t>(count) * size_of(type)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t requested, int64_t* count, void* values) {
  const Kept& from = kept(descriptor);
  *count = 1;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      *count = is("none") || from.attributes.contains(CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET) ? 0 : 1;
      if (*count == 1 && requested == 1)
        kept(*static_cast<cudnnBackendDescriptor_t*>(values)).attributes = from.attributes;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *static_cast<cudnnBackendNumericalNote_t*>(values) =
          is("nondeterministic") ? CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC : CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<std::int64_t*>(values) = 256;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t arguments) {
  const auto uids = kept(arguments).values<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = kept(arguments).values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<std::int64_t, void*> given;
  for (std::size_t i = 0; i < uids.size(); ++i) given[uids[i]] = pointers[i];
  std::vector<DnnStep> steps;
  plumb::cuda::NumbersByValue numbers;
  std::map<std::int64_t, std::unique_ptr<Mirror>> mirrors;
  std::map<std::int64_t, double*> memory;
  const auto look_at = [&](const DnnTensor& tensor) {
    if (tensor.is_between || memory.contains(tensor.uid)) return;
    if (tensor.sizes == DnnDims{1, 1, 1, 1}) {  // by value
      std::memcpy(numbers[tensor.uid].data(), given.at(tensor.uid), 4);
      return;
    }
    mirrors[tensor.uid] = std::make_unique<Mirror>(tensor, given.at(tensor.uid));
    memory[tensor.uid] = mirrors[tensor.uid]->values();
  };
  for (const auto operation : graph_of(kept(plan)).values<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    steps.push_back(step_of(kept(operation)));
    look_at(steps.back().x);
    look_at(steps.back().to);
    if (steps.back().y) look_at(*steps.back().y);
    if (steps.back().chooses) look_at(*steps.back().chooses);
  }
  plumb::cuda::run_on_cpu(steps, numbers, memory);
  for (const DnnStep& step : steps) {
    if (mirrors.contains(step.to.uid)) mirrors[step.to.uid]->put_back(is("wrong") ? 1.5 : 1);
  }
  return CUDNN_STATUS_SUCCESS;
}
