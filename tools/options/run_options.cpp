#include "tools/options/run_options.hpp"

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/rules/transfer_semantics.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

// Names on the command line, in the order of the enumerators.
constexpr std::array<std::string_view, 3> kEngines{"auto", "pass", "event"};
constexpr std::array<std::string_view, 3> kReceives{"ahead", "late", "on-send"};

}  // namespace

void add_run_rules_to(OptionTable& table, RunRules& rules) {
  table.group("Simulation").closed();
  add_messages_to(table, rules);
  table
      .choice("engine", rules.engine, kEngines, {"engine", "NAME"},
              "simulation engine: auto, pass (fast; fixed order, no contention) or event (default: auto)")
      .whole("seed", rules.seed, {0}, "seed of the jitter (default: 0)");
}

void add_messages_to(OptionTable& table, RunRules& rules) {
  table
      .text("runtime", rules.runtime, "SYSTEM",
            "order of messages and host as in this system: plumbline, pytorch, torchtitan, megatron or deepspeed "
            "(default: as in --profile, or plumbline). Variants: pytorch-deferred (defer_pp_recv), pytorch-single "
            "(classes 1F1B and GPipe), megatron-batched (--no-overlap-p2p-communication), zero-bubble (the fork)")
      .words(runtime_names())
      .choice("transfers", rules.transfers, kTransferModeNames, {"transfer mode", "MODE"},
              "how messages travel: buffered, fifo, rendezvous, blocking, batched or pair-fifo (default: as --runtime "
              "does; "
              "buffered)");
  add_receives_to(table, rules);
}

void add_receives_to(OptionTable& table, RunRules& rules) {
  table
      .choice("receives", rules.receives, kReceives, {"placement of receives", "WHERE"},
              "when receives are posted: ahead, late or on-send (default: as --runtime does; ahead)")
      .whole("send-buffers", rules.send_buffers, {1, std::numeric_limits<std::int32_t>::max()},
             "messages in flight per channel before the sender waits (default: as --runtime does; 2)");
}

namespace {

// In the order of `OrderRule`.
constexpr std::array<std::string_view, 3> kOrders{"fixed", "ready", "backward-first"};

}  // namespace

void note_order_without_contention() {
  note("plumbline: note: the order was decided with times without contention; the run itself includes contention");
}

void add_order_to(OptionTable& table, OrderRule& order) {
  table.group("Order").choice(
      "order", order, kOrders, {"order", "RULE"},
      "fixed: as listed; ready: each device runs the first listed action that can run; backward-first: backwards "
      "go first (default: fixed)");
}

PreparedRun with_order(PreparedRun run, OrderRule order) {
  OrderedRun decided = decide_order(std::move(run), order);
  if (decided.without_contention) note_order_without_contention();
  return std::move(decided.run);
}

std::optional<OutputFile> order_file(const Schedule& schedule, OrderRule order, const std::string& path) {
  if (path.empty()) return std::nullopt;
  if (order == OrderRule::kFixed && !schedule.policy) {
    throw Error(
        "--save-order: the order is fixed, expected --order ready or backward-first, or a schedule with a policy");
  }
  check_document_extension(path, "--save-order");
  return OutputFile(path);
}

}  // namespace plumb
