#include "sim/traces/readers/pipeline_functions.hpp"

#include <algorithm>
#include <array>

namespace plumb {
namespace {

using Does = PipelineFunction::Does;
using Messages = PipelineFunction::Messages;

constexpr std::string_view kMegatron = "megatron";
constexpr std::string_view kMegatronPasses = "pipeline_parallel/schedules.py";
constexpr std::string_view kMegatronCalls = "pipeline_parallel/p2p_communication.py";
constexpr std::string_view kDeepSpeed = "deepspeed";
constexpr std::string_view kDeepSpeedEngine = "runtime/pipe/engine.py";

constexpr PipelineFunction pass(std::string_view name, std::string_view file, std::string_view runtime, Does does) {
  return {.name = name, .file = file, .runtime = runtime, .does = does};
}

constexpr PipelineFunction megatron_call(std::string_view name, Messages sends, Messages receives) {
  return {.name = name, .file = kMegatronCalls, .runtime = kMegatron, .sends = sends, .receives = receives};
}

constexpr PipelineFunction deepspeed_call(std::string_view name, Messages sends, Messages receives) {
  return {.name = name, .file = kDeepSpeedEngine, .runtime = kDeepSpeed, .sends = sends, .receives = receives};
}

constexpr std::array kFunctions{
    pass("forward_step", kMegatronPasses, kMegatron, Does::kForward),
    pass("backward_step", kMegatronPasses, kMegatron, Does::kBackward),
    pass("forward-compute", {}, kMegatron, Does::kForward),
    pass("backward-compute", {}, kMegatron, Does::kBackward),
    pass("forward-step", {}, kMegatron, Does::kForward),
    pass("backward-step", {}, kMegatron, Does::kBackward),
    megatron_call("recv_forward", Messages::kNone, Messages::kForward),
    megatron_call("recv_backward", Messages::kNone, Messages::kBackward),
    megatron_call("send_forward", Messages::kForward, Messages::kNone),
    megatron_call("send_backward", Messages::kBackward, Messages::kNone),
    megatron_call("send_forward_recv_backward", Messages::kForward, Messages::kBackward),
    megatron_call("send_backward_recv_forward", Messages::kBackward, Messages::kForward),
    megatron_call("send_forward_recv_forward", Messages::kForward, Messages::kForward),
    megatron_call("send_backward_recv_backward", Messages::kBackward, Messages::kBackward),
    megatron_call("send_forward_backward_recv_forward_backward", Messages::kBoth, Messages::kBoth),
    pass("_exec_forward_pass", kDeepSpeedEngine, kDeepSpeed, Does::kForward),
    pass("_exec_backward_pass", kDeepSpeedEngine, kDeepSpeed, Does::kBackward),
    deepspeed_call("_exec_recv_activations", Messages::kNone, Messages::kForward),
    deepspeed_call("_exec_recv_grads", Messages::kNone, Messages::kBackward),
    deepspeed_call("_exec_send_activations", Messages::kForward, Messages::kNone),
    deepspeed_call("_exec_send_grads", Messages::kBackward, Messages::kNone),
};

}  // namespace

bool PipelineFunction::is_interleaved() const {
  return does == Does::kExchange && sends != Messages::kNone && (sends == receives);
}

const PipelineFunction* called_pipeline_function(std::string_view call) {
  const std::size_t line = call.rfind('(');
  const std::size_t end = call.rfind("): ");
  if (line == std::string_view::npos || end == std::string_view::npos || end < line) return nullptr;
  const std::string_view file = call.substr(0, line);
  const std::string_view name = call.substr(end + 3);
  const auto found = std::ranges::find_if(kFunctions, [&](const PipelineFunction& function) {
    return !function.file.empty() && function.name == name && file.ends_with(function.file);
  });
  return found == kFunctions.end() ? nullptr : &*found;
}

const PipelineFunction* pipeline_function(std::string_view name) {
  if (const PipelineFunction* called = called_pipeline_function(name)) return called;
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const auto found = std::ranges::find(kFunctions, last, &PipelineFunction::name);
  if (found == kFunctions.end() || found->runtime != kMegatron) return nullptr;
  const bool exchange = found->does == Does::kExchange;
  if (exchange && name.find("p2p_communication") == std::string_view::npos) return nullptr;
  return &*found;
}

}  // namespace plumb
