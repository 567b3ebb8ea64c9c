#include "trainer/links/stream_messages.hpp"

#include <array>

namespace plumb {
namespace {

std::vector<std::span<std::byte>> spans_of(std::span<const Block> blocks) {
  std::vector<std::span<std::byte>> spans;
  for (const Block& block : blocks) spans.push_back(block.span());
  return spans;
}

}  // namespace

const Channel& StreamMessages::channel(std::uint32_t transfer) const {
  return setting_.program.channels[setting_.program.transfers[transfer].channel];
}

StreamId StreamMessages::stream(std::uint32_t transfer) const {
  const bool gradient = setting_.program.op_of(transfer) == Op::kSendB;
  return sender(transfer).stream(gradient ? StreamKind::kGradients : StreamKind::kActivations);
}

void StreamMessages::send(std::uint32_t transfer, std::span<const Block> parts) {
  Message& message = messages_[transfer];
  message.parts = spans_of(parts);
  message.produced = sender(transfer).done();
  message.sent = true;
  move_if_ready(transfer, message);
}

void StreamMessages::post(std::uint32_t transfer, std::span<const Block> slots) {
  Message& message = messages_[transfer];
  message.slots = spans_of(slots);
  message.room = receiver(transfer).done();
  message.posted = true;
  move_if_ready(transfer, message);
}

bool StreamMessages::is_posted(std::uint32_t transfer) const {
  const auto message = messages_.find(transfer);
  // Taken already, or of an earlier process.
  return message == messages_.end() || message->second.posted || !message->second.sent;
}

void StreamMessages::move_if_ready(std::uint32_t transfer, Message& message) {
  if (!message.sent || !message.posted || message.replaced) return;
  const StreamId on = stream(transfer);
  const std::array<EventId, 2> before{message.produced, message.room};
  setting_.order.wait(on, before);
  Travel& travel = travels_.emplace_back(Travel{transfer, setting_.marks.mark(on), {}});
  for (std::size_t i = 0; i < message.slots.size(); ++i) {
    if (message.slots[i].empty()) continue;
    setting_.machine.send(on, channel(transfer).to, message.slots[i].data(), message.parts[i]);
  }
  travel.end = setting_.marks.mark(on);
  message.done = setting_.order.record(on);
  message.moving = true;
  for (Staging& buffer : message.staging) pool_.give_back(std::move(buffer), {message.done});
  message.staging.clear();
}

void StreamMessages::await_sent(std::uint32_t transfer) {
  const auto found = messages_.find(transfer);
  // Taken: the receiver has waited for the copy, and so may the sender, who may not know of it.
  if (found == messages_.end()) {
    const auto done = taken_.extract(transfer);
    if (!done.empty()) sender(transfer).need(done.mapped());
    return;
  }
  Message& message = found->second;
  if (!message.sent || message.replaced) return;
  if (!message.moving && message.staging.empty()) put_aside(transfer, message);
  sender(transfer).need(message.moving ? message.done : message.produced);
}

/// Out of the send buffer, into buffers of its own.
void StreamMessages::put_aside(std::uint32_t transfer, Message& message) {
  const StreamId on = stream(transfer);
  std::vector<EventId> before{message.produced};
  for (std::span<std::byte>& part : message.parts) {
    Staging& buffer =
        message.staging.emplace_back(pool_.take(channel(transfer).from, static_cast<std::int64_t>(part.size())));
    before.insert(before.end(), buffer.free_after.begin(), buffer.free_after.end());
  }
  setting_.order.wait(on, before);
  for (std::size_t i = 0; i < message.parts.size(); ++i) {
    setting_.machine.copy(on, message.staging[i].data, message.parts[i]);
    message.parts[i] = message.staging[i].span();
  }
  message.produced = setting_.order.record(on);
}

bool StreamMessages::await(std::uint32_t transfer) {
  const auto found = messages_.find(transfer);
  if (found == messages_.end() || !found->second.sent) return false;
  receiver(transfer).need(found->second.done);
  return true;
}

bool StreamMessages::take(std::uint32_t transfer) {
  const auto node = messages_.extract(transfer);
  if (node.empty() || !node.mapped().sent || node.mapped().replaced) return false;
  if (node.mapped().done != StreamOrder::kAlways) taken_[transfer] = node.mapped().done;
  return true;
}

void StreamMessages::finish_part(const RunClock& clock, RunTimes& times) {
  for (const Travel& travel : travels_) {
    const auto at = [&](MarkId mark) { return setting_.marks.time_ns(mark) - clock.origin_ns(); };
    const Channel& link = channel(travel.transfer);
    const Ticks end = at(travel.end);
    const TransferTimes measured{at(travel.begin), end, end + setting_.machine.latency_ns(link.from, link.to)};
    times.transfers[travel.transfer] = measured;
    const auto message = messages_.find(travel.transfer);
    if (message != messages_.end()) message->second.times = measured;
  }
  travels_.clear();
  taken_.clear();
  for (auto& [transfer, message] : messages_) {
    message.produced = message.room = message.done = StreamOrder::kAlways;
  }
  pool_.restart();
}

std::map<std::uint32_t, std::vector<std::byte>> StreamMessages::under_way() {
  std::map<std::uint32_t, std::vector<std::byte>> bytes;
  for (const auto& [transfer, message] : messages_) {
    if (!message.sent || message.replaced) continue;
    DeviceMemory& memory = message.moving ? receiver(transfer).memory() : sender(transfer).memory();
    for (const std::span<std::byte> part : message.moving ? message.slots : message.parts) {
      std::vector<std::byte> scratch;
      const std::span<const std::byte> seen = memory.view(part, scratch);
      bytes[transfer].insert(bytes[transfer].end(), seen.begin(), seen.end());
    }
  }
  return bytes;
}

}  // namespace plumb
