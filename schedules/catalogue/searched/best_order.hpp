#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/catalogue/searched/order_proof.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// What a search does after the published heuristic.
struct SearchEffort {
  /// List orders where the heuristic is far from the bound, a local search, and a short proof of small problems.
  bool improve = false;
  std::int64_t proof_states = 0;  ///< of the branch and bound; 0: of a small problem some thousands
};

/// The effort that the options `improve` (yes or no; `improve` when not given) and `proof` ask for, with `kinds` kinds
/// of passes per device. Throws `Error` for a proof of a problem with more than 25000 passes, or over too many states.
SearchEffort search_effort(std::string_view name, const ScheduleParams& params, bool improve, std::int32_t kinds);

/// Their rows for the catalogue.
NamedOption improve_option(OptionDefault otherwise);
inline constexpr NamedOption kProofOption{
    "proof", count_form("N"), "none",
    "branch and bound over at most N million states: finds the best order, or proves that there is no better one"};

/// The shortest of the order that a heuristic found (`heuristic.words`; none: empty) and those that `effort` allows.
/// `heuristic.bound` is `least_span(problem)`. Empty when there is none.
std::optional<ProvedOrder> best_order(const OrderProblem& problem, ProvedOrder heuristic, SearchEffort effort);

/// Writes what is known of the order's span into `schedule.parameters`: `search_span_ms` and `search_bound_ms` (one
/// unit of abstract costs is 1 ms), both with the costs that the search was given.
void add_span_bound(const ProvedOrder& order, const PassCosts& costs, Schedule& schedule);

}  // namespace plumb
