#pragma once

#include <string_view>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// What `--opt validation=` says: "none" (nothing to validate), "sync" (every update waits for the last gradients of
/// all devices, because it needs the norm of all of them), or "post": every update is made at once with what is known
/// of the global gradient norm then (the state travels with the updates from stage 0 to the last one), and validated
/// (V) in the warm-up of the next update, when the whole norm has travelled back from the last stage to the first. V
/// stands before the device's first action that is no forward of its first stage; that of the last update at the end.
/// Throws `Error("<name>: <rule>")`. (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 4)
Schedule with_validation(std::string_view name, const ScheduleParams& params, Schedule schedule);

/// The option of `with_validation`, for catalogue rows.
inline constexpr NamedOption kValidationOption{"validation",
                                               {"none", "sync", "post"},
                                               "none",
                                               "norm of all gradients: updates do not use it, wait for it, or are "
                                               "made at once and checked during the next warm-up"};

}  // namespace plumb
