#include "schedules/runnability/transfer_order.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "tests/support/program_builder.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

using Place = ProgramBuilder::Place;
using TransferNumbers = std::vector<std::uint32_t>;

constexpr std::uint32_t kAlone = Batches::kNone;

}  // namespace

TEST_CASE("buffered channels serve messages as they are made, all others as they are issued") {
  ProgramBuilder builder(ProgramBuilder::Lanes{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  builder.message(Place{0, 2}, Place{1, 2}, 10);
  builder.message(Place{1, 1}, Place{2, 0}, 10);
  builder.message(Place{0, 0}, Place{1, 1}, 10);
  builder.message(Place{1, 0}, Place{2, 1}, 10);
  builder.message(Place{0, 1}, Place{1, 0}, 10);
  const Program program = builder.build();
  const IndexLists made = service_order(program, TransferMode::kBuffered);
  CHECK(TransferNumbers(made.items.begin(), made.items.end()) == TransferNumbers{2, 4, 0, 3, 1});
  for (const TransferMode mode : {TransferMode::kFifo, TransferMode::kRendezvous, TransferMode::kPairFifo}) {
    const IndexLists issued = service_order(program, mode);
    CHECK(TransferNumbers(issued.items.begin(), issued.items.end()) == TransferNumbers{0, 2, 4, 1, 3});
    CHECK(TransferNumbers(issued.begin.begin(), issued.begin.end()) == TransferNumbers{0, 3, 5});
  }
}

TEST_CASE("a send and a receive between two devices at one place of a lane are a batch, whatever else is sent there") {
  // F1 of each device needs what F0 of the other one made, so both send and receive between F0 and F1. What device 0
  // sends device 2, and both messages from device 2 to device 1, have nothing that comes back.
  ProgramBuilder builder(ProgramBuilder::Lanes{{1, 1}, {1, 1, 1}, {1, 1}});
  builder.message(Place{0, 0}, Place{1, 1}, 10);
  builder.message(Place{1, 0}, Place{0, 1}, 10);
  builder.message(Place{0, 0}, Place{2, 1}, 10);
  builder.message(Place{2, 0}, Place{1, 2}, 10);
  builder.message(Place{2, 0}, Place{1, 2}, 10);
  const Program program = builder.build();
  const Batches batches = batches_of(program, TransferMode::kBatched);
  CHECK(batches.size == TransferNumbers{2, 2});
  CHECK(batches.of_send == TransferNumbers{0, 1, kAlone, kAlone, kAlone});
  CHECK(batches.of_receive == TransferNumbers{1, 0, kAlone, kAlone, kAlone});
  for (const TransferMode mode : {TransferMode::kBuffered, TransferMode::kRendezvous, TransferMode::kPairFifo}) {
    CHECK(batches_of(program, mode).size.empty());
  }
}

TEST_CASE("a batch holds all sends and receives of its place, and a pair of actions is one place") {
  ProgramBuilder builder(ProgramBuilder::Lanes{{1, 1, 1}, {1, 1, 1}});
  builder.pair(Place{0, 0});
  builder.pair(Place{1, 1});
  builder.message(Place{0, 0}, Place{1, 1}, 10);  // behind the pair, before the other one
  builder.message(Place{0, 1}, Place{1, 2}, 10);  // behind F1, which ends the pair, too; needed inside of the other one
  builder.message(Place{1, 0}, Place{0, 2}, 10);
  const Program program = builder.build();
  const Batches batches = batches_of(program, TransferMode::kBatched);
  CHECK(batches.size == TransferNumbers{3, 3});
  CHECK(batches.of_send == TransferNumbers{0, 0, 1});
  CHECK(batches.of_receive == TransferNumbers{1, 1, 0});
}

TEST_CASE("two devices have one queue: by place, sends of a place before its receives, and each pair for itself") {
  ProgramBuilder builder(ProgramBuilder::Lanes{{1, 1, 1}, {1, 1, 1}, {1, 1}});
  builder.message(Place{0, 0}, Place{1, 1}, 10);  // 0
  builder.message(Place{1, 0}, Place{0, 1}, 10);  // 1: as 0 the other way round
  builder.message(Place{0, 1}, Place{1, 2}, 10);  // 2
  builder.message(Place{0, 0}, Place{2, 1}, 10);  // 3: another pair
  const Program program = builder.build();
  const PairQueues queues = pair_queues_of(program, TransferMode::kPairFifo);
  // Device 0: send 0, receive 1, send 2. Device 1: send 1, receive 0, receive 2.
  CHECK(queues.before_send == TransferNumbers{kAlone, kAlone, 1, kAlone});
  CHECK(queues.before_receive == TransferNumbers{1, 0, 0, kAlone});
  CHECK(pair_queues_of(program, TransferMode::kBatched).before_send.empty());
}

}  // namespace plumb::testing

TEST_SUITE_END();
