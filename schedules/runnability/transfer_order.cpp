#include "schedules/runnability/transfer_order.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

/// A send or a receive as one device sees it.
struct MessageEnd {
  DeviceId device{};
  DeviceId peer{};
  InstrIndex place = 0;
  std::uint32_t transfer = 0;
  bool is_send = false;

  auto key() const { return std::tuple(device, place, peer); }
};

std::vector<MessageEnd> halves_of(const Program& program) {
  std::vector<MessageEnd> halves;
  halves.reserve(2 * program.transfers.size());
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
    const Transfer& transfer = program.transfers[t];
    if (program.is_move(t)) continue;
    const auto& [from, to, route] = program.channels[transfer.channel];
    halves.push_back({from, to, unit_end(program, transfer.issue), t, true});
    halves.push_back({to, from, unit_begin(program, transfer.post), t, false});
  }
  std::ranges::sort(halves, {},
                    [](const MessageEnd& half) { return std::tuple_cat(half.key(), std::tuple(half.transfer)); });
  return halves;
}

/// Whether every channel's messages are produced in order of index, as lowering makes them without explicit sends.
bool produced_in_order(const Program& program) {
  return std::ranges::is_sorted(program.transfers, {}, &Transfer::producer);
}

}  // namespace

IndexLists service_order(const Program& program, TransferMode mode) {
  IndexLists lists = group_by(program.transfers.size(), program.channels.size(),
                              [&](std::size_t t) { return program.transfers[t].channel; });
  if (rules_of(mode).in_issue_order || produced_in_order(program)) return lists;
  const auto producer = [&](std::uint32_t t) { return program.transfers[t].producer; };
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    std::ranges::stable_sort(std::span(lists.items).subspan(lists.begin[c], lists.begin[c + 1] - lists.begin[c]), {},
                             producer);
  }
  return lists;
}

const IndexLists& offered(const ProgramIndex& indexed, TransferMode mode) {
  return rules_of(mode).in_issue_order ? indexed.issued() : indexed.made();
}

Batches batches_of(const Program& program, TransferMode mode) {
  Batches batches;
  if (!rules_of(mode).batches) return batches;
  batches.of_send.assign(program.transfers.size(), Batches::kNone);
  batches.of_receive.assign(program.transfers.size(), Batches::kNone);
  const std::vector<MessageEnd> halves = halves_of(program);
  for (auto first = halves.begin(); first != halves.end();) {
    const auto last =
        std::find_if(first, halves.end(), [&](const MessageEnd& half) { return half.key() != first->key(); });
    const auto sends = std::count_if(first, last, [](const MessageEnd& half) { return half.is_send; });
    if (sends != 0 && sends != last - first) {
      const auto batch = static_cast<std::uint32_t>(batches.size.size());
      batches.size.push_back(static_cast<std::uint32_t>(last - first));
      for (const MessageEnd& half : std::span(first, last)) {
        (half.is_send ? batches.of_send : batches.of_receive)[half.transfer] = batch;
      }
    }
    first = last;
  }
  return batches;
}

PairQueues pair_queues_of(const Program& program, TransferMode mode) {
  PairQueues queues;
  if (!rules_of(mode).pair_queues) return queues;
  queues.before_send.assign(program.transfers.size(), PairQueues::kNone);
  queues.before_receive.assign(program.transfers.size(), PairQueues::kNone);
  std::vector<MessageEnd> halves = halves_of(program);
  std::ranges::sort(halves, {}, [](const MessageEnd& half) {
    return std::tuple(half.device, half.peer, half.place, !half.is_send, half.transfer);
  });
  for (std::size_t k = 1; k < halves.size(); ++k) {
    const MessageEnd& half = halves[k];
    if (halves[k - 1].device != half.device || halves[k - 1].peer != half.peer) continue;
    (half.is_send ? queues.before_send : queues.before_receive)[half.transfer] = halves[k - 1].transfer;
  }
  return queues;
}

}  // namespace plumb
