#pragma once

#include "trainer/plan/train_options.hpp"
#include "trainer/plan/train_result.hpp"

namespace plumb {

/// Trains. With several processes all of them call this with equal options; the result, the checkpoints and
/// `on_update` are the first one's, and what all of them would throw before the start, it throws
/// (`ProcessGroup::agree`). Throws `Error` for what the options contradict or the trainer cannot do, and whatever a
/// device throws.
TrainResult train(const TrainOptions& options);

}  // namespace plumb
