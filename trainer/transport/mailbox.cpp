#include "trainer/transport/mailbox.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "schedules/program/waits.hpp"

namespace plumb {

std::vector<std::byte> gathered(std::span<const Block> blocks) {
  if (blocks.size() == 1) return {blocks.front().data(), blocks.front().data() + blocks.front().bytes()};
  std::vector<std::byte> bytes;
  for (const Block& block : blocks) bytes.insert(bytes.end(), block.data(), block.data() + block.bytes());
  return bytes;
}

std::vector<std::byte> gathered(Pieces pieces) {
  std::vector<std::byte> bytes;
  for (const std::span<std::byte> piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

Mailbox::Mailbox(const Program& program, RunClocks& clocks, Add add, bool may_wait, std::optional<DeviceId> only)
    : program_(program),
      clocks_(clocks),
      add_(std::move(add)),
      may_wait_(may_wait),
      only_(only),
      boxes_(static_cast<std::size_t>(program.num_devices)),
      collective_ends_(program.collectives.size(), -1) {}

/// Sleeps until `ready` or `stop`. With one thread, nothing can come any more: what is not there is a mistake.
template <class Ready>
void Mailbox::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, DeviceId waiting,
                   const Ready& ready) {
  const DeviceClock::Spell spell(clock_of(waiting), false);
  if (!may_wait_ && !ready()) throw std::logic_error("awaited by the only thread, but never sent");
  changed.wait(lock, [&] { return stopped_ || ready(); });
  if (stopped_) throw RunAborted();
}

/// Lends the sender's blocks; they are copied only if the sender needs them before the receiver has come.
void Mailbox::send(std::uint32_t transfer, std::span<Block> message) {
  const Ticks now = clock_of(channel(transfer).from).now();
  add(transfer, {.lent = message, .bytes = {}, .times = times_on_link(transfer, now)});
}

/// A message that really takes its time is there when it comes in.
TransferTimes Mailbox::times_on_link(std::uint32_t transfer, Ticks offered) {
  if (!clocks_.gives_times()) return {offered, offered, offered};
  const Route& route = channel(transfer).route;
  Ticks& free_at = link_free_at_[program_.transfers[transfer].channel];
  const Ticks start = std::max(offered, free_at);
  const Ticks done = start + sending_time(program_.transfers[transfer].bytes, route, program_.base);
  free_at = sent_at_[transfer] = done;
  return {start, done, done + latency_time(route, program_.base)};
}

void Mailbox::put(std::uint32_t transfer, std::vector<std::byte> message, Ticks start) {
  const Ticks arrived = std::max(start, clocks_.wall().now());
  add(transfer, {.lent = {}, .bytes = std::move(message), .times = {start, arrived, arrived}});
}

void Mailbox::add(std::uint32_t transfer, Letter letter) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  box.letters.emplace(transfer, std::move(letter));
  box.arrived.notify_one();
}

/// Copies a message whose receiver has not come yet, so that the sender may free its blocks.
void Mailbox::await_sent(std::uint32_t transfer) {
  if (clocks_.gives_times()) clock_of(channel(transfer).from).sleep_until(sent_at_[transfer]);
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  const auto found = box.letters.find(transfer);
  if (found == box.letters.end() || found->second.lent.empty()) return;
  found->second.bytes = found->second.copy();
  found->second.lent = {};
}

TransferTimes Mailbox::await(std::uint32_t transfer) {
  DeviceClock& clock = clock_of(receiver(transfer));
  const Ticks begun = clock.now();
  Box& box = box_of(transfer);
  std::unique_lock lock(box.mutex);
  auto found = box.letters.end();
  wait(lock, box.arrived, receiver(transfer),
       [&] { return (found = box.letters.find(transfer)) != box.letters.end(); });
  TransferTimes& times = found->second.times;
  if (times.available > begun) {
    clock.sleep_until(times.available);
    times.available = clock.now();
  }
  return times;
}

bool Mailbox::has(std::uint32_t transfer) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  if (stopped_) throw RunAborted();
  return box.letters.contains(transfer);
}

bool Mailbox::is_reduced(std::uint32_t collective) {
  const std::scoped_lock lock(reductions_mutex_);
  if (stopped_) throw RunAborted();
  const auto found = reductions_.find(collective);
  return found != reductions_.end() && found->second.joined == program_.collectives[collective].members.size();
}

/// Exchanges the receiver's blocks with lent ones where their storage allows it, and copies otherwise.
void Mailbox::take(std::uint32_t transfer, std::span<Block> slots) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  auto node = box.letters.extract(transfer);
  assert(!node.empty());
  const Letter& letter = node.mapped();
  std::span<const std::byte> rest = letter.bytes;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::span<std::byte> bytes = slots[i].span();
    if (bytes.empty() || (!letter.lent.empty() && slots[i].trade_storage(letter.lent[i]))) continue;
    const std::span<const std::byte> from = letter.lent.empty() ? rest.first(bytes.size()) : letter.lent[i].span();
    std::memcpy(bytes.data(), from.data(), bytes.size());
    if (letter.lent.empty()) rest = rest.subspan(bytes.size());
  }
  assert(rest.empty());
}

void Mailbox::send_again(std::uint32_t transfer, std::span<const std::byte> message) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  Letter& letter = box.letters[transfer];
  letter.lent = {};
  letter.bytes.assign(message.begin(), message.end());
  const TransferTimes again = times_on_link(transfer, clock_of(channel(transfer).from).now());
  letter.times.done = again.done;
  letter.times.available = again.available;
  box.again.insert(transfer);
  box.arrived.notify_one();
}

void Mailbox::await_again(std::uint32_t transfer) {
  Box& box = box_of(transfer);
  std::unique_lock lock(box.mutex);
  wait(lock, box.arrived, receiver(transfer), [&] { return box.again.contains(transfer); });
  const auto letter = box.letters.find(transfer);  // none where the first message was the new one already
  if (letter != box.letters.end()) clock_of(receiver(transfer)).sleep_until(letter->second.times.available);
  box.again.erase(transfer);
}

bool Mailbox::take_again(std::uint32_t transfer, std::span<std::byte> slot) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  const auto node = box.letters.extract(transfer);
  if (node.empty()) return false;
  std::ranges::copy(node.mapped().copy(), slot.begin());
  return true;
}

void Mailbox::publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) {
  const std::scoped_lock lock(notes_mutex_);
  const Ticks now = clock_of(program_.holders[holder].device).now();
  notes_[{holder, update}] = {{note.begin(), note.end()}, now};
  notes_.erase({holder, update - 3});
  noted_.notify_all();
}

std::vector<std::byte> Mailbox::published(std::uint32_t holder, std::int32_t update, DeviceId waiting) {
  std::unique_lock lock(notes_mutex_);
  wait(lock, noted_, waiting, [&] { return notes_.contains({holder, update}); });
  const Note& note = notes_.at({holder, update});
  clock_of(waiting).sleep_until(note.moment);
  return note.bytes;
}

void Mailbox::join(std::uint32_t collective, std::size_t member, Pieces part) {
  put_part(collective, member, gathered(part));
}

/// Keeps the part until all are there, then adds them up in the order of the members: every run gives the same bits.
/// Where clocks give times, the sum takes that of the collective, and not of the device whose thread adds it up.
void Mailbox::put_part(std::uint32_t collective, std::size_t member, std::vector<std::byte> part) {
  DeviceClock& clock = clock_of(device_at(program_.collectives[collective].members[member]));
  const DeviceClock::Spell spell(clock, false);
  const std::scoped_lock lock(reductions_mutex_);
  Reduction& reduction = reductions_[collective];
  reduction.last_joined = std::max(reduction.last_joined, clock.now());
  const std::size_t members = program_.collectives[collective].members.size();
  reduction.parts.resize(members);
  reduction.parts[member] = std::move(part);
  if (++reduction.joined < members) return;
  reduction.sum = std::move(reduction.parts.front());
  for (std::size_t i = 1; i < members; ++i) add_(reduction.sum, reduction.parts[i]);
  reduction.parts.clear();
  const Ticks given = clocks_.gives_times() ? program_.collectives[collective].duration : 0;
  collective_ends_[collective] = std::max(reduction.last_joined, clock.now()) + given;
  reduced_.notify_all();
}

void Mailbox::await_reduced(std::uint32_t collective, DeviceId waiting) {
  std::unique_lock lock(reductions_mutex_);
  const std::size_t members = program_.collectives[collective].members.size();
  wait(lock, reduced_, waiting, [&] { return reductions_[collective].joined == members; });
  clock_of(waiting).sleep_until(collective_ends_[collective]);
}

void Mailbox::collect(std::uint32_t collective, Pieces sum) {
  const std::scoped_lock lock(reductions_mutex_);
  Reduction& reduction = reductions_.at(collective);
  auto from = reduction.sum.begin();
  for (const std::span<std::byte> piece : sum) {
    std::copy_n(from, piece.size(), piece.begin());
    from += static_cast<std::ptrdiff_t>(piece.size());
  }
  assert(from == reduction.sum.end());
  if (++reduction.collected == collectors(collective)) reductions_.erase(collective);
}

/// Counts the members of this process.
std::size_t Mailbox::collectors(std::uint32_t collective) const {
  const auto& members = program_.collectives[collective].members;
  return static_cast<std::size_t>(
      std::ranges::count_if(members, [&](InstrIndex member) { return is_here(device_at(member)); }));
}

/// Counts the members of this process that have collected before `positions`: a wait for the collective is behind them.
std::size_t Mailbox::collected(std::uint32_t collective, std::span<const InstrIndex> positions) const {
  std::size_t count = 0;
  for (std::size_t device = 0; device < boxes_.size(); ++device) {
    if (!is_here(DeviceId{static_cast<std::int32_t>(device)})) continue;
    for (const Wait& wait : waits_of(program_, program_.lane_begin[device], positions[device])) {
      count += is_for_collective(wait) && collective_of(wait) == collective ? 1 : 0;
    }
  }
  return count;
}

void Mailbox::passed(DeviceId device, InstrIndex position) {
  Box& box = boxes_[index(device)];
  const std::scoped_lock lock(box.mutex);
  box.position = position;
  box.progressed.notify_all();
}

void Mailbox::await_instr(DeviceId device, InstrIndex instr, DeviceId waiting) {
  Box& box = boxes_[index(device)];
  std::unique_lock lock(box.mutex);
  wait(lock, box.progressed, waiting, [&] { return instr < box.position; });
}

/// Wakes all waits. Each lock is taken, so that no device is between its look at `stopped_` and its sleep.
void Mailbox::stop() {
  stopped_ = true;
  for (Box& box : boxes_) {
    const std::scoped_lock lock(box.mutex);
    box.arrived.notify_all();
    box.progressed.notify_all();
  }
  {
    const std::scoped_lock lock(reductions_mutex_);
    reduced_.notify_all();
  }
  const std::scoped_lock lock(notes_mutex_);
  noted_.notify_all();
}

Mailbox::Contents Mailbox::contents() const {
  Contents contents;
  for (const Box& box : boxes_) {
    for (const auto& [transfer, letter] : box.letters) contents.messages[transfer] = letter.copy();
  }
  contents.reductions = reductions_;
  return contents;
}

/// Puts messages and reductions of a cut back. A reduction that all members here had collected is dropped.
void Mailbox::restore(Contents contents, std::span<const InstrIndex> positions) {
  for (std::size_t device = 0; device < boxes_.size(); ++device) {
    boxes_[device].letters.clear();
    boxes_[device].again.clear();
    boxes_[device].position = positions[device];
  }
  for (auto& [transfer, bytes] : contents.messages) {
    if (!is_here(receiver(transfer))) continue;
    box_of(transfer).letters.emplace(transfer, Letter{.lent = {}, .bytes = std::move(bytes), .times = {}});
  }
  notes_.clear();
  reductions_.clear();
  for (auto& [collective, reduction] : contents.reductions) {
    reduction.collected = collected(collective, positions);
    if (reduction.collected < collectors(collective)) reductions_.emplace(collective, std::move(reduction));
  }
  collective_ends_.assign(program_.collectives.size(), -1);
  if (!clocks_.gives_times()) return;
  link_free_at_.assign(program_.channels.size(), 0);
  sent_at_.assign(program_.transfers.size(), 0);
}

}  // namespace plumb
