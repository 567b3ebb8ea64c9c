#include "schedules/catalogue/searched/best_order.hpp"

#include <limits>
#include <string>
#include <utility>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/searched/list_order.hpp"
#include "schedules/catalogue/searched/order_steps.hpp"
#include "schedules/catalogue/searched/order_timer.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kStatesPerUnit = 1'000'000;
constexpr std::int64_t kMostProofUnits = 1'000'000;
/// Passes of a problem that branch and bound, which calls itself once per pass, may have.
constexpr std::int64_t kMostProvable = 25'000;
/// List orders take several times as long as the heuristics, so only where these are above the bound by one part in so
/// many.
constexpr Ticks kFarPart = 16;
/// Passes that the local search times: a constant, and so many orders.
constexpr std::int64_t kStepBudget = 4'000;
constexpr std::int64_t kStepOrders = 2;
/// A small problem that is still open is decided by branch and bound over so few states that nobody waits for it.
constexpr std::int64_t kSmallProblem = 128;
constexpr std::int64_t kSmallProof = 4'000;

std::int64_t proof_states_for(const OrderProblem& problem, const SearchEffort& effort) {
  if (effort.proof_states > 0 || !effort.improve) return effort.proof_states;
  return problem.size() <= kSmallProblem ? kSmallProof : 0;
}

void try_list_orders(const OrderProblem& problem, ProvedOrder& best) {
  OrderTimer timer(problem);
  for (const bool fill : {true, false}) {
    for (const bool backward_first : {true, false}) {
      if (best.found <= best.bound) return;
      auto words = list_order(problem, {.backward_first = backward_first, .fill_short_gap = fill});
      if (!words || !timer.run(*words) || timer.longest_device_span() >= best.found) continue;
      best.found = timer.longest_device_span();
      best.words = std::move(*words);
    }
  }
}

}  // namespace

SearchEffort search_effort(std::string_view name, const ScheduleParams& params, bool improve, std::int32_t kinds) {
  const std::string value =
      improve ? choice(name, params, "improve", {"yes", "no"}) : choice(name, params, "improve", {"no", "yes"});
  SearchEffort effort{.improve = value == "yes"};
  if (!params.options.contains("proof")) return effort;
  const std::int64_t units = whole_number(name, params, "proof", 1);
  require(
      units <= kMostProofUnits, name,
      "option proof: expected at most " + std::to_string(kMostProofUnits) + ", found '" + std::to_string(units) + "'");
  const std::int64_t passes = params.num_microbatches * params.num_devices * kinds;
  require(passes <= kMostProvable, name,
          "option proof: the problem has " + std::to_string(passes) + " passes, expected at most " +
              std::to_string(kMostProvable));
  effort.proof_states = units * kStatesPerUnit;
  return effort;
}

NamedOption improve_option(OptionDefault otherwise) {
  return {"improve",
          {"yes", "no"},
          otherwise,
          "whether other orders and a local search follow the published heuristic; no: what the authors' code finds"};
}

std::optional<ProvedOrder> best_order(const OrderProblem& problem, ProvedOrder heuristic, SearchEffort effort) {
  ProvedOrder best = std::move(heuristic);
  if (best.words.empty()) best.found = std::numeric_limits<Ticks>::max();
  if (effort.improve && best.found > best.bound + best.bound / kFarPart) try_list_orders(problem, best);
  if (best.words.empty()) return std::nullopt;
  if (effort.improve && best.found > best.bound) {
    best.found = improve_by_steps(problem, best.words, best.bound, kStepBudget + kStepOrders * problem.size());
  }
  const std::int64_t states = proof_states_for(problem, effort);
  if (states > 0 && best.found > best.bound) best = prove_order(problem, std::move(best), states);
  return best;
}

void add_span_bound(const ProvedOrder& order, const PassCosts& costs, Schedule& schedule) {
  schedule.parameters["search_span_ms"] = static_cast<double>(order.found) / costs.ticks_per_ms;
  schedule.parameters["search_bound_ms"] = static_cast<double>(order.bound) / costs.ticks_per_ms;
}

}  // namespace plumb
