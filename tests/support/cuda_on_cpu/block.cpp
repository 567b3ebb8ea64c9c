#include "tests/support/cuda_on_cpu/block.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/cuda_on_cpu/fiber.hpp"

namespace cuda_on_cpu {

Index threadIdx;
Index blockIdx;
Index blockDim;
Index gridDim;

namespace {

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  std::size_t from_bytes = 0;
};

struct Warp {
  // Twice, because a lane may come to the next meeting before others have taken home what the last one gave.
  std::array<LaneSlots, 2> in;
  std::array<LaneSlots, 2> out;
  unsigned int arrived = 0;
  unsigned int generation = 0;
};

enum class Waits { kNot, kForWarp, kForBlock, kEnded };

struct Thread {
  Fiber fiber;
  Index index;
  std::size_t warp = 0;
  unsigned int lane = 0;
  Waits waits = Waits::kNot;
  unsigned int last_meeting = 0;  ///< parity of its outputs
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;
};

/// Shared memory with a red zone after it, full of NaN.
class Shared {
 public:
  explicit Shared(std::size_t bytes) : bytes_(bytes), data_(new std::byte[bytes + kZone]) {}
  void poison() { std::memset(data_.get(), 0xFF, bytes_ + kZone); }
  void* data() const { return data_.get(); }
  bool intact() const {
    const std::byte* zone = data_.get() + bytes_;
    return std::all_of(zone, zone + kZone, [](std::byte b) { return b == std::byte{0xFF}; });
  }

 private:
  static constexpr std::size_t kZone = 64;
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> data_;
};

struct Machine {
  Order order = Order::kForward;
  bool ends_only = false;
  std::vector<Thread> threads;  ///< of the running block; the rest waits to be used again
  std::vector<Warp> warps;
  std::size_t count = 0;
  std::size_t live = 0;
  std::size_t at_barrier = 0;
  Thread* running = nullptr;
  Shared* shared = nullptr;
  std::int64_t launches = 0;
  std::int64_t ticks = 0;
  std::mt19937 random{1};
};

Machine& machine() {
  static Machine the;
  return the;
}

/// A walk over the numbers below `count`, each once, in the order of the machine: from a place of its own and with a
/// step of its own where it is shuffled.
class Walk {
 public:
  explicit Walk(std::size_t count) : count_(count) {
    if (machine().order != Order::kShuffled || count < 2) return;
    at_ = machine().random() % count;
    do {
      step_ = 1 + machine().random() % (count - 1);
    } while (std::gcd(step_, count) != 1);
  }
  bool ended() const { return done_ == count_; }
  std::size_t number() const { return machine().order == Order::kBackward ? count_ - 1 - at_ : at_; }
  void go_on() {
    ++done_;
    at_ = (at_ + step_) % count_;
  }

 private:
  std::size_t count_;
  std::size_t at_ = 0;
  std::size_t step_ = 1;
  std::size_t done_ = 0;
};

void release_block_if_all_wait() {
  Machine& m = machine();
  if (m.live == 0 || m.at_barrier < m.live) return;
  m.at_barrier = 0;
  for (std::size_t i = 0; i < m.count; ++i) {
    if (m.threads[i].waits == Waits::kForBlock) m.threads[i].waits = Waits::kNot;
  }
}

void wait(Waits what) {
  Thread& self = *machine().running;
  self.waits = what;
  if (what == Waits::kForBlock) release_block_if_all_wait();
  if (self.waits != Waits::kNot) self.fiber.leave();
}

/// Lets the thread run until it waits; false when it waits already.
bool go_on(Thread& thread) {
  if (thread.waits != Waits::kNot) return false;
  machine().running = &thread;
  threadIdx = thread.index;
  thread.fiber.resume();
  return true;
}

/// Thread by thread; false when all wait. No warp gets ahead of another by more than a step.
bool walk_threads() {
  Machine& m = machine();
  bool moved = false;
  for (Walk walk(m.count); !walk.ended(); walk.go_on()) moved |= go_on(m.threads[walk.number()]);
  return moved;
}

/// Warp by warp, each as far as it gets: until its threads stand at a barrier of the block, or have ended.
bool walk_warps() {
  Machine& m = machine();
  bool moved = false;
  for (Walk walk(m.warps.size()); !walk.ended(); walk.go_on()) {
    const std::size_t first = walk.number() * 32;
    for (bool again = true; std::exchange(again, false);) {
      for (std::size_t i = first; i < std::min(m.count, first + 32); ++i) again |= go_on(m.threads[i]);
      moved |= again;
    }
  }
  return moved;
}

void run_block(const std::function<void()>& body) {
  Machine& m = machine();
  for (std::size_t i = 0; i < m.count; ++i) {
    m.threads[i].fiber.start(&body);
    m.threads[i].waits = Waits::kNot;
    m.threads[i].open.clear();
    m.threads[i].groups.clear();
  }
  for (Warp& warp : m.warps) warp.arrived = 0;
  m.live = m.count;
  m.at_barrier = 0;
  while (m.live > 0) {
    const bool moved = m.order == Order::kWarpsAhead ? walk_warps() : walk_threads();
    if (!moved) throw std::logic_error("threads wait for each other for ever");
  }
}

void prepare_threads(const Index& block) {
  Machine& m = machine();
  m.count = std::size_t{block.x} * block.y * block.z;
  if (m.count == 0 || m.count > 1024) throw std::logic_error("a block has 1 to 1024 threads");
  while (m.threads.size() < m.count) m.threads.emplace_back();
  m.warps.resize((m.count + 31) / 32);
  for (std::size_t i = 0; i < m.count; ++i) {
    const auto n = static_cast<unsigned int>(i);
    m.threads[i].index = {n % block.x, n / block.x % block.y, n / block.x / block.y};
    m.threads[i].warp = i / 32;
    m.threads[i].lane = n % 32;
  }
}

constexpr std::size_t kEnd = 8;  ///< blocks at an end of a grid

Index block_at(std::size_t number, const Index& grid) {
  return {static_cast<unsigned int>(number % grid.x), static_cast<unsigned int>(number / grid.x % grid.y),
          static_cast<unsigned int>(number / grid.x / grid.y)};
}

}  // namespace

void set_order(Order order) { machine().order = order; }
void run_ends_only(bool ends_only) { machine().ends_only = ends_only; }
std::int64_t launches() { return machine().launches; }

void run(const LaunchShape& shape, const std::function<void()>& kernel) {
  Machine& m = machine();
  ++m.launches;
  constexpr unsigned int kMostInYAndZ = 65535;
  if (shape.grid.y > kMostInYAndZ || shape.grid.z > kMostInYAndZ) throw std::logic_error("a grid has 1 to 65535 rows");
  if (shape.grid.x >= 1U << 31U) throw std::logic_error("a grid has 1 to 2^31 - 1 blocks side by side");
  if (shape.shared_bytes > (std::size_t{227} << 10U)) throw std::logic_error("more shared memory than an SM has");
  prepare_threads(shape.block);
  Shared shared(shape.shared_bytes);
  m.shared = &shared;
  blockDim = shape.block;
  gridDim = shape.grid;
  const std::function<void()> body = [&] {
    kernel();
    machine().running->waits = Waits::kEnded;
    --machine().live;
    release_block_if_all_wait();
  };
  const std::size_t all = std::size_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const std::size_t count = m.ends_only ? std::min(all, 2 * kEnd) : all;
  for (Walk walk(count); !walk.ended(); walk.go_on()) {
    blockIdx = block_at(walk.number() < kEnd ? walk.number() : all - count + walk.number(), shape.grid);
    shared.poison();
    run_block(body);
    if (!shared.intact()) throw std::logic_error("a block wrote past the end of its shared memory");
  }
}

void sync_threads() {
  ++machine().at_barrier;
  wait(Waits::kForBlock);
}

void* shared_memory() { return machine().shared->data(); }
std::int64_t ticks() { return ++machine().ticks; }

void meet(unsigned int mask, const void* in, std::size_t in_bytes,
          const std::function<void(LaneSlots& in, LaneSlots& out)>& combine) {
  Machine& m = machine();
  Thread& self = *m.running;
  Warp& warp = m.warps[self.warp];
  const unsigned int parity = warp.generation % 2;
  self.last_meeting = parity;
  std::memcpy(warp.in[parity][self.lane].data(), in, in_bytes);
  warp.arrived |= 1U << self.lane;
  if (warp.arrived != mask) return wait(Waits::kForWarp);
  combine(warp.in[parity], warp.out[parity]);
  warp.arrived = 0;
  ++warp.generation;
  for (std::size_t i = self.warp * 32; i < std::min(m.count, self.warp * 32 + 32); ++i) {
    Thread& other = m.threads[i];
    if (other.waits == Waits::kForWarp) other.waits = Waits::kNot;
  }
}

const void* taken_home() {
  const Thread& self = *machine().running;
  return machine().warps[self.warp].out[self.last_meeting][self.lane].data();
}

void copy_later(void* to, const void* from, std::size_t bytes, std::size_t from_bytes) {
  std::memset(to, 0xFF, bytes);
  machine().running->open.push_back({to, from, bytes, from_bytes});
}

void commit_copies() {
  Thread& self = *machine().running;
  self.groups.push_back(std::move(self.open));
  self.open.clear();
}

void wait_copies(std::size_t pending) {
  Thread& self = *machine().running;
  for (; self.groups.size() > pending; self.groups.pop_front()) {
    for (const Copy& copy : self.groups.front()) {
      std::memcpy(copy.to, copy.from, copy.from_bytes);
      std::memset(static_cast<std::byte*>(copy.to) + copy.from_bytes, 0, copy.bytes - copy.from_bytes);
    }
  }
}

}  // namespace cuda_on_cpu
