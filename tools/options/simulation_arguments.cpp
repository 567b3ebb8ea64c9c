#include "tools/options/simulation_arguments.hpp"

#include <array>
#include <limits>

#include "sim/rules/transfer_semantics.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "tools/options/choice.hpp"

namespace plumb {
namespace {

// Names on the command line, in the order of the enumerators.
constexpr std::array<std::string_view, 3> kEngines{"auto", "pass", "event"};
constexpr std::array<std::string_view, 3> kReceives{"ahead", "late", "on-send"};

}  // namespace

void SimulationArguments::add_to(OptionTable& parser) {
  parser.group("Simulation");
  add_messages_to(parser);
  parser
      .text("engine", engine, "NAME",
            "simulation engine: auto, pass (fast; fixed order, no contention) or event (default: auto)")
      .words(kEngines)
      .whole("seed", seed, {0}, "seed of the jitter (default: 0)");
}

void SimulationArguments::add_messages_to(OptionTable& parser) {
  parser
      .text("runtime", runtime, "SYSTEM",
            "run as this system does: plumbline, pytorch, pytorch-deferred (with defer_pp_recv), pytorch-single (its "
            "classes 1F1B and GPipe), torchtitan, megatron, megatron-batched (with --no-overlap-p2p-communication) or "
            "deepspeed (default: that of the --profile of a real run; "
            "plumbline)")
      .words(runtime_names())
      .text("transfers", transfers, "MODE",
            "how messages travel: buffered, fifo, rendezvous, blocking, batched or pair-fifo (default: as --runtime "
            "does; "
            "buffered)")
      .words(kTransferModeNames);
  add_receives_to(parser);
}

void SimulationArguments::add_receives_to(OptionTable& parser) {
  parser
      .text("receives", receives, "WHERE",
            "when receives are posted: ahead, late or on-send (default: as --runtime does; ahead)")
      .words(kReceives)
      .whole("send-buffers", send_buffers, {1, std::numeric_limits<std::int32_t>::max()},
             "messages in flight per channel before the sender waits (default: as --runtime does; 2)");
}

RunRules SimulationArguments::rules() const {
  RunRules rules{.runtime = runtime};
  if (!transfers.empty()) rules.transfers = choice<TransferMode>(kTransferModeNames, "transfer mode", transfers);
  if (!receives.empty()) rules.receives = choice<ReceivePlacement>(kReceives, "placement of receives", receives);
  if (send_buffers) rules.send_buffers = static_cast<std::int32_t>(*send_buffers);
  rules.engine = choice<EngineChoice>(kEngines, "engine", engine);
  rules.seed = static_cast<std::uint64_t>(seed.value_or(0));
  return rules;
}

}  // namespace plumb
