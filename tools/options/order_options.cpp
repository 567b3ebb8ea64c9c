#include "tools/options/order_options.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
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
