#include "trainer/links/stream_reductions.hpp"

#include <algorithm>
#include <utility>

namespace plumb {

/// Copies the part on the device's stream for gradients, so that backwards may go on. The last member to join issues
/// the sums.
void StreamReductions::join(std::uint32_t collective, std::size_t number, DeviceId device, Pieces part) {
  Reduction& reduction = reductions_[collective];
  reduction.members.resize(setting_.program.collectives[collective].members.size());
  Member& member = reduction.members[number];
  member.device = device;
  member.pieces.assign(part.begin(), part.end());
  std::vector<EventId> before{queue(device).done()};
  for (const std::span<std::byte> piece : part) {
    Staging& copy = member.copies.emplace_back(pool_.take(device, static_cast<std::int64_t>(piece.size())));
    before.insert(before.end(), copy.free_after.begin(), copy.free_after.end());
  }
  const StreamId on = queue(device).stream(StreamKind::kGradients);
  setting_.order.wait(on, before);
  for (std::size_t i = 0; i < part.size(); ++i) setting_.machine.copy(on, member.copies[i].data, part[i]);
  member.joined = setting_.order.record(on);
  if (++reduction.joined == reduction.members.size()) reduce(collective, reduction);
}

/// Issues the sum on every member's device, then gives the copies back: they are free when all sums are done.
void StreamReductions::reduce(std::uint32_t collective, Reduction& reduction) {
  std::vector<EventId> done;
  for (Member& own : reduction.members) {
    add_up(reduction, own);
    done.push_back(own.reduced);
    ends_.emplace_back(collective, setting_.marks.mark(queue(own.device).stream(StreamKind::kGradients)));
  }
  for (Member& member : reduction.members) {
    for (Staging& copy : member.copies) pool_.give_back(std::move(copy), done);
    member.copies.clear();
  }
}

/// Adds all parts up in the order of the members, into the member's own blocks. Parts of other devices are sent into a
/// term first.
void StreamReductions::add_up(Reduction& reduction, Member& own) {
  const StreamId on = queue(own.device).stream(StreamKind::kGradients);
  std::vector<EventId> before;
  for (const Member& member : reduction.members) before.push_back(member.joined);
  std::vector<Staging> terms;
  for (const std::span<std::byte> piece : own.pieces) {
    Staging& term = terms.emplace_back(pool_.take(own.device, static_cast<std::int64_t>(piece.size())));
    before.insert(before.end(), term.free_after.begin(), term.free_after.end());
  }
  setting_.order.wait(on, before);
  for (std::size_t i = 0; i < own.pieces.size(); ++i) {
    bool first = true;
    for (const Member& member : reduction.members) {
      const std::span<std::byte> part = member.copies[i].span();
      const bool near = member.device == own.device;
      std::byte* to = first ? own.pieces[i].data() : terms[i].data;
      if (!near) setting_.machine.send(on, member.device, to, part);
      if (near && first) setting_.machine.copy(on, to, part);
      if (!first) setting_.machine.add(on, type_, own.pieces[i], near ? part : terms[i].span());
      first = false;
    }
  }
  own.reduced = setting_.order.record(on);
  for (Staging& term : terms) pool_.give_back(std::move(term), {own.reduced});
}

void StreamReductions::await(std::uint32_t collective, DeviceId device) {
  for (const Member& member : reductions_.at(collective).members) {
    if (member.device == device) queue(device).need(member.reduced);
  }
}

void StreamReductions::collect(std::uint32_t collective, DeviceId device) {
  Reduction& reduction = reductions_.at(collective);
  const auto member = std::ranges::find_if(
      reduction.members, [&](const Member& candidate) { return candidate.device == device && !candidate.collected; });
  member->collected = true;
  if (++reduction.collected == reduction.members.size()) reductions_.erase(collective);
}

void StreamReductions::finish_part(const RunClock& clock, std::vector<Ticks>& ends) {
  for (const auto& [collective, mark] : std::exchange(ends_, {})) {
    ends[collective] = std::max(ends[collective], setting_.marks.time_ns(mark) - clock.origin_ns());
  }
  for (auto& [collective, reduction] : reductions_) {
    for (Member& member : reduction.members) member.joined = member.reduced = StreamOrder::kAlways;
  }
  pool_.restart();
}

void StreamReductions::forget() {
  for (auto& [collective, reduction] : std::exchange(reductions_, {})) {
    for (Member& member : reduction.members) {
      for (Staging& copy : member.copies) pool_.give_back(std::move(copy), {});
    }
  }
}

std::vector<std::byte> StreamReductions::bytes_of(DeviceId device,
                                                  const std::vector<std::span<std::byte>>& pieces) const {
  std::vector<std::byte> bytes;
  for (const std::span<std::byte> piece : pieces) {
    std::vector<std::byte> scratch;
    const std::span<const std::byte> seen = queue(device).memory().view(piece, scratch);
    bytes.insert(bytes.end(), seen.begin(), seen.end());
  }
  return bytes;
}

/// Saves sums that are made but not collected, and of others the parts that have joined.
std::map<std::uint32_t, Mailbox::Reduction> StreamReductions::under_way() {
  std::map<std::uint32_t, Mailbox::Reduction> all;
  for (const auto& [collective, reduction] : reductions_) {
    Mailbox::Reduction& saved = all[collective];
    saved.joined = reduction.joined;
    if (reduction.joined == reduction.members.size()) {
      const auto waiting = std::ranges::find(reduction.members, false, &Member::collected);
      saved.sum = bytes_of(waiting->device, waiting->pieces);
      continue;
    }
    saved.parts.resize(reduction.members.size());
    for (std::size_t i = 0; i < reduction.members.size(); ++i) {
      std::vector<std::span<std::byte>> copies;
      for (const Staging& copy : reduction.members[i].copies) copies.push_back(copy.span());
      saved.parts[i] = bytes_of(reduction.members[i].device, copies);
    }
  }
  return all;
}

}  // namespace plumb
