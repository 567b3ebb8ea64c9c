#include "sim/rules/transfer_notes.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/huge_pages.hpp"
#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

/// A note at `place(transfer)` for every transfer, those of one place in order of index.
template <class Place>
TransferNotes notes_at(const Program& program, Place&& place) {
  const auto count = static_cast<std::uint32_t>(program.transfers.size());
  TransferNotes notes;
  reserve_huge(notes, count + 1);
  bool sorted = true;
  for (std::uint32_t t = 0; t < count; ++t) {
    notes.push_back({place(program.transfers[t]), t, program.transfers[t].channel});
    sorted = sorted && (t == 0 || notes[t - 1].at <= notes[t].at);
  }
  if (!sorted) {
    const IndexLists order = group_by(count, program.size() + 1, [&](std::size_t t) { return notes[t].at; });
    TransferNotes in_order;
    reserve_huge(in_order, count + 1);
    for (const std::uint32_t t : order.items) in_order.push_back(notes[t]);
    notes = std::move(in_order);
  }
  notes.push_back({static_cast<InstrIndex>(program.size()), 0, 0});
  return notes;
}

}  // namespace

LaneNotes lane_notes(const Program& program, TransferMode mode, const Batches& batches) {
  LaneNotes notes;
  notes.offers = notes_at(program, [&](const Transfer& transfer) { return offered_by(transfer, mode); });
  notes.sends = notes_at(program, [&](const Transfer& transfer) {
    return is_awaited_at_end(program, transfer) ? static_cast<InstrIndex>(program.size()) : transfer.sent;
  });
  if (!rules_of(mode).needs_post) return notes;
  notes.posts = notes_at(program, [](const Transfer& transfer) { return transfer.post; });
  if (!rules_of(mode).batches) return notes;
  for (std::size_t k = 0; k + 1 < notes.posts.size(); ++k) {
    TransferNote& note = notes.posts[k];
    if (batches.of_receive[note.transfer] != Batches::kNone) note.channel |= TransferNote::kBatchBit;
  }
  return notes;
}

std::uint32_t first_note(const TransferNotes& notes, InstrIndex at) {
  const auto before = [](const TransferNote& note, InstrIndex place) { return note.at < place; };
  return static_cast<std::uint32_t>(std::lower_bound(notes.begin(), notes.end(), at, before) - notes.begin());
}

}  // namespace plumb
