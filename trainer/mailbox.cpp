#include "trainer/mailbox.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace plumb {

Mailbox::Mailbox(const Program& program, const RunClock& clock, Add add, bool may_wait)
    : program_(program),
      clock_(clock),
      add_(std::move(add)),
      may_wait_(may_wait),
      boxes_(static_cast<std::size_t>(program.num_devices)),
      collective_ends_(program.collectives.size(), -1) {}

template <class Ready>
void Mailbox::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, const Ready& ready) {
  if (!may_wait_ && !ready()) throw std::logic_error("awaited by the only thread, but never sent");
  changed.wait(lock, [&] { return stopped_ || ready(); });
  if (stopped_) throw Stopped();
}

void Mailbox::send(std::uint32_t transfer, std::span<const std::byte> message) {
  Letter letter;
  letter.times.start = clock_.now_ns();
  letter.bytes.assign(message.begin(), message.end());
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  letter.times.done = letter.times.sent = letter.times.available = clock_.now_ns();
  box.letters.emplace(transfer, std::move(letter));
  box.arrived.notify_one();
}

TransferTimes Mailbox::await(std::uint32_t transfer) {
  Box& box = box_of(transfer);
  std::unique_lock lock(box.mutex);
  auto found = box.letters.find(transfer);
  if (found == box.letters.end()) {
    wait(lock, box.arrived, [&] { return (found = box.letters.find(transfer)) != box.letters.end(); });
    found->second.times.available = clock_.now_ns();
  }
  return found->second.times;
}

void Mailbox::take(std::uint32_t transfer, std::span<std::byte> slot) {
  Box& box = box_of(transfer);
  std::unique_lock lock(box.mutex);
  const auto letter = box.letters.extract(transfer);
  lock.unlock();
  assert(!letter.empty() && letter.mapped().bytes.size() == slot.size());
  if (!slot.empty()) std::memcpy(slot.data(), letter.mapped().bytes.data(), slot.size());
}

void Mailbox::send_again(std::uint32_t transfer, std::span<const std::byte> message) {
  Box& box = box_of(transfer);
  const std::scoped_lock lock(box.mutex);
  Letter& letter = box.letters[transfer];
  letter.bytes.assign(message.begin(), message.end());
  letter.times.done = letter.times.sent = letter.times.available = clock_.now_ns();
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
  {
    Box& box = box_of(transfer);
    const std::scoped_lock lock(box.mutex);
    if (!box.letters.contains(transfer)) return false;
  }
  take(transfer, slot);
  return true;
}

void Mailbox::publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) {
  const std::scoped_lock lock(notes_mutex_);
  notes_[{holder, update}].assign(note.begin(), note.end());
  notes_.erase({holder, update - 3});
}

std::vector<std::byte> Mailbox::published(std::uint32_t holder, std::int32_t update) {
  const std::scoped_lock lock(notes_mutex_);
  return notes_.at({holder, update});
}

void Mailbox::join(std::uint32_t collective, std::size_t member, std::span<const std::byte> part) {
  const std::scoped_lock lock(reductions_mutex_);
  Reduction& reduction = reductions_[collective];
  const std::size_t members = program_.collectives[collective].members.size();
  reduction.parts.resize(members);
  reduction.parts[member].assign(part.begin(), part.end());
  if (++reduction.joined < members) return;
  reduction.sum = std::move(reduction.parts.front());
  for (std::size_t i = 1; i < members; ++i) add_(reduction.sum, reduction.parts[i]);
  reduction.parts.clear();
  collective_ends_[collective] = clock_.now_ns();
  reduced_.notify_all();
}

void Mailbox::await_reduced(std::uint32_t collective) {
  std::unique_lock lock(reductions_mutex_);
  const std::size_t members = program_.collectives[collective].members.size();
  wait(lock, reduced_, [&] { return reductions_[collective].joined == members; });
}

void Mailbox::collect(std::uint32_t collective, std::span<std::byte> sum) {
  const std::scoped_lock lock(reductions_mutex_);
  Reduction& reduction = reductions_.at(collective);
  assert(reduction.sum.size() == sum.size());
  std::copy(reduction.sum.begin(), reduction.sum.end(), sum.begin());
  if (++reduction.collected == program_.collectives[collective].members.size()) reductions_.erase(collective);
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

void Mailbox::stop() {
  stopped_ = true;
  for (Box& box : boxes_) {
    const std::scoped_lock lock(box.mutex);
    box.arrived.notify_all();
    box.progressed.notify_all();
  }
  const std::scoped_lock lock(reductions_mutex_);
  reduced_.notify_all();
}

Mailbox::Contents Mailbox::contents() const {
  Contents contents;
  for (const Box& box : boxes_) {
    for (const auto& [transfer, letter] : box.letters) contents.messages[transfer] = letter.bytes;
  }
  contents.reductions = reductions_;
  return contents;
}

void Mailbox::restore(Contents contents, std::span<const InstrIndex> positions) {
  for (std::size_t device = 0; device < boxes_.size(); ++device) {
    boxes_[device].letters.clear();
    boxes_[device].again.clear();
    boxes_[device].position = positions[device];
  }
  for (auto& [transfer, bytes] : contents.messages) {
    box_of(transfer).letters.emplace(transfer, Letter{std::move(bytes), {}});
  }
  notes_.clear();
  reductions_ = std::move(contents.reductions);
  collective_ends_.assign(program_.collectives.size(), -1);
}

}  // namespace plumb
