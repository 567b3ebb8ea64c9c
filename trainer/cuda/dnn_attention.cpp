#include "trainer/cuda/dnn_attention.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "models/ground/error.hpp"
#include "trainer/cuda/attention_check.hpp"
#include "trainer/cuda/dnn/dnn_plan.hpp"
#include "trainer/cuda/product_trial.hpp"

namespace plumb::cuda {

namespace {

using Forward = kernels::AttentionForward<kernels::BFloat16>;
using Backward = kernels::AttentionBackward<kernels::BFloat16>;

void* without_const(const void* address) { return const_cast<void*>(address); }

/// In the order of `AttentionGraph`.
std::vector<void*> memory_of(const Forward& of) {
  return {without_const(of.queries.rows), without_const(of.keys.rows), without_const(of.values.rows), of.attended.rows,
          of.log_sums};
}
std::vector<void*> memory_of(const Backward& of) {
  return {without_const(of.queries.rows),
          without_const(of.keys.rows),
          without_const(of.values.rows),
          without_const(of.attended.rows),
          without_const(of.attended_grad.rows),
          without_const(of.log_sums),
          of.deltas,
          of.query_grad.rows,
          of.key_grad.rows,
          of.value_grad.rows};
}

/// What no kind of attention tells; empty: nothing stands against cuDNN.
std::string hindrance(const kernels::AttentionShape& shape, std::span<void* const> memory) {
  constexpr std::uintptr_t kOperandAlignment = 16;
  if (shape.lengths != nullptr) return "samples of different lengths";
  for (const void* address : memory) {
    if (address == nullptr) return "only log sums are wanted";
    if (reinterpret_cast<std::uintptr_t>(address) % kOperandAlignment != 0) return "memory at no multiple of 16 bytes";
  }
  return "";
}

void run_own(const Forward& attention, kernels::Stream stream) { kernels::attention_forward(attention, stream); }
void run_own(const Backward& attention, kernels::Stream stream) { kernels::attention_backward(attention, stream); }

}  // namespace

std::string attention_table_head(const std::string& gpu) { return "cuDNN " + dnn_version() + ", " + gpu; }

struct DnnAttention::Library {
  std::shared_ptr<AttentionTable> table;
  bool timed;
  cudnnHandle_t handle = nullptr;
  std::map<AttentionKey, std::unique_ptr<DnnPlan>> plans;  ///< null: our kernels

  Library(std::shared_ptr<AttentionTable> given, bool by_time) : table(std::move(given)), timed(by_time) {
    check_dnn(dnn().Create(&handle), "cudnnCreate");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    plans.clear();
    dnn().Destroy(handle);
  }

  void run_plan(const DnnPlan& plan, std::span<void* const> memory, kernels::Stream stream, std::byte* workspace) {
    check_dnn(dnn().SetStream(handle, stream), "cudnnSetStream");
    plan.run(handle, memory, workspace);
  }
};

class DnnAttention::Units final : public kernels::AttentionUnits {
 public:
  Units(Library& library, const AttentionPlace& place) : library_(library), place_(place) {}

  bool forward(const Forward& attention, kernels::Stream stream) override { return run(attention, stream); }
  bool backward(const Backward& attention, kernels::Stream stream) override { return run(attention, stream); }

 private:
  template <class Attention>
  bool run(const Attention& attention, kernels::Stream stream) {
    const AttentionKey key = key_of(attention, place_.sms);
    const std::vector<void*> memory = memory_of(attention);
    if (const std::string why = hindrance(attention.shape, memory); !why.empty()) {
      library_.table->set(text_of(key) + ", " + why, {true, why});
      return false;
    }
    auto known = library_.plans.find(key);
    if (known == library_.plans.end()) known = library_.plans.emplace(key, decide(key, attention, stream)).first;
    const DnnPlan* plan = known->second.get();
    if (plan == nullptr || plan->workspace_bytes() > place_.workspace_bytes) return false;
    library_.run_plan(*plan, memory, stream, place_.workspace);
    return true;
  }

  /// Asks who computes this kind from now on; the plan, or null for our kernels.
  template <class Attention>
  std::unique_ptr<DnnPlan> decide(const AttentionKey& key, const Attention& attention, kernels::Stream stream) {
    std::unique_ptr<DnnPlan> plan;
    const std::vector<void*> memory = memory_of(attention);
    const auto run_plan = [&] { library_.run_plan(*plan, memory, stream, place_.workspace); };
    AttentionTrial trial;
    trial.plan = [&] { return make(key, plan); };
    trial.compare = [&] {
      const std::vector<AttentionResult> results = results_of(attention);
      run_own(attention, stream);
      const auto ours = values_of(results, stream);
      try {
        run_plan();
        return difference_of(results, values_of(results, stream), ours);
      } catch (const Error& error) {
        cudaGetLastError();  // not to be found by the next launch
        return std::string(error.what());
      }
    };
    trial.time = [&](bool own) -> std::optional<double> {
      return ProductTrial({}, stream).time([&] {
        if (own) {
          run_own(attention, stream);
        } else {
          run_plan();
        }
        return true;
      });
    };
    if (library_.table->choose(text_of(key), library_.timed, trial).own) return nullptr;
    return plan;
  }

  /// Why there is no plan; empty: `plan` is one.
  std::string make(const AttentionKey& key, std::unique_ptr<DnnPlan>& plan) {
    std::string why = not_asked_because(key, dnn().GetVersion());
    if (!why.empty()) return why;
    try {
      plan = std::make_unique<DnnPlan>(DnnDevice{.handle = library_.handle}, key,
                                       DnnLimits{.sms = place_.sms, .workspace_bytes = place_.workspace_bytes});
    } catch (const Error& error) {
      why = error.what();
    }
    return why;
  }

  Library& library_;
  AttentionPlace place_;
};

DnnAttention::DnnAttention(std::shared_ptr<AttentionTable> table, bool timed)
    : library_(std::make_unique<Library>(std::move(table), timed)) {}
DnnAttention::~DnnAttention() = default;

std::unique_ptr<kernels::AttentionUnits> DnnAttention::units(const AttentionPlace& place) {
  return std::make_unique<Units>(*library_, place);
}

}  // namespace plumb::cuda
