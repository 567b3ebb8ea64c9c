#include "trainer/cuda/dnn_attention.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "models/ground/error.hpp"
#include "trainer/cuda/dnn/attention_graphs.hpp"
#include "trainer/cuda/dnn/dnn_handle.hpp"
#include "trainer/cuda/dnn_check.hpp"
#include "trainer/cuda/kernels/attention/transposed_rows.hpp"
#include "trainer/cuda/product_trial.hpp"

namespace plumb::cuda {

namespace {

using Forward = kernels::AttentionForward<kernels::BFloat16>;
using Backward = kernels::AttentionBackward<kernels::BFloat16>;

constexpr std::size_t kForwardLogSums = 4;  // in the order of `attention_graph`
constexpr std::size_t kBackwardLogSums = 5;

void* without_const(const void* address) { return const_cast<void*>(address); }

/// Lists the memory in the order of `attention_graph`.
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

/// Returns what no kind of attention tells; empty: nothing stands against cuDNN.
std::string hindrance(const kernels::AttentionShape& shape, std::span<void* const> memory) {
  constexpr std::uintptr_t kOperandAlignment = 16;
  if (shape.lengths != nullptr) return "samples of different lengths";
  for (const void* address : memory) {
    if (address == nullptr) return "only log sums are wanted";
    if (reinterpret_cast<std::uintptr_t>(address) % kOperandAlignment != 0) return "memory at no multiple of 16 bytes";
  }
  return "";
}

/// Log sums that lie by head, at the end of a stage's workspace.
float* log_sums_by_head(const AttentionKey& key, const DnnPlace& place) {
  return reinterpret_cast<float*>(place.workspace + place.workspace_bytes - log_sums_bytes(key));
}

void run_own(const Forward& attention, kernels::Stream stream) { kernels::attention_forward(attention, stream); }
void run_own(const Backward& attention, kernels::Stream stream) { kernels::attention_backward(attention, stream); }

}  // namespace

struct DnnAttention::Library {
  std::shared_ptr<DnnTable> table;
  bool timed;
  DnnHandle handle;
  /// By key with log sums by token.
  struct Prepared {
    AttentionKey key;               ///< as the plan has it
    std::unique_ptr<DnnPlan> plan;  ///< null: our kernels
  };
  std::map<AttentionKey, Prepared> prepared;

  Library(std::shared_ptr<DnnTable> given, bool by_time) : table(std::move(given)), timed(by_time) {}
};

class DnnAttention::Units final : public kernels::AttentionUnits {
  using Prepared = Library::Prepared;

 public:
  Units(Library& library, const DnnPlace& place) : library_(library), place_(place) {}

  bool forward(const Forward& attention, kernels::Stream stream) override { return run(attention, stream); }
  bool backward(const Backward& attention, kernels::Stream stream) override { return run(attention, stream); }

 private:
  template <class Attention>
  bool run(const Attention& attention, kernels::Stream stream) {
    const AttentionKey key = key_of(attention, place_.sms);
    const std::vector<void*> memory = memory_of(attention);
    if (const std::string why = hindrance(attention.shape, memory); !why.empty()) {
      const std::string name = text_of(key) + ", " + why;
      if (!library_.table->find(name)) library_.table->set(name, {true, why});
      return false;
    }
    auto known = library_.prepared.find(key);
    if (known == library_.prepared.end()) {
      known = library_.prepared.emplace(key, decide(key, attention, stream)).first;
    }
    const Prepared& prepared = known->second;
    if (prepared.plan == nullptr || !fits(prepared)) return false;
    run_plan(prepared, attention, stream);
    return true;
  }

  std::int64_t plan_bytes(const AttentionKey& key) const {
    return place_.workspace_bytes - (key.by_head ? log_sums_bytes(key) : 0);
  }
  bool fits(const Prepared& prepared) const { return prepared.plan->workspace_bytes() <= plan_bytes(prepared.key); }

  /// cuDNN's work, and log sums as it wants them.
  template <class Attention>
  void run_plan(const Prepared& prepared, const Attention& attention, kernels::Stream stream) {
    const AttentionKey& key = prepared.key;
    std::vector<void*> memory = memory_of(attention);
    float* by_head = log_sums_by_head(key, place_);
    if (key.by_head) memory[key.backward ? kBackwardLogSums : kForwardLogSums] = by_head;
    if (key.by_head && key.backward) {
      kernels::transpose_rows(attention.log_sums, by_head, {key.samples, key.queries, key.heads}, stream);
    }
    library_.handle.run(*prepared.plan, memory, stream, place_.workspace);
    if constexpr (std::is_same_v<Attention, Forward>) {
      if (key.by_head) {
        kernels::transpose_rows(by_head, attention.log_sums, {key.samples, key.heads, key.queries}, stream);
      }
    }
  }

  /// Returns how cuDNN's results differ from ours; empty: they do not.
  template <class Attention>
  std::string difference(const Prepared& prepared, const Attention& attention, kernels::Stream stream) {
    const std::vector<DnnResult> results = results_of(attention);
    try {
      run_own(attention, stream);
      const auto ours = values_of(results, stream);
      run_plan(prepared, attention, stream);
      return difference_of(results, values_of(results, stream), ours);
    } catch (const Error& error) {
      cudaGetLastError();  // not to be found by the next launch
      return error.what();
    }
  }

  /// Asks who computes this kind from now on.
  template <class Attention>
  Prepared decide(const AttentionKey& key, const Attention& attention, kernels::Stream stream) {
    Prepared prepared{key, nullptr};
    DnnTrial trial;
    trial.plan = [&] { return make(prepared); };
    trial.compare = [&] {
      const std::string by_token = difference(prepared, attention, stream);
      if (by_token.empty()) return by_token;
      prepared.key.by_head = true;  // as in cuDNN's own examples
      const std::string no_plan = make(prepared);
      return no_plan.empty() && difference(prepared, attention, stream).empty() ? "" : by_token;
    };
    trial.time = [&](bool own) -> std::optional<double> {
      return ProductTrial({}, stream).time([&] {
        if (own) {
          run_own(attention, stream);
        } else {
          run_plan(prepared, attention, stream);
        }
        return true;
      });
    };
    if (library_.table->choose(text_of(key), library_.timed, trial).own) prepared.plan = nullptr;
    return prepared;
  }

  /// Returns why there is no plan; empty: there is one.
  std::string make(Prepared& prepared) {
    prepared.plan = nullptr;
    std::string why = not_asked_because(prepared.key, dnn().GetVersion());
    if (!why.empty()) return why;
    try {
      prepared.plan =
          std::make_unique<DnnPlan>(library_.handle.device(), attention_graph(prepared.key),
                                    DnnLimits{.sms = place_.sms, .workspace_bytes = plan_bytes(prepared.key)});
    } catch (const Error& error) {
      why = error.what();
    }
    return why;
  }

  Library& library_;
  DnnPlace place_;
};

DnnAttention::DnnAttention(std::shared_ptr<DnnTable> table, bool timed)
    : library_(std::make_unique<Library>(std::move(table), timed)) {}
DnnAttention::~DnnAttention() = default;

std::unique_ptr<kernels::AttentionUnits> DnnAttention::units(const DnnPlace& place) {
  return std::make_unique<Units>(*library_, place);
}

}  // namespace plumb::cuda
