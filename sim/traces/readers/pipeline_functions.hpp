#pragma once

#include <cstdint>
#include <string_view>

namespace plumb {

/// A function of a training system that runs a forward or a backward, or exchanges messages between stages.
struct PipelineFunction {
  enum class Does : std::uint8_t { kForward, kBackward, kExchange };
  /// Which messages an exchange sends or receives: activations (of forwards), gradients (of backwards).
  enum class Messages : std::uint8_t { kNone, kForward, kBackward, kBoth };

  std::string_view name;
  std::string_view file;     ///< its source, as the end of a path; empty: the name of a timer
  std::string_view runtime;  ///< as in `--runtime`
  Does does = Does::kExchange;
  Messages sends = Messages::kNone;
  Messages receives = Messages::kNone;

  /// Returns whether it goes on in one direction, so that what it sends does not tell what it receives next: a call of
  /// Megatron-LM's interleaved schedule.
  bool is_interleaved() const;
};

/// Returns the function that the range called `name` is a call of; null for all others. Understands Python's calls as
/// PyTorch's profiler writes them ("path/schedules.py(403): forward_step"), paths of modules as Megatron-LM's NVTX
/// ranges have them ("megatron.core.pipeline_parallel.schedules.forward_step"), and names of its timers
/// ("forward-compute").
const PipelineFunction* pipeline_function(std::string_view name);

/// Finds the function of one of Python's calls.
const PipelineFunction* called_pipeline_function(std::string_view call);

}  // namespace plumb
