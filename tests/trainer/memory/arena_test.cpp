#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "trainer/memory/arena.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;

namespace {

std::int64_t of(const MemoryByClass& bytes, MemoryClass cls) { return bytes[static_cast<std::size_t>(cls)]; }

}  // namespace

TEST_CASE("an arena counts live bytes by class and remembers the composition of the first peak") {
  Arena arena;
  const Block weights = arena.allocate(MemoryClass::kWeights, 100);
  {
    const Block workspace = arena.allocate(MemoryClass::kWorkspace, 30);
    CHECK(arena.live_bytes() == 130);
  }
  {
    const Block transfer = arena.allocate(MemoryClass::kTransfer, 30);  // as high, but later
    CHECK(of(arena.live(), MemoryClass::kTransfer) == 30);
    CHECK(of(arena.live(), MemoryClass::kWorkspace) == 0);
  }
  CHECK(arena.live_bytes() == 100);
  CHECK(arena.peak_bytes() == 130);
  CHECK(of(arena.at_peak(), MemoryClass::kWorkspace) == 30);
  CHECK(of(arena.at_peak(), MemoryClass::kTransfer) == 0);
}

TEST_CASE("a block that moves to another class changes no total") {
  Arena arena({.log_events = true});
  Block input = arena.allocate(MemoryClass::kTransfer, 8);
  input.move_to(MemoryClass::kKeptForInputGrad);
  CHECK(arena.live_bytes() == 8);
  CHECK(arena.peak_bytes() == 8);
  CHECK(of(arena.live(), MemoryClass::kTransfer) == 0);
  input = Block();
  CHECK(arena.take_events() == std::vector<ArenaEvent>{{MemoryClass::kTransfer, 8},
                                                       {MemoryClass::kTransfer, 0},
                                                       {MemoryClass::kKeptForInputGrad, 8},
                                                       {MemoryClass::kKeptForInputGrad, 0}});
  CHECK(arena.take_events().empty());
}

TEST_CASE("alignment gaps take storage but are not counted") {
  Arena arena;
  const Block block = arena.allocate(MemoryClass::kKeptForWeightGrad, 100, 192);
  CHECK(arena.live_bytes() == 100);
  CHECK(arena.reserved_bytes() == 192);
  CHECK(reinterpret_cast<std::uintptr_t>(block.data()) % 64 == 0);
}

TEST_CASE("freed storage serves the next block of its size") {
  Arena arena;
  const std::byte* first = nullptr;
  for (int microbatch = 0; microbatch < 5; ++microbatch) {
    const Block block = arena.allocate(MemoryClass::kWorkspace, 256);
    if (first == nullptr) first = block.data();
    CHECK(block.data() == first);
  }
  CHECK(arena.reserved_bytes() == 256);
}

TEST_CASE("a microbatch gets the storage of the one before it in its lane, whatever others have taken and given back") {
  Arena arena;
  const auto lent = [&](std::int32_t microbatch) {
    const Arena::Lent own(arena, microbatch);
    return arena.allocate(MemoryClass::kTransfer, 64);
  };
  Block first = lent(0);
  Block second = lent(1);
  Block more = lent(0);
  const std::byte* places[] = {first.data(), more.data()};
  first = Block();
  Block third = lent(2);  // the lane of 0 is not free yet
  more = Block();
  Block fourth = lent(3);
  Block fifth = lent(3);
  CHECK(std::min(fourth.data(), fifth.data()) == std::min(places[0], places[1]));
  CHECK(std::max(fourth.data(), fifth.data()) == std::max(places[0], places[1]));
  CHECK(arena.live_bytes() == 4 * 64);
  CHECK(arena.reserved_bytes() == 4 * 64);
}

TEST_CASE("an empty block is valid and costs nothing") {
  Arena arena({.log_events = true});
  Block nothing = arena.allocate(MemoryClass::kTransfer, 0);
  nothing.move_to(MemoryClass::kKeptForInputGrad);
  CHECK(nothing.data() == nullptr);
  CHECK(arena.peak_bytes() == 0);
  CHECK(arena.take_events().empty());
}

TEST_CASE("poisoned storage reads as NaN, fresh and reused") {
  Arena arena({.poison = true});
  for (int i = 0; i < 2; ++i) {
    const Block block = arena.allocate(MemoryClass::kWorkspace, 16);
    auto* numbers = reinterpret_cast<double*>(block.data());
    CHECK(std::isnan(numbers[0]));
    CHECK(std::isnan(*reinterpret_cast<float*>(numbers + 1)));
    numbers[0] = 1;
  }
}

TEST_SUITE_END();
