#include "tools/options/order_arguments.hpp"

#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/choice.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

// In the order of `OrderRule`.
constexpr std::array<std::string_view, 3> kOrders{"fixed", "ready", "backward-first"};

}  // namespace

void note_order_without_contention() {
  note("plumbline: note: the order was decided with times without contention; the run itself includes contention");
}

void OrderArguments::add_to(OptionTable& parser) {
  parser.group("Order")
      .text("order", order, "RULE",
            "fixed: as listed; ready: each device runs the first listed action that can run; backward-first: backwards "
            "go first (default: fixed)")
      .words(kOrders);
}

OrderRule OrderArguments::rule() const { return choice<OrderRule>(kOrders, "order", order); }

PreparedRun OrderArguments::decide(PreparedRun run) const {
  OrderedRun decided = decide_order(std::move(run), rule());
  if (decided.without_contention) note_order_without_contention();
  return std::move(decided.run);
}

std::optional<OutputFile> OrderArguments::file_for(const Schedule& schedule, const std::string& path) const {
  if (path.empty()) return std::nullopt;
  if (rule() == OrderRule::kFixed && !schedule.policy) {
    throw Error(
        "--save-order: the order is fixed, expected --order ready or backward-first, or a schedule with a policy");
  }
  check_document_extension(path, "--save-order");
  return OutputFile(path);
}

}  // namespace plumb
