#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

inline constexpr NamedOption kRecomputeOption{
    "recompute",
    {"never", "always", "except-last", "early", "early-except-last"},
    "never",
    "drops the activations of no, all or all but the last microbatch and computes them again in the backward; early: "
    "before the gradient arrives"};

/// The same for orders that have no passes of their own for it.
inline constexpr NamedOption kBackwardRecomputeOption{
    "recompute",
    {"never", "always", "except-last"},
    "never",
    "drops the activations of no, all or all but the last microbatch and computes them again in the backward"};

/// What `recompute=...` says: which forwards a synchronous schedule runs a second time instead of keeping their stash.
struct RecomputeChoice {
  bool any = false;
  bool except_last = false;  ///< not that of the last microbatch of an update
  bool early = false;  ///< as an R of its own, which need not wait for the gradient; otherwise inside the backward
};

/// Reads `recompute=...`, one of `offered`, and enters it in the document; an early one is left to the generator, which
/// writes R.
RecomputeChoice recompute_choice(std::string_view name, const ScheduleParams& params, Schedule& schedule,
                                 std::initializer_list<std::string_view> offered = {"never", "always", "except-last",
                                                                                    "early", "early-except-last"});

/// R of microbatches that start at `number`, if the option says so.
inline void add_recompute(ListBuilder& list, const RecomputeChoice& choice, StageId stage, std::int64_t number) {
  if (choice.any && choice.early) list.add(stage, Op::kR, number);
}

}  // namespace plumb
