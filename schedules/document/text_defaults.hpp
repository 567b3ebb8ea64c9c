#pragma once

#include "schedules/document/schedule.hpp"

namespace plumb {

/// What a text document says where it has no line for it: everything that the lists of `schedule` tell. Fills in sizes,
/// placement, microbatches per update and parameters; the other fields stay as they are.
///
/// Every holder of a stage has forwards there, and holders of one stage take microbatches in turn; `placement` is left
/// empty when the lists do not say so. An update applies an equal share of the microbatches.
void fill_text_defaults(Schedule& schedule);

}  // namespace plumb
