#pragma once

#include "schedules/document/schedule.hpp"

namespace plumb {

/// The schedule with its messages where Megatron-LM puts them that does not hide them
/// (`--no-overlap-p2p-communication`, `send_forward_backward_recv_forward_backward`): between two turns of a device
/// stands one exchange of all that the turn before made and all that the next one takes. A turn is a forward of the
/// warm-up, then a forward and the backward behind it, then a backward.
///
/// A schedule that has its own messages stays.
Schedule with_exchanges_between_turns(Schedule schedule);

}  // namespace plumb
