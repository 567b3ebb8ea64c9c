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

Mailbox::Mailbox(const Program& program, const RunClock& clock, Add add, bool may_wait, std::optional<DeviceId> only)
    : program_(program),
      clock_(clock),
      add_(std::move(add)),
      may_wait_(may_wait),
      only_(only),
      boxes_(static_cast<std::size_t>(program.num_devices)),
      collective_ends_(program.collectives.size(), -1) {}

/// Sleeps until `ready` or `stop`. With one thread, nothing can come any more: what is not there is a mistake.
template <class Ready>
void Mailbox::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, const Ready& ready) {
  if (!may_wait_ && !ready()) throw std::logic_error("awaited by the only thread, but never sent");
  changed.wait(lock, [&] { return stopped_ || ready(); });
  if (stopped_) throw RunAborted();
}

/// Lends the sender's blocks; they are copied only if the sender needs them before the receiver has come.
void Mailbox::send(std::uint32_t transfer, std::span<Block> message) {
  add(transfer, {.lent = message, .bytes = {}, .times = {.start = clock_.now()}});
}

void Mailbox::put(std::uint32_t transfer, std::vector<std::byte> message, Ticks start) {
  add(transfer, {.lent = {}, .bytes = std::move(message), .times = {.start = start}});
}

void Mailbox::add(std::uint32_t transfer, Letter letter) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  letter.times.done = letter.times.available = std::max(letter.times.start, clock_.now());
  box.letters.emplace(transfer, std::move(letter));
  box.arrived.notify_one();
}

/// Copies a message whose receiver has not come yet, so that the sender may free its blocks.
void Mailbox::await_sent(std::uint32_t transfer) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  const auto found = box.letters.find(transfer);
  if (found == box.letters.end() || found->second.lent.empty()) return;
  found->second.bytes = found->second.copy();
  found->second.lent = {};
}

TransferTimes Mailbox::await(std::uint32_t transfer) {
  Box& box = box_of(transfer);
  std::unique_lock lock(box.mutex);
  auto found = box.letters.find(transfer);
  if (found == box.letters.end()) {
    wait(lock, box.arrived, [&] { return (found = box.letters.find(transfer)) != box.letters.end(); });
    found->second.times.available = clock_.now();
  }
  return found->second.times;
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
  letter.times.done = letter.times.available = clock_.now();
  box.again.insert(transfer);
  box.arrived.notify_one();
}

void Mailbox::await_again(std::uint32_t transfer) {
  Box& box = box_of(transfer);
  std::unique_lock lock(box.mutex);
  wait(lock, box.arrived, [&] { return box.again.contains(transfer); });
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
  notes_[{holder, update}].assign(note.begin(), note.end());
  notes_.erase({holder, update - 3});
  noted_.notify_all();
}

std::vector<std::byte> Mailbox::published(std::uint32_t holder, std::int32_t update) {
  std::unique_lock lock(notes_mutex_);
  wait(lock, noted_, [&] { return notes_.contains({holder, update}); });
  return notes_.at({holder, update});
}

void Mailbox::join(std::uint32_t collective, std::size_t member, Pieces part) {
  put_part(collective, member, gathered(part));
}

/// Keeps the part until all are there, then adds them up in the order of the members: every run gives the same bits.
void Mailbox::put_part(std::uint32_t collective, std::size_t member, std::vector<std::byte> part) {
  const std::scoped_lock lock(reductions_mutex_);
  Reduction& reduction = reductions_[collective];
  const std::size_t members = program_.collectives[collective].members.size();
  reduction.parts.resize(members);
  reduction.parts[member] = std::move(part);
  if (++reduction.joined < members) return;
  reduction.sum = std::move(reduction.parts.front());
  for (std::size_t i = 1; i < members; ++i) add_(reduction.sum, reduction.parts[i]);
  reduction.parts.clear();
  collective_ends_[collective] = clock_.now();
  reduced_.notify_all();
}

void Mailbox::await_reduced(std::uint32_t collective) {
  std::unique_lock lock(reductions_mutex_);
  const std::size_t members = program_.collectives[collective].members.size();
  wait(lock, reduced_, [&] { return reductions_[collective].joined == members; });
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
  return static_cast<std::size_t>(std::ranges::count_if(members, [&](InstrIndex member) {
    return is_here(program_.holders[program_.rows[program_.instrs[member].row].holder].device);
  }));
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

void Mailbox::await_instr(DeviceId device, InstrIndex instr) {
  Box& box = boxes_[index(device)];
  std::unique_lock lock(box.mutex);
  wait(lock, box.progressed, [&] { return instr < box.position; });
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
}

}  // namespace plumb
