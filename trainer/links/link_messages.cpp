#include "trainer/links/link_messages.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace plumb {
namespace {

/// Messages that may have been asked for before the device has come to them: a stream takes about a thousand launches
/// before the host must wait for it, and a host that waits there does nothing else.
constexpr std::size_t kMostAhead = 16;
constexpr std::int64_t kFirstWordBytes = 64;
constexpr std::chrono::milliseconds kBetweenLooksAtEnd{1};

std::vector<std::span<std::byte>> spans_of_parts(std::span<const Block> blocks) {
  std::vector<std::span<std::byte>> spans;
  for (const Block& block : blocks) spans.push_back(block.span());
  return spans;
}

/// Returns the channels of `program`, those that carry messages, and after them what gradients are reduced by.
std::vector<LinkEnds> links_of(const Program& program) {
  std::vector<LinkEnds> links;
  for (const Channel& channel : program.channels) links.push_back({channel.from, channel.to, false});
  for (std::uint32_t transfer = 0; transfer < program.transfers.size(); ++transfer) {
    if (!program.is_move(transfer)) links[program.transfers[transfer].channel].used = true;
  }
  for (const auto& [from, to] : reduction_pairs(program)) links.push_back({from, to, true});
  return links;
}

}  // namespace

LinkMessages::LinkMessages(const StreamSetting& setting, const nccl::Library& library, std::size_t rank,
                           NumberType type, std::vector<std::int64_t> part_bytes)
    : setting_(setting),
      links_(library, links_of(setting.program), rank),
      rank_(rank),
      reductions_({.setting = setting_,
                   .links = links_,
                   .streams = streams_,
                   .device = DeviceId{static_cast<std::int32_t>(rank)},
                   .type = type,
                   .bytes = std::move(part_bytes)}) {}

LinkMessages::~LinkMessages() {
  for (std::byte* words : first_words_) setting_.machine.free(own().device(), words);
}

/// Connects every link on its own stream and sends a first word through it, so that no message pays for the set-up. The
/// host looks after the group meanwhile: a process that fails ends the wait.
void LinkMessages::connect(ProcessGroup& group) {
  links_.exchange_names(group);
  StreamMachine& machine = setting_.machine;
  for (const std::uint32_t channel : links_.channels()) {
    const StreamId stream = machine.make_stream(own().device(), StreamKind::kLink);
    streams_[channel] = stream;
    machine.launch(stream, {.name = "connect", .accesses = {}, .run = [this, channel] { links_.connect(channel); }});
  }
  std::vector<EventId> sent;
  for (const auto& [channel, stream] : streams_) {
    std::byte* words = first_words_.emplace_back(machine.allocate(own().device(), kFirstWordBytes));
    const std::span<std::byte> all(words, static_cast<std::size_t>(kFirstWordBytes));
    machine.fill(stream, all, std::byte{0});
    const bool sends = links_.sends(channel);
    void* place = machine.place(stream).stream;
    machine.launch(
        stream,
        {.name = "first word", .accesses = {{all, !sends}}, .run = [this, channel = channel, all, sends, place] {
           const std::array<std::span<std::byte>, 1> parts{all};
           sends ? links_.send(channel, parts, place) : links_.receive(channel, parts, place);
         }});
    sent.push_back(setting_.order.record(stream));
  }
  const auto is_done = [&](EventId event) { return setting_.order.is_done(event); };
  while (!std::ranges::all_of(sent, is_done)) {
    links_.check();
    group.await_end(kBetweenLooksAtEnd);
  }
  machine.synchronize();
}

/// Begins a part of the run. A message that was sent before it has come by the hosts; for one that is sent in it and
/// was posted earlier, the link is asked now.
void LinkMessages::begin_part(std::span<const InstrIndex> begin, std::span<const InstrIndex> end) {
  begin_.assign(begin.begin(), begin.end());
  end_.assign(end.begin(), end.end());
  reductions_.begin_part(begin, end);
  for (auto message = incoming_.begin(); message != incoming_.end();) {
    const bool by_host =
        !message->second.asked && at(message->first).issue < begin_[index(channel(message->first).from)];
    if (by_host) {
      message = incoming_.erase(message);
      continue;
    }
    receive_if_sent(message->first, message->second);
    ++message;
  }
}

/// Launches a send or a receive on the channel's stream behind all work of the device so far, between two marks.
EventId LinkMessages::move(std::uint32_t transfer, Spans parts, bool sends) {
  const std::uint32_t channel = at(transfer).channel;
  const StreamId on = streams_.at(channel);
  const EventId ready = own().done();
  asked_.push_back(ready);
  setting_.order.wait(on, std::array{ready});
  Travel& travel = travels_.emplace_back(Travel{transfer, setting_.marks.mark(on)});
  std::vector<Access> accesses;
  for (const std::span<std::byte> part : parts) {
    if (!part.empty()) accesses.push_back({part, !sends});
  }
  void* place = setting_.machine.place(on).stream;
  setting_.machine.launch(on, {.name = sends ? "send" : "receive",
                               .accesses = std::move(accesses),
                               .run = [this, channel, parts = std::move(parts), sends, place] {
                                 sends ? links_.send(channel, parts, place) : links_.receive(channel, parts, place);
                               }});
  travel.end = setting_.marks.mark(on);
  return setting_.order.record(on);
}

/// Sends by the link if the receiver posts within this part; otherwise the hosts keep the message over the cut.
bool LinkMessages::send(std::uint32_t transfer, std::span<const Block> message) {
  if (at(transfer).post >= end_[index(channel(transfer).to)]) {
    travels_.push_back({transfer});
    return false;
  }
  left_[transfer] = move(transfer, spans_of_parts(message), true);
  return true;
}

bool LinkMessages::await_sent(std::uint32_t transfer) {
  const auto left = left_.extract(transfer);
  if (left.empty()) return false;
  own().need(left.mapped());
  return true;
}

void LinkMessages::receive_if_sent(std::uint32_t transfer, Incoming& incoming) {
  if (incoming.asked || at(transfer).issue >= end_[index(channel(transfer).from)]) return;
  incoming.arrived = move(transfer, incoming.slots, false);
  incoming.asked = true;
}

void LinkMessages::post(std::uint32_t transfer, std::span<const Block> slots) {
  posted_[at(transfer).channel] = transfer;
  const bool in_part = !begin_.empty();
  if (in_part && at(transfer).issue < begin_[index(channel(transfer).from)]) return;  // it has come by the hosts
  Incoming& incoming = incoming_[transfer];
  incoming.slots = spans_of_parts(slots);
  incoming.replaced = replaced_.erase(transfer) > 0;
  if (in_part) receive_if_sent(transfer, incoming);
}

bool LinkMessages::await(std::uint32_t transfer, TransferTimes& times) {
  const auto message = incoming_.find(transfer);
  if (message == incoming_.end()) return false;
  own().need(message->second.arrived);
  times = message->second.times;
  return !message->second.replaced;
}

bool LinkMessages::take(std::uint32_t transfer) {
  const auto message = incoming_.extract(transfer);
  return !message.empty() && !message.mapped().replaced;
}

/// Notes that the message comes from the hosts instead, whether it was posted already or not.
void LinkMessages::replace(std::uint32_t transfer) {
  const auto message = incoming_.find(transfer);
  if (message != incoming_.end()) {
    message->second.replaced = true;
    return;
  }
  const auto posted = posted_.find(at(transfer).channel);
  const bool taken = posted != posted_.end() && transfer <= posted->second;
  if (!taken) replaced_.insert(transfer);
}

bool LinkMessages::is_far_ahead() {
  if (asked_.size() <= kMostAhead) return false;
  while (!asked_.empty() && setting_.order.is_done(asked_.front())) asked_.pop_front();
  return asked_.size() > kMostAhead;
}

bool LinkMessages::is_idle() {
  const auto is_over = [this](MarkId end) { return end == TimeMarks::kNone || setting_.marks.is_done(end); };
  while (arrived_ < travels_.size() && is_over(travels_[arrived_].end)) ++arrived_;
  return arrived_ == travels_.size() && reductions_.is_idle();
}

void LinkMessages::finish_part(const RunClock& clock, RunTimes& times) {
  for (const Travel& travel : travels_) {
    const auto moment = [&](MarkId mark) { return setting_.marks.time_ns(mark) - clock.origin_ns(); };
    TransferTimes& measured = times.transfers[travel.transfer];
    measured = {};
    if (travel.begin == TimeMarks::kNone) continue;
    measured = {moment(travel.begin), moment(travel.end), moment(travel.end)};
    const auto message = incoming_.find(travel.transfer);
    if (message != incoming_.end()) message->second.times = measured;
  }
  travels_.clear();
  arrived_ = 0;
  left_.clear();
  asked_.clear();
  for (auto& [transfer, message] : incoming_) message.arrived = StreamOrder::kAlways;
  begin_.clear();
  end_.clear();
}

void LinkMessages::forget() {
  reductions_.forget();
  incoming_.clear();
  posted_.clear();
  replaced_.clear();
}

std::map<std::uint32_t, std::vector<std::byte>> LinkMessages::under_way() {
  std::map<std::uint32_t, std::vector<std::byte>> bytes;
  for (const auto& [transfer, message] : incoming_) {
    if (!message.asked || message.replaced) continue;
    for (const std::span<std::byte> part : message.slots) {
      std::vector<std::byte> scratch;
      const std::span<const std::byte> seen = own().memory().view(part, scratch);
      bytes[transfer].insert(bytes[transfer].end(), seen.begin(), seen.end());
    }
  }
  return bytes;
}

}  // namespace plumb
