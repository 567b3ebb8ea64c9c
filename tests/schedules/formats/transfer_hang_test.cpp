#include "schedules/formats/transfer_hang.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/torch_lowering.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

constexpr std::array kModels{TransferModel::kBuffered, TransferModel::kRendezvous, TransferModel::kPairFifo};

std::string hang_of(const std::vector<std::string>& devices, std::int64_t microbatches, TransferModel model) {
  const Schedule schedule = written_schedule(devices, microbatches);
  REQUIRE(validate(schedule).empty());
  const auto hang = find_hang(schedule, model);
  return hang ? to_string(*hang) : "";
}

}  // namespace

TEST_CASE("neighbours that both send first hang unless messages are buffered") {
  // Device 0 sends an activation before it takes a gradient, device 1 the other way round.
  const std::vector<std::string> devices{"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1",
                                         "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1"};
  CHECK(hang_of(devices, 2, TransferModel::kBuffered) == "");
  CHECK(
      hang_of(devices, 2, TransferModel::kRendezvous) ==
      "device 0, position 3: 0SEND_F1: hang (rendezvous): 0SEND_F1 [F0.1] of device 0 waits for 1RECV_F1 of device 1, "
      "which is at 1SEND_B0; 1SEND_B0 [B1.0] of device 1 waits for 0RECV_B0 of device 0, which is at 0SEND_F1");
  CHECK(hang_of(devices, 2, TransferModel::kPairFifo) ==
        "device 0, position 3: 0SEND_F1: hang (pair-fifo): 0SEND_F1 [F0.1] of device 0 waits for 1RECV_F1 of device 1, "
        "which is queued behind 1SEND_B0 [B1.0]; 1SEND_B0 [B1.0] of device 1 waits for 0RECV_B0 of device 0, which is "
        "queued behind 0SEND_F1 [F0.1]");
}

TEST_CASE("three devices in a ring of blocking sends hang only with rendezvous") {
  // Every device sends before it posts the receive of what another one sends to it.
  const std::vector<std::string> devices{"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1",
                                         "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 1RECV_B0 1B0 1SEND_B0 1RECV_B1 "
                                         "1B1 1SEND_B1",
                                         "2RECV_F0 2F0 2B0 2SEND_B0 2RECV_F1 2F1 2B1 2SEND_B1"};
  CHECK(hang_of(devices, 2, TransferModel::kBuffered) == "");
  CHECK(hang_of(devices, 2, TransferModel::kRendezvous).find("hang (rendezvous): 1SEND_F1 [F1.1]") !=
        std::string::npos);
}

TEST_CASE("no schedule of the catalogue hangs under any model once it is lowered as PyTorch does") {
  int checked = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {2, 3, 4}) {
      for (const std::int64_t m : {4, 6, 8}) {
        for (const std::int32_t v : {0, 2}) {
          CAPTURE(spec.name);
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          Schedule schedule;
          try {
            schedule = generate(spec.name, {.num_devices = p, .num_microbatches = m, .chunks = v, .updates = 2});
          } catch (const Error&) {
            continue;
          }
          for (const TransferModel model : kModels) {
            CAPTURE(kTransferModelNames[static_cast<std::size_t>(model)]);
            const auto hang = find_hang(schedule, model);
            if (hang) FAIL_CHECK(to_string(*hang));
            ++checked;
          }
        }
      }
    }
  }
  CHECK(checked >= 1000);
}

TEST_CASE("PyTorch's late receives run when messages are buffered and hang where a pair of devices has one FIFO") {
  const ScheduleParams params{.num_devices = 2, .num_microbatches = 4};
  const Schedule late =
      torch_lowered(generate("torch-looped-bfs", params), {.collectives = false, .late_receives = true});
  REQUIRE(validate(late).empty());
  CHECK(!find_hang(late, TransferModel::kBuffered));
  const auto hang = find_hang(late, TransferModel::kPairFifo);
  REQUIRE(hang);
  CHECK(hang->reason ==
        "hang (pair-fifo): 2SEND_B3 [B2.3] of device 0 waits for 1RECV_B3 of device 1, which is queued behind 3SEND_B2 "
        "[B3.2]; 3SEND_B2 [B3.2] of device 1 waits for 2RECV_B2 of device 0, which is queued behind 2SEND_B3 [B2.3]");
}

}  // namespace plumb::testing

TEST_SUITE_END();
