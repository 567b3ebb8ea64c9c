#include "trainer/cuda/op_graphs.hpp"

#include "models/ground/error.hpp"
#include "trainer/cuda/cuda_call.hpp"

namespace plumb::cuda {

OpGraphs::~OpGraphs() {
  for (const auto& [key, graph] : graphs_) cudaGraphExecDestroy(graph);
}

void OpGraphs::run(const std::string& key, cudaStream_t stream, const std::function<void()>& work) {
  if (key.empty()) return work();
  const auto known = graphs_.find(key);
  if (known != graphs_.end()) {
    ++replays_;
    return PLUMB_CUDA_CALL(cudaGraphLaunch(known->second, stream));
  }
  const bool again = is_one_launch(key);
  if (!again && seen_.size() < kMost) seen_.insert(key);
  if (!again) return work();
  try {
    capture(key, stream, work);
  } catch (const Error& error) {  // nothing has been done of it
    cudaGetLastError();
    refusal_ = error.what();
    ++refusals_;
    seen_.erase(key);
    return work();
  }
  PLUMB_CUDA_CALL(cudaGraphLaunch(graphs_.at(key), stream));
}

void OpGraphs::capture(const std::string& key, cudaStream_t stream, const std::function<void()>& work) {
  PLUMB_CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  PLUMB_CUDA_CALL(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  graphs_.emplace(key, executable);
}

}  // namespace plumb::cuda
