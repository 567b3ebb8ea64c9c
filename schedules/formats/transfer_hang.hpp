#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "models/ground/work_size.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// When a send and its receive complete. In all three models a receive is only posted, and compute waits for its
/// inputs.
enum class TransferModel : std::uint8_t {
  kBuffered,    ///< "buffered": a send leaves at once, however many are on their way
  kRendezvous,  ///< "rendezvous": a send holds its device until the receive is posted (nothing is buffered)
  kPairFifo,    ///< "pair-fifo": neither holds its device, but the transfers of two devices, both directions together,
                ///< run one at a time as each of the two issued them (one NCCL communicator per pair)
};

/// Names for users, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> kTransferModelNames{"buffered", "rendezvous", "pair-fifo"};

/// The hang of a schedule's sends and receives under `model`, explained by one cycle of who waits for whom, with the
/// tag of every message (F1.3: the activation of stage 1, microbatch 3; B: a gradient):
///
///     hang (rendezvous): 0SEND_F1 [F0.1] holds device 0 until device 1 posts 1RECV_F1, which comes after 1SEND_B0;
///     1SEND_B0 [B1.0] holds device 1 until device 0 posts 0RECV_B0, which comes after 0SEND_F1
///
/// No value if every device reaches its end and every message arrives. A schedule without transfers is lowered as
/// PyTorch does first. `schedule` must be valid.
/// `Error` where a receive finds no place because a value is made whole and taken in slices, or the other way round.
std::optional<Violation> find_hang(const Schedule& schedule, TransferModel model);

/// What `find_hang` takes, for any model.
WorkSize hang_check_size(const Schedule& schedule);

}  // namespace plumb
