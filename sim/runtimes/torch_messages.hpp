#pragma once

#include <string_view>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// The schedule with its sends and receives where PyTorch's `defer_pp_recv` puts them; an order with messages of its
/// own stays. Throws `Error`, which names `runtime`, where PyTorch would take one message for another: messages between
/// two ranks have no names there, and gradients would be wrong.
Schedule with_deferred_receives(const Schedule& schedule, std::string_view runtime);

/// The schedule with its sends and receives where PyTorch puts them, if it has overlapped pairs, whose results are sent
/// when both halves are done. Any other schedule, and one that has its own messages or gathers, stays.
Schedule with_messages_of_pairs(Schedule schedule);

}  // namespace plumb
