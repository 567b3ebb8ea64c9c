#pragma once

#include <functional>

namespace plumb {

/// Does `work`, whose notes wait until it is known that this program can do it: where it throws `NotInProgram`, the
/// program that can will say them itself.
void with_held_notes(const std::function<void()>& work);

}  // namespace plumb
