#include "trainer/links/process_transport.hpp"

#include <algorithm>

#include "schedules/program/waits.hpp"
#include "trainer/transport/packet.hpp"

namespace plumb {
namespace {

void add_once(std::vector<DeviceId>& devices, DeviceId device) {
  if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
}

}  // namespace

/// Finds out once who must be told what: the other members of every collective, and who waits for which own instr.
ProcessTransport::ProcessTransport(const RunPlan& plan, ProcessGroup& group, Mailbox& mailbox, LossLog& losses)
    : plan_(plan), group_(group), mailbox_(mailbox), losses_(losses), members_(plan.program.collectives.size()) {
  const Program& program = plan.program;
  const DeviceId here{static_cast<std::int32_t>(group.rank())};
  for (std::size_t c = 0; c < members_.size(); ++c) {
    for (const InstrIndex member : program.collectives[c].members) {
      if (plan.holder(member).device != here) add_once(members_[c], plan.holder(member).device);
    }
  }
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const DeviceId device = plan.holder(at).device;
    if (device == here) continue;
    for (const Wait& wait : plan.waits(at)) {
      if (!is_plain(wait) || plan.holder(wait.source).device != here) continue;
      add_once(awaited_[plan.unit_end(wait.source)], device);
    }
  }
  if (group.is_first()) return;
  losses.pass_on([this](const NotedLoss& loss) { group_.send(0, PacketWriter().put(Kind::kLoss).put(loss).take()); });
}

std::size_t ProcessTransport::receiver_of(std::uint32_t transfer) const {
  return rank_of(plan_.program.channels[plan_.program.transfers[transfer].channel].to);
}

void ProcessTransport::send(std::uint32_t transfer, std::span<Block> message) {
  std::vector<std::span<std::byte>> parts;
  for (const Block& part : message) parts.push_back(part.span());
  send(transfer, Pieces(parts));
}

void ProcessTransport::send(std::uint32_t transfer, Pieces message) {
  PacketWriter data;
  data.put(Kind::kMessage).put(transfer).put(clock_->now());
  for (const std::span<std::byte> part : message) data.put_bytes(part);
  group_.send(receiver_of(transfer), data.take());
}

void ProcessTransport::send_again(std::uint32_t transfer, std::span<const std::byte> message) {
  group_.send(receiver_of(transfer), PacketWriter().put(Kind::kMessageAgain).put(transfer).put_bytes(message).take());
}

void ProcessTransport::publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) {
  for (std::size_t other = 0; other < group_.size(); ++other) {
    if (other == group_.rank()) continue;
    group_.send(other, PacketWriter().put(Kind::kNote).put(holder).put(update).put_bytes(note).take());
  }
  mailbox_.publish(holder, update, note);
}

/// Sends the part to every other process that has members; each adds all parts up itself.
void ProcessTransport::join(std::uint32_t collective, std::size_t member, Pieces part) {
  for (const DeviceId other : members_[collective]) {
    PacketWriter data;
    data.put(Kind::kPart).put(collective).put(member);
    for (const std::span<std::byte> piece : part) data.put_bytes(piece);
    group_.send(rank_of(other), data.take());
  }
  mailbox_.join(collective, member, part);
}

void ProcessTransport::passed(DeviceId device, InstrIndex position) {
  mailbox_.passed(device, position);
  const auto waiting = awaited_.find(position);
  if (waiting == awaited_.end()) return;
  for (const DeviceId other : waiting->second) {
    group_.send(rank_of(other), PacketWriter().put(Kind::kPassed).put(device).put(position).take());
  }
}

void ProcessTransport::pace(PacedLinks& links) {
  paced_ = &links;
  links.tell_posts([this](std::uint32_t transfer, Ticks moment) {
    const DeviceId sender = plan_.program.channels[plan_.program.transfers[transfer].channel].from;
    group_.send(rank_of(sender), PacketWriter().put(Kind::kPosted).put(transfer).put(moment).take());
  });
}

void ProcessTransport::begin(RunClock& clock) {
  clock_ = &clock;
  const std::int64_t offset = group_.offset_to_first();
  group_.meet();
  if (group_.is_first()) {
    clock.resume();
    group_.announce(clock.origin_ns());
  } else {
    clock.set_origin(group_.await_announcement() - offset);
  }
  group_.open(*this);
}

/// Puts what another process has sent into the mailbox of this one.
void ProcessTransport::deliver(std::span<const std::byte> data) {
  PacketReader reader(data);
  switch (reader.get<Kind>()) {
    case Kind::kMessage: {
      const auto transfer = reader.get<std::uint32_t>();
      const auto start = reader.get<Ticks>();
      const std::span<const std::byte> message = reader.rest();
      if (paced_ != nullptr) paced_->offered(transfer, start);
      return mailbox_.put(transfer, {message.begin(), message.end()}, start);
    }
    case Kind::kMessageAgain: {
      const auto transfer = reader.get<std::uint32_t>();
      return mailbox_.send_again(transfer, reader.rest());
    }
    case Kind::kNote: {
      const auto holder = reader.get<std::uint32_t>();
      const auto update = reader.get<std::int32_t>();
      return mailbox_.publish(holder, update, reader.rest());
    }
    case Kind::kPart: {
      const auto collective = reader.get<std::uint32_t>();
      const auto member = reader.get<std::size_t>();
      const std::span<const std::byte> part = reader.rest();
      return mailbox_.put_part(collective, member, {part.begin(), part.end()});
    }
    case Kind::kPassed: {
      const auto device = reader.get<DeviceId>();
      return mailbox_.passed(device, reader.get<InstrIndex>());
    }
    case Kind::kPosted: {
      const auto transfer = reader.get<std::uint32_t>();
      return paced_->posted(transfer, reader.get<Ticks>());
    }
    case Kind::kLoss: {
      const auto noted = reader.get<NotedLoss>();
      return losses_.add(noted.microbatch, noted.slice, noted.of, noted.loss);
    }
  }
}

}  // namespace plumb
