#include "trainer/cuda/dnn_convolution.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/cuda/dnn/convolution_graphs.hpp"
#include "trainer/cuda/dnn/dnn_handle.hpp"
#include "trainer/cuda/dnn_check.hpp"
#include "trainer/cuda/kernels/blocks.hpp"
#include "trainer/cuda/kernels/host_copies.hpp"
#include "trainer/cuda/product_trial.hpp"

namespace plumb::cuda {

namespace {

using Call = kernels::ConvolutionCall<kernels::BFloat16>;
using kernels::ConvolutionPass;

/// Lists the memory in the order of `convolution_graph`. `filter_grad`: where that of filters goes.
std::array<void*, 3> memory_of(const Call& call, void* filter_grad) {
  const auto in = [](const kernels::BFloat16* numbers) -> void* { return const_cast<kernels::BFloat16*>(numbers); };
  switch (call.pass) {
    case ConvolutionPass::kForward:
      return {in(call.images), in(call.filters), call.result};
    case ConvolutionPass::kInputGrad:
      return {in(call.output_grad), in(call.filters), call.result};
    case ConvolutionPass::kWeightGrad:
      return {in(call.images), in(call.output_grad), filter_grad};
  }
  return {};
}

/// Returns what no kind of convolution tells; empty: nothing stands against cuDNN.
std::string hindrance(std::span<void* const> memory) {
  constexpr std::uintptr_t kOperandAlignment = 16;
  for (const void* address : memory) {
    if (reinterpret_cast<std::uintptr_t>(address) % kOperandAlignment != 0) return "memory at no multiple of 16 bytes";
  }
  return "";
}

/// The stage's gradient of filters, apart from what stood there: empty while results are compared, as it was
/// afterwards.
class GradientApart {
 public:
  GradientApart(const Call& call, const std::vector<DnnResult>& results, kernels::Stream stream)
      : call_(call), stream_(stream) {
    if (call.pass == ConvolutionPass::kWeightGrad) kept_ = values_of(results, stream).front();
  }
  void clear() const {
    if (!kept_.empty()) kernels::clear(call_.filter_grad, bytes(), stream_);
  }
  void put_back() const {
    if (!kept_.empty()) kernels::copy_and_wait(call_.filter_grad, kept_.data(), bytes(), stream_);
  }

 private:
  std::int64_t bytes() const { return static_cast<std::int64_t>(kept_.size() * sizeof(float)); }

  const Call& call_;
  kernels::Stream stream_;
  std::vector<float> kept_;
};

}  // namespace

struct DnnConvolution::Library {
  std::shared_ptr<DnnTable> table;
  bool timed;
  DnnHandle handle;
  std::map<ConvolutionKey, std::unique_ptr<DnnPlan>> plans;  ///< null: our kernels

  Library(std::shared_ptr<DnnTable> given, bool by_time) : table(std::move(given)), timed(by_time) {}
};

class DnnConvolution::Units final : public kernels::ConvolutionUnits {
 public:
  Units(Library& library, const DnnPlace& place) : library_(library), place_(place) {}

  bool run(const Call& call, kernels::Stream stream) override {
    const ConvolutionKey key = key_of(call.pass, call.shape, place_.sms);
    if (const std::string why = hindrance(memory_of(call, place_.workspace)); !why.empty()) {
      const std::string name = text_of(key) + ", " + why;
      if (!library_.table->find(name)) library_.table->set(name, {true, why});
      return false;
    }
    auto known = library_.plans.find(key);
    if (known == library_.plans.end()) known = library_.plans.emplace(key, decide(key, call, stream)).first;
    const DnnPlan* plan = known->second.get();
    if (plan == nullptr || plan->workspace_bytes() > plan_bytes(call)) return false;
    run_plan(*plan, call, stream);
    return true;
  }

 private:
  /// Returns the bytes of the workspace after the filters' gradient, which comes first.
  std::int64_t plan_bytes(const Call& call) const { return place_.workspace_bytes - filter_grad_bytes(call.shape); }

  void run_plan(const DnnPlan& plan, const Call& call, kernels::Stream stream) {
    library_.handle.run(plan, memory_of(call, place_.workspace), stream,
                        place_.workspace + filter_grad_bytes(call.shape));
    if (call.pass != ConvolutionPass::kWeightGrad) return;
    kernels::add_rounded(call.filter_grad, reinterpret_cast<const kernels::BFloat16*>(place_.workspace),
                         call.shape.filter_numbers(), stream);
  }

  /// Returns how cuDNN's results differ from ours; empty: they do not.
  std::string difference(const DnnPlan& plan, const Call& call, kernels::Stream stream) {
    const std::vector<DnnResult> results = results_of(call);
    const GradientApart gradient(call, results, stream);
    std::string why;
    try {
      gradient.clear();
      call.own();
      const auto ours = values_of(results, stream);
      gradient.clear();
      run_plan(plan, call, stream);
      why = difference_of(results, values_of(results, stream), ours);
    } catch (const Error& error) {
      cudaGetLastError();  // not to be found by the next launch
      why = error.what();
    }
    gradient.put_back();
    return why;
  }

  /// Asks who computes this kind from now on.
  std::unique_ptr<DnnPlan> decide(const ConvolutionKey& key, const Call& call, kernels::Stream stream) {
    std::unique_ptr<DnnPlan> plan;
    DnnTrial trial;
    trial.plan = [&] {
      std::string why = not_asked_because(key);
      if (!why.empty()) return why;
      try {
        // For the whole GPU whatever the part is: a plan for a part may add in another order than that of another part.
        plan = std::make_unique<DnnPlan>(library_.handle.device(), convolution_graph(key),
                                         DnnLimits{.workspace_bytes = plan_bytes(call)});
      } catch (const Error& error) {
        why = error.what();
      }
      return why;
    };
    trial.compare = [&] { return difference(*plan, call, stream); };
    trial.time = [&](bool own) -> std::optional<double> {
      TrialResult adds_to;
      if (call.pass == ConvolutionPass::kWeightGrad) {
        const std::size_t bytes = static_cast<std::size_t>(call.shape.filter_numbers()) * sizeof(float);
        adds_to = {reinterpret_cast<std::byte*>(call.filter_grad), bytes, bytes, 1};
      }
      return ProductTrial(adds_to, stream).time([&] {
        if (own) {
          call.own();
        } else {
          run_plan(*plan, call, stream);
        }
        return true;
      });
    };
    if (library_.table->choose(text_of(key), library_.timed, trial).own) plan.reset();
    return plan;
  }

  Library& library_;
  DnnPlace place_;
};

DnnConvolution::DnnConvolution(std::shared_ptr<DnnTable> table, bool timed)
    : library_(std::make_unique<Library>(std::move(table), timed)) {}
DnnConvolution::~DnnConvolution() = default;

std::unique_ptr<kernels::ConvolutionUnits> DnnConvolution::units(const DnnPlace& place) {
  return std::make_unique<Units>(*library_, place);
}

}  // namespace plumb::cuda
