#include "trainer/links/link_reductions.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "schedules/program/waits.hpp"

namespace plumb {

std::vector<std::pair<DeviceId, DeviceId>> reduction_pairs(const Program& program) {
  std::set<std::pair<DeviceId, DeviceId>> pairs;
  for (const Collective& collective : program.collectives) {
    if (collective.kind == Collective::Kind::kSyncWeights) continue;
    std::set<DeviceId> devices;
    for (const InstrIndex member : collective.members) {
      devices.insert(program.holders[program.rows[program.instrs[member].row].holder].device);
    }
    for (const DeviceId from : devices) {
      for (const DeviceId to : devices) {
        if (from != to) pairs.emplace(from, to);
      }
    }
  }
  return {pairs.begin(), pairs.end()};
}

LinkReductions::LinkReductions(Setup setup)
    : setup_(std::move(setup)),
      pairs_(reduction_pairs(setup_.setting.program)),
      pool_(setup_.setting.machine),
      by_link_(setup_.setting.program.collectives.size(), false) {
  const Program& program = setup_.setting.program;
  for (const Collective& collective : program.collectives) touched_.push_back(collective.members);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    for (const Wait& wait : waits_of(program, at)) {
      if (is_for_collective(wait)) touched_[collective_of(wait)].push_back(at);
    }
  }
}

DeviceId LinkReductions::device_of(InstrIndex at) const {
  const Program& program = setup_.setting.program;
  return program.holders[program.rows[program.instrs[at].row].holder].device;
}

std::vector<DeviceId> LinkReductions::others_of(std::uint32_t collective) const {
  std::set<DeviceId> devices;
  for (const InstrIndex member : setup_.setting.program.collectives[collective].members) {
    if (device_of(member) != setup_.device) devices.insert(device_of(member));
  }
  return {devices.begin(), devices.end()};
}

std::size_t LinkReductions::own_members(std::uint32_t collective) const {
  const auto& members = setup_.setting.program.collectives[collective].members;
  return static_cast<std::size_t>(
      std::ranges::count_if(members, [&](InstrIndex member) { return device_of(member) == setup_.device; }));
}

std::uint32_t LinkReductions::link(DeviceId from, DeviceId to) const {
  const auto at = std::ranges::lower_bound(pairs_, std::pair(from, to));
  return static_cast<std::uint32_t>(setup_.setting.program.channels.size()) +
         static_cast<std::uint32_t>(at - pairs_.begin());
}

/// Decides which collectives go by links in this part: sums of gradients that all members join and collect within it.
/// Of the others' parts it lists what comes from each device, in the order in which that one sends them.
void LinkReductions::begin_part(std::span<const InstrIndex> begin, std::span<const InstrIndex> end) {
  const Program& program = setup_.setting.program;
  coming_.clear();
  for (std::uint32_t c = 0; c < program.collectives.size(); ++c) {
    const bool whole = std::ranges::all_of(touched_[c], [&](InstrIndex at) {
      const std::size_t device = index(device_of(at));
      return at >= begin[device] && at < end[device];
    });
    const bool gradients = program.collectives[c].kind != Collective::Kind::kSyncWeights;
    by_link_[c] = gradients && whole && own_members(c) > 0 && !others_of(c).empty();
    if (!by_link_[c]) continue;
    const auto& members = program.collectives[c].members;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (device_of(members[m]) != setup_.device) coming_[device_of(members[m])].push_back({members[m], c, m});
    }
  }
  for (auto& [from, parts] : coming_) std::ranges::sort(parts);
}

LinkReductions::Part& LinkReductions::part(std::uint32_t collective, std::size_t member) {
  Reduction& reduction = reductions_[collective];
  reduction.parts.resize(setup_.setting.program.collectives[collective].members.size());
  Part& part = reduction.parts[member];
  part.copy = pool_.take(setup_.device, setup_.bytes[collective]);
  return part;
}

/// Launches a send or a receive on the link's own stream, and returns its end.
EventId LinkReductions::move(std::uint32_t link, const Staging& buffer, bool sends) {
  StreamMachine& machine = setup_.setting.machine;
  const StreamId on = setup_.streams.at(link);
  void* place = machine.place(on).stream;
  machine.launch(on, {.name = sends ? "send" : "receive",
                      .accesses = {{buffer.span(), !sends}},
                      .run = [this, link, bytes = buffer.span(), sends, place] {
                        const std::array<std::span<std::byte>, 1> parts{bytes};
                        sends ? setup_.links.send(link, parts, place) : setup_.links.receive(link, parts, place);
                      }});
  return under_way_.emplace_back(setup_.setting.order.record(on));
}

/// Copies the own part out of the way, sends it to all others, and asks for theirs.
bool LinkReductions::join(std::uint32_t collective, std::size_t member, Pieces pieces) {
  if (!by_link_[collective]) return false;
  const StreamSetting& setting = setup_.setting;
  Part& own_part = part(collective, member);
  // Not the stream for gradients of the hosts' way, and nothing that waits for others stands on it.
  const StreamId on = own().stream(StreamKind::kActivations);
  std::vector<EventId> before = own_part.copy.free_after;
  before.push_back(own().done());
  setting.order.wait(on, before);
  std::byte* to = own_part.copy.data;
  for (const std::span<std::byte> piece : pieces) {
    if (!piece.empty()) setting.machine.copy(on, to, piece);
    to += piece.size();
  }
  arrivals_.emplace_back(collective, setting.marks.mark(on));
  own_part.there = setting.order.record(on);
  for (const DeviceId other : others_of(collective)) {
    const std::uint32_t by = link(setup_.device, other);
    setting.order.wait(setup_.streams.at(by), std::array{own_part.there});
    own_part.sent.push_back(move(by, own_part.copy, true));
  }
  for (const DeviceId other : others_of(collective)) receive_up_to(collective, other);
  return true;
}

/// Asks for all parts that `from` sends up to its last one of `collective`: a link delivers in the order of sending.
void LinkReductions::receive_up_to(std::uint32_t collective, DeviceId from) {
  std::deque<Coming>& coming = coming_[from];
  const auto is_of = [&](const Coming& one) { return one.collective == collective; };
  while (std::ranges::any_of(coming, is_of)) {
    const Coming next = coming.front();
    coming.pop_front();
    Part& incoming = part(next.collective, next.member);
    const std::uint32_t by = link(from, setup_.device);
    setup_.setting.order.wait(setup_.streams.at(by), incoming.copy.free_after);
    incoming.there = move(by, incoming.copy, false);
    arrivals_.emplace_back(next.collective, setup_.setting.marks.mark(setup_.streams.at(by)));
  }
}

bool LinkReductions::await(std::uint32_t collective) {
  const auto found = reductions_.find(collective);
  if (found == reductions_.end()) return false;
  for (const Part& one : found->second.parts) own().need(one.there);
  return true;
}

/// Adds the parts up in the order of the members, so that all devices get the same bits. The last member here gives the
/// copies back.
bool LinkReductions::collect(std::uint32_t collective, Pieces sum) {
  const auto found = reductions_.find(collective);
  if (found == reductions_.end()) return false;
  Reduction& reduction = found->second;
  std::size_t offset = 0;
  for (const std::span<std::byte> piece : sum) {
    bool first = true;
    for (const Part& one : reduction.parts) {
      const std::span<const std::byte> term = one.copy.span().subspan(offset, piece.size());
      if (first && !piece.empty()) own().memory().copy(piece.data(), term);
      if (!first && !piece.empty()) own().add(setup_.type, piece, term);
      first = false;
    }
    offset += piece.size();
  }
  if (++reduction.collected < own_members(collective)) return true;
  const EventId added = own().done();
  for (Part& one : reduction.parts) {
    one.sent.push_back(added);
    pool_.give_back(std::move(one.copy), std::move(one.sent));
  }
  reductions_.erase(found);
  return true;
}

bool LinkReductions::is_idle() {
  const auto is_over = [&](EventId end) { return setup_.setting.order.is_done(end); };
  while (!under_way_.empty() && is_over(under_way_.front())) under_way_.pop_front();
  return under_way_.empty();
}

void LinkReductions::finish_part(const RunClock& clock, std::vector<Ticks>& ends) {
  for (const auto& [collective, mark] : std::exchange(arrivals_, {})) {
    ends[collective] = std::max(ends[collective], setup_.setting.marks.time_ns(mark) - clock.origin_ns());
  }
  under_way_.clear();
  pool_.restart();
}

void LinkReductions::forget() {
  for (auto& [collective, reduction] : std::exchange(reductions_, {})) {
    for (Part& one : reduction.parts) {
      if (one.copy.data != nullptr) pool_.give_back(std::move(one.copy), {});
    }
  }
}

}  // namespace plumb
