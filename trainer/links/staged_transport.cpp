#include "trainer/links/staged_transport.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

namespace plumb {
namespace {

/// Time between two looks at what is pending.
constexpr std::chrono::microseconds kBetweenLooks{20};

}  // namespace

StagedTransport::~StagedTransport() {
  for (const std::span<std::byte> buffer : all_) setting_.machine.free_shared(buffer.data());
}

std::span<std::byte> StagedTransport::take_buffer(std::size_t bytes) {
  if (bytes == 0) return {};
  Buffers& same = free_[bytes];
  if (same.empty()) {
    return all_.emplace_back(setting_.machine.allocate_shared(static_cast<std::int64_t>(bytes)), bytes);
  }
  const std::span<std::byte> buffer = same.back();
  same.pop_back();
  return buffer;
}

void StagedTransport::give_back(const Buffers& buffers) {
  for (const std::span<std::byte> buffer : buffers) {
    if (!buffer.empty()) free_[buffer.size()].push_back(buffer);
  }
}

/// Copies to the host on a stream of its own, after all that is on the compute stream. Returns the end of the copies.
EventId StagedTransport::copy_out(StreamKind by, Pieces from, const Buffers& to) {
  const StreamId on = setting_.queue.stream(by);
  setting_.order.wait(on, std::array{setting_.queue.done()});
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!from[i].empty()) setting_.machine.copy(on, to[i].data(), from[i]);
  }
  return setting_.order.record(on);
}

/// Does what had to wait for an event that is done now, in the order of issue. Returns whether there was any.
bool StagedTransport::do_what_is_due() {
  bool any = false;
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (!setting_.order.is_done(at->after)) {
      ++at;
      continue;
    }
    at->then();
    at = pending_.erase(at);
    any = true;
  }
  return any;
}

void StagedTransport::check() {
  setting_.mailbox.check();
  if (setting_.links != nullptr) setting_.links->check();
}

/// Holds the issuing thread near its device. Links let nobody wait, so a thread far ahead would not do what is due.
void StagedTransport::stay_close() {
  if (setting_.links->is_far_ahead()) look_until([this] { return !setting_.links->is_far_ahead(); });
}

/// Serves what is due until `ready`. Returns early when nothing is pending and there are no links: nobody need look
/// then.
template <class Ready>
void StagedTransport::look_until(const Ready& ready) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point progressed = Clock::now();
  do_what_is_due();
  while ((!pending_.empty() || setting_.links != nullptr) && !ready()) {
    check();
    if (do_what_is_due()) {
      progressed = Clock::now();
      continue;
    }
    if (std::chrono::duration<double>(Clock::now() - progressed).count() > setting_.patience_s) setting_.give_up();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void StagedTransport::wait_for(EventId event) {
  look_until([&] { return setting_.order.is_done(event); });
  setting_.order.see(event);
}

void StagedTransport::flush() {
  look_until([this] { return pending_.empty(); });
}

void StagedTransport::finish_part() { left_.clear(); }

void StagedTransport::send(std::uint32_t transfer, std::span<Block> message) {
  if (setting_.links != nullptr && setting_.links->send(transfer, message)) return stay_close();
  Buffers parts;
  Buffers copies;
  for (const Block& part : message) {
    parts.push_back(part.span());
    copies.push_back(take_buffer(part.span().size()));
  }
  const bool gradient = setting_.program.op_of(transfer) == Op::kSendB;
  const EventId left = copy_out(gradient ? StreamKind::kGradients : StreamKind::kActivations, parts, copies);
  left_[transfer] = left;
  pending_.push_back({left, [this, transfer, copies] {
                        setting_.between.send(transfer, Pieces(copies));
                        give_back(copies);
                      }});
  do_what_is_due();
}

void StagedTransport::await_sent(std::uint32_t transfer) {
  if (setting_.links != nullptr && setting_.links->await_sent(transfer)) return;
  const auto left = left_.extract(transfer);
  if (!left.empty()) setting_.queue.need(left.mapped());
}

void StagedTransport::post(std::uint32_t transfer, std::span<const Block> slots) {
  if (setting_.links == nullptr) return;
  setting_.links->post(transfer, slots);
  stay_close();
}

TransferTimes StagedTransport::await(std::uint32_t transfer) {
  TransferTimes times;
  if (setting_.links != nullptr && setting_.links->await(transfer, times)) return times;
  look_until([&] { return setting_.mailbox.has(transfer); });
  return setting_.between.await(transfer);
}

void StagedTransport::take(std::uint32_t transfer, std::span<Block> slots) {
  if (setting_.links != nullptr && setting_.links->take(transfer)) return;
  std::vector<std::byte> message(static_cast<std::size_t>(setting_.program.transfers[transfer].bytes));
  setting_.mailbox.take_again(transfer, message);
  std::span<const std::byte> rest = message;
  Buffers copies;
  for (const Block& slot : slots) {
    const std::span<std::byte> copy = copies.emplace_back(take_buffer(slot.span().size()));
    std::ranges::copy(rest.first(copy.size()), copy.begin());
    rest = rest.subspan(copy.size());
    setting_.queue.memory().copy(slot.data(), copy);
  }
  pending_.push_back({setting_.queue.done(), [this, copies] { give_back(copies); }});
}

void StagedTransport::send_again(std::uint32_t transfer, std::span<const std::byte> message) {
  flush();  // the first message leaves before the second
  setting_.between.send_again(transfer, message);
}

void StagedTransport::await_again(std::uint32_t transfer) {
  flush();
  setting_.between.await_again(transfer);
  if (setting_.links != nullptr) setting_.links->replace(transfer);
}

bool StagedTransport::take_again(std::uint32_t transfer, std::span<std::byte> slot) {
  return setting_.between.take_again(transfer, slot);
}

void StagedTransport::publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) {
  setting_.between.publish(holder, update, note);
}

std::vector<std::byte> StagedTransport::published(std::uint32_t holder, std::int32_t update, DeviceId waiting) {
  flush();
  return setting_.between.published(holder, update, waiting);
}

void StagedTransport::join(std::uint32_t collective, std::size_t member, Pieces part) {
  if (is_sync(collective)) return setting_.between.join(collective, member, part);  // weights at the host
  if (setting_.links != nullptr && setting_.links->reductions().join(collective, member, part)) return stay_close();
  Buffers copies;
  for (const std::span<std::byte> piece : part) copies.push_back(take_buffer(piece.size()));
  const EventId given = copy_out(StreamKind::kGradients, part, copies);
  setting_.queue.need(given);  // backwards of the next update may come before this one's
  pending_.push_back({given, [this, collective, member, copies] {
                        setting_.between.join(collective, member, copies);
                        give_back(copies);
                      }});
  do_what_is_due();
}

void StagedTransport::await_reduced(std::uint32_t collective, DeviceId waiting) {
  if (setting_.links != nullptr && setting_.links->reductions().await(collective)) return;
  look_until([&] { return setting_.mailbox.is_reduced(collective); });
  setting_.between.await_reduced(collective, waiting);
}

void StagedTransport::collect(std::uint32_t collective, Pieces sum) {
  if (is_sync(collective)) return setting_.between.collect(collective, sum);
  if (setting_.links != nullptr && setting_.links->reductions().collect(collective, sum)) return;
  Buffers copies;
  for (const std::span<std::byte> piece : sum) copies.push_back(take_buffer(piece.size()));
  setting_.between.collect(collective, copies);
  for (std::size_t i = 0; i < sum.size(); ++i) setting_.queue.memory().copy(sum[i].data(), copies[i]);
  pending_.push_back({setting_.queue.done(), [this, copies] { give_back(copies); }});
}

void StagedTransport::passed(DeviceId device, InstrIndex position) {
  pending_.push_back({setting_.queue.done(), [this, device, position] { setting_.between.passed(device, position); }});
  do_what_is_due();
}

void StagedTransport::await_instr(DeviceId device, InstrIndex instr, DeviceId waiting) {
  flush();
  setting_.between.await_instr(device, instr, waiting);
}

}  // namespace plumb
