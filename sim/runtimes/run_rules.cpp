#include "sim/runtimes/run_rules.hpp"

#include "sim/runtimes/runtime_presets.hpp"

namespace plumb {

LowerOptions RunRules::lowering(const Schedule& schedule) const {
  LowerOptions options = lowering_of(runtime_preset(runtime, schedule));
  if (receives) options.receives = *receives;
  if (send_buffers) options.send_buffers = static_cast<std::int32_t>(*send_buffers);
  options.messages = options.messages || transfers || receives || send_buffers;
  return options;
}

SimOptions RunRules::simulation(const Schedule& schedule) const {
  SimOptions options;
  options.transfers = transfers ? *transfers : runtime_preset(runtime, schedule).transfers;
  options.engine = engine;
  options.seed = seed_or_zero();
  return options;
}

}  // namespace plumb
