#include "trainer/device/device_queue.hpp"
#include "trainer/device/device_worker.hpp"

namespace plumb {

/// Visits the stashes that an EVICT or LOAD names.
template <class Visit>
void DeviceWorker::for_each_stash(InstrIndex at, Visit&& visit) {
  const Action& action = plan_.program.instrs[at].action;
  plan_.program.parts.for_each(action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
    const StashKey key{holder_index(at), static_cast<std::int32_t>(microbatch), static_cast<std::int16_t>(slice)};
    visit(key, live_.stashes.at(key));
  });
}

/// EVICT: copies; the owner frees its own at `Transfer::sent`.
void DeviceWorker::evict(InstrIndex at) {
  if (plan_.row(at).microbatches == 0) {
    holders_.at(holder_index(at)).copy_weights_away();
  } else {
    for_each_stash(at, [&](const StashKey& key, StageStash& stash) {
      for (const StageBlock which : kKeptBlocks) {
        if (which == StageBlock::kKeys) continue;  // slices read them
        std::vector<std::byte> scratch;
        const std::span<const std::byte> bytes = arena_.memory().view(stash.storage(which), scratch);
        if (bytes.empty()) continue;
        std::vector<std::byte>& kept = live_.evicted[key][which];
        if (!plan_.backend.paced) kept.assign(bytes.begin(), bytes.end());  // its copies take the time of their link
      }
    });
  }
  note_move(at);
}

void DeviceWorker::free_evicted(std::uint32_t transfer) {
  const InstrIndex at = plan_.program.transfers[transfer].issue;
  if (plan_.program.move_of(transfer).weights) return holders_.at(holder_index(at)).free_weights();
  for_each_stash(at, [&](const StashKey& key, StageStash& stash) {
    for (const auto& [which, bytes] : live_.evicted.at(key)) stash.release(which);
  });
}

void DeviceWorker::load(InstrIndex at) {
  if (plan_.row(at).microbatches == 0) {
    holders_.at(holder_index(at)).bring_weights_back();
  } else {
    for_each_stash(at, [&](const StashKey& key, StageStash& stash) {
      for (const auto& [which, bytes] : live_.evicted.at(key)) arena_.memory().write(stash.revive(which).data(), bytes);
      live_.evicted.erase(key);
    });
  }
  note_move(at);
}

/// The copy is part of the action that makes it.
void DeviceWorker::note_move(InstrIndex at) {
  const Ticks now = outputs_.clock.now();
  for (const std::uint32_t transfer : plan_.indexed.issued().of(at)) {
    outputs_.times.transfers[transfer] = {now, now, now};
    if (outputs_.queue != nullptr) outputs_.queue->note_move(transfer);
  }
}

}  // namespace plumb
