#include "trainer/cuda/dnn/dnn_plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb::cuda {

namespace {

/// Returns the engine of a configuration that a heuristic proposes.
DnnDescriptor engine_of(const DnnDescriptor& configuration) {
  DnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  configuration.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, std::span<cudnnBackendDescriptor_t>(&handle, 1));
  return engine;
}

bool is_nondeterministic(const DnnDescriptor& engine) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  const std::int64_t count =
      engine.get_all(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, std::span<cudnnBackendNumericalNote_t>(notes));
  return std::find(notes.begin(), notes.begin() + count, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) !=
         notes.begin() + count;
}

std::vector<DnnDescriptor> proposals_of(const DnnDevice& device, const DnnDescriptor& graph,
                                        cudnnBackendHeurMode_t mode, std::int32_t sms) {
  DnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (device.properties != nullptr) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device.properties);
  if (sms > 0) heuristic.set(CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET, sms);
  heuristic.finalize("heuristic");
  const std::int64_t count = heuristic.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::span<cudnnBackendDescriptor_t>());
  std::vector<DnnDescriptor> proposals;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < count; ++i) {
    proposals.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(proposals.back().get());
  }
  // Proposals that the device cannot run are left out only now.
  const std::int64_t usable =
      heuristic.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::span<cudnnBackendDescriptor_t>(handles));
  proposals.erase(proposals.begin() + std::min(usable, count), proposals.end());
  return proposals;
}

}  // namespace

DnnDescriptor device_properties(std::string_view json) {
  DnnDescriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(json.data(), json.size()));
  properties.finalize("properties of a device");
  return properties;
}

struct DnnPlan::Proposals {
  cudnnBackendHeurMode_t mode;
  int sms;
};

DnnPlan::DnnPlan(const DnnDevice& device, DnnOperations operations, const DnnLimits& limits)
    : operations_(std::move(operations)), graph_(operations_.graph.finish(device.handle)) {
  std::string why = "it proposes nothing";
  for (const int sms : {limits.sms, 0}) {
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      if (take_first(device, limits, {mode, sms}, why)) return;
    }
    if (limits.sms == 0) break;
  }
  throw Error("cuDNN " + dnn_version() + " has no plan: " + why);
}

bool DnnPlan::take_first(const DnnDevice& device, const DnnLimits& limits, const Proposals& from, std::string& why) {
  std::vector<DnnDescriptor> proposals;
  try {
    proposals = proposals_of(device, graph_, from.mode, from.sms);
  } catch (const Error& error) {
    why = error.what();
  }
  for (DnnDescriptor& proposal : proposals) {
    try {
      const DnnDescriptor engine = engine_of(proposal);
      if (is_nondeterministic(engine)) {
        why = "it adds in no fixed order";
        continue;
      }
      DnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal);
      if (device.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, device.handle);
      if (device.properties != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device.properties);
      plan.finalize("plan");
      const auto bytes = plan.value<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
      if (bytes > limits.workspace_bytes) {
        why = "it needs " + std::to_string(bytes) + " bytes of workspace, there are " +
              std::to_string(limits.workspace_bytes);
        continue;
      }
      engine_ = engine.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      workspace_bytes_ = bytes;
      sms_ = from.sms;
      configuration_ = std::move(proposal);
      plan_ = std::move(plan);
      return true;
    } catch (const Error& error) {
      why = error.what();
    }
  }
  return false;
}

void DnnPlan::run(cudnnHandle_t handle, std::span<void* const> memory, std::byte* workspace) const {
  std::vector<std::int64_t> uids = operations_.memory;
  std::vector<void*> places(memory.begin(), memory.end());
  for (const DnnGraph::Number& number : operations_.graph.numbers()) {
    uids.push_back(number.uid);
    places.push_back(const_cast<std::byte*>(number.bytes.data()));
  }
  DnnDescriptor arguments(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  arguments.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(uids));
  arguments.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(places));
  arguments.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(workspace));
  arguments.finalize("arguments");
  check_dnn(dnn().BackendExecute(handle, plan_->get(), arguments.get()), "a plan");
}

}  // namespace plumb::cuda
