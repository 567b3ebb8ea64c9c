#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace cuda_on_cpu {

struct Index {
  unsigned int x = 1;
  unsigned int y = 1;
  unsigned int z = 1;

  constexpr Index(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct LaunchShape {
  Index grid;
  Index block;
  std::size_t shared_bytes = 0;
};

extern Index threadIdx;
extern Index blockIdx;
extern Index blockDim;
extern Index gridDim;

/// In which order blocks run, and the threads of a block between two meetings. A kernel without races gives the same
/// bits in every order.
enum class Order { kForward, kBackward, kShuffled, kWarpsAhead };
void set_order(Order order);

/// For grids of more blocks than anybody can wait for: of every launch only the first and the last eight run.
void run_ends_only(bool ends_only);

/// Runs all blocks. Throws std::logic_error when threads wait for each other for ever, or when a block writes past
/// its shared memory.
void run(const LaunchShape& shape, const std::function<void()>& kernel);

/// Launches of this process so far.
std::int64_t launches();

// For a running thread.

void sync_threads();
/// Filled with NaN when a block begins.
void* shared_memory();
/// A clock that goes on with every look at it.
std::int64_t ticks();

inline constexpr std::size_t kLaneBytes = 64;
using LaneSlots = std::array<std::array<std::byte, kLaneBytes>, 32>;

/// What the lanes of a warp have brought to a meeting, and what each takes home.
template <class In, class Out>
struct Lanes {
  LaneSlots* inputs;
  LaneSlots* outputs;

  const In& in(int lane) const {
    return *reinterpret_cast<const In*>((*inputs)[static_cast<std::size_t>(lane)].data());
  }
  Out& out(int lane) const { return *reinterpret_cast<Out*>((*outputs)[static_cast<std::size_t>(lane)].data()); }
};

/// A meeting of the lanes in `mask`: the last one to come runs `combine`, then all go on.
void meet(unsigned int mask, const void* in, std::size_t in_bytes,
          const std::function<void(LaneSlots& in, LaneSlots& out)>& combine);
/// What the last meeting has for this lane.
const void* taken_home();

template <class Out, class In, class Combine>
Out exchange(unsigned int mask, const In& in, Combine combine) {
  static_assert(sizeof(In) <= kLaneBytes && sizeof(Out) <= kLaneBytes);
  static_assert(std::is_trivially_copyable_v<In> && std::is_trivially_copyable_v<Out>);
  meet(mask, &in, sizeof(In), [&](LaneSlots& inputs, LaneSlots& outputs) {
    combine(Lanes<In, Out>{&inputs, &outputs});
  });
  return *static_cast<const Out*>(taken_home());
}

/// An asynchronous copy to shared memory: the bytes arrive only when `wait_copies` says so, until then there is NaN.
/// Bytes beyond `from_bytes` become 0.
void copy_later(void* to, const void* from, std::size_t bytes, std::size_t from_bytes);
void commit_copies();
/// All but the newest `pending` groups of copies of this thread have arrived.
void wait_copies(std::size_t pending);

}  // namespace cuda_on_cpu
