#include "tools/simulation_arguments.hpp"

#include <array>
#include <limits>

#include "tools/choice.hpp"

namespace plumb {
namespace {

/// Names on the command line, in the order of the enumerators.
constexpr std::array<std::string_view, 5> kTransferModes{"buffered", "fifo", "rendezvous", "blocking", "batched"};
constexpr std::array<std::string_view, 3> kEngines{"auto", "pass", "event"};
constexpr std::array<std::string_view, 3> kReceives{"ahead", "late", "on-send"};

}  // namespace

void SimulationArguments::add_to(ArgumentParser& parser) {
  parser.group("Simulation")
      .text("transfers", transfers, "MODE", "buffered, fifo, rendezvous, blocking or batched (default: buffered)")
      .text("receives", receives, "WHERE", "when receives are posted: ahead, late or on-send (default: ahead)")
      .whole("send-buffers", send_buffers, {1, std::numeric_limits<std::int32_t>::max()},
             "messages per channel on their way before the sender waits (default: 2)")
      .text("engine", engine, "NAME", "auto, pass (fixed order, no contention) or event (default: auto)")
      .whole("seed", seed, {0}, "of the jitter (default: 0)");
}

SimOptions SimulationArguments::simulation() const {
  SimOptions options;
  options.transfers = choice<TransferMode>(kTransferModes, "transfer mode", transfers);
  options.engine = choice<EngineChoice>(kEngines, "engine", engine);
  options.seed = static_cast<std::uint64_t>(seed.value_or(0));
  return options;
}

LowerOptions SimulationArguments::lowering() const {
  LowerOptions options;
  options.receives = choice<ReceivePlacement>(kReceives, "placement of receives", receives);
  if (send_buffers) options.send_buffers = static_cast<std::int32_t>(*send_buffers);
  return options;
}

}  // namespace plumb
