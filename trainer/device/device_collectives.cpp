#include <array>
#include <utility>

#include "schedules/program/waits.hpp"
#include "trainer/device/device_worker.hpp"

namespace plumb {

/// Returns the parts of this holder's handed over gradients that a collective adds up.
std::vector<std::span<std::byte>> DeviceWorker::reduced_pieces(std::uint32_t collective, HolderState& holder) const {
  std::vector<std::span<std::byte>> pieces;
  for (const ByteRange& range : plan_.reduced_ranges(collective, holder.stage())) {
    pieces.emplace_back(holder.update_gradients() + range.begin, static_cast<std::size_t>(range.end - range.begin));
  }
  return pieces;
}

/// Gives this holder's gradients to the collectives that the instr joins.
void DeviceWorker::reduce(InstrIndex at, HolderState& holder) {
  if (plan_.row(at).op == Op::kReduceGrad) holder.hand_over_gradients();
  for (const std::uint32_t j : plan_.joins.of(at)) {
    const Joining& joining = plan_.joinings[j];
    std::vector<std::byte> weights;
    std::vector<std::span<std::byte>> pieces = reduced_pieces(joining.collective, holder);
    if (plan_.program.collectives[joining.collective].kind == Collective::Kind::kSyncWeights) {
      weights = holder.given_weights();
      pieces.insert(pieces.begin(), weights);
    }
    outputs_.transport.join(joining.collective, joining.member, pieces);
  }
}

/// Replaces this holder's gradients by the sums that the update waits for.
void DeviceWorker::collect(InstrIndex at, HolderState& holder) {
  for (const Wait& wait : plan_.waits(at)) {
    if (!is_for_collective(wait)) continue;
    const std::uint32_t collective = collective_of(wait);
    if (plan_.program.collectives[collective].kind == Collective::Kind::kSyncWeights) {
      collect_weights(collective, holder);
    } else {
      outputs_.transport.collect(collective, reduced_pieces(collective, holder));
    }
  }
}

/// Brings this holder's newest weights together with those of the other members.
void DeviceWorker::collect_weights(std::uint32_t collective, HolderState& holder) {
  std::vector<std::byte> sum(static_cast<std::size_t>(holder.layout().memory.updated_bytes()));
  outputs_.transport.collect(collective, std::array{std::span<std::byte>(sum)});
  holder.take_weights(std::move(sum), plan_.program.collectives[collective].members.size());
}

}  // namespace plumb
