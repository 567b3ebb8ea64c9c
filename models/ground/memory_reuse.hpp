#pragma once

namespace plumb {

/// Tells the allocator to keep what is freed for what is allocated next, instead of giving it back to the system, which
/// has to clear it again page by page. For programs that simulate many times in one process: where a timeline has
/// hundreds of thousands of actions, page faults otherwise take most of the time. Memory then stays at its highest
/// amount until `release_freed_memory`. Counts for the whole process, so a library does not do it unasked. Returns
/// false, and does nothing, where the allocator is not that of glibc.
bool keep_freed_memory();

/// Gives back to the system what is free. Returns whether that was anything.
bool release_freed_memory();

}  // namespace plumb
