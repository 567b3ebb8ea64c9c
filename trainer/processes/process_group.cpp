#include "trainer/processes/process_group.hpp"

#include <utility>

#include "trainer/ground/run_aborted.hpp"
#include "trainer/ground/run_clock.hpp"
#include "trainer/transport/packet.hpp"

namespace plumb {
namespace {

/// Questions to the first process's clock: the quickest answers count.
constexpr std::size_t kClockQuestions = 8;

}  // namespace

ProcessGroup::ProcessGroup(std::unique_ptr<Processes> processes, std::chrono::nanoseconds patience)
    : ProcessGroup(std::move(processes), RunClock::steady_ns, patience) {}

ProcessGroup::ProcessGroup(std::unique_ptr<Processes> processes, Clock clock, std::chrono::nanoseconds patience)
    : processes_(std::move(processes)),
      clock_(std::move(clock)),
      rank_(processes_->rank()),
      size_(processes_->size()),
      before_(patience, RunClock::steady_ns()) {
  receiver_ = std::thread([this] { receive_all(); });
}

ProcessGroup::~ProcessGroup() {
  if (size_ > 1) post((rank_ + 1) % size_, Kind::kEnd, 0, {});
  post(rank_, Kind::kQuit, 0, {});
  receiver_.join();
}

void ProcessGroup::post(std::size_t to, Kind kind, std::uint64_t round, std::span<const std::byte> rest) {
  processes_->send(to, PacketWriter().put(kind).put(round).put_bytes(rest).take());
}

void ProcessGroup::send(std::size_t to, std::span<const std::byte> data) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  lock.unlock();
  post(to, Kind::kData, round, data);
}

void ProcessGroup::open(Sink& sink) {
  const std::scoped_lock lock(mutex_);
  sink_ = &sink;
  if (failure_) sink.stop();
  const auto early = held_.extract(round_);
  if (early.empty()) return;
  for (const Bytes& data : early.mapped()) sink.deliver(data);
}

void ProcessGroup::close() {
  const std::scoped_lock lock(mutex_);
  sink_ = nullptr;
}

template <class Ready>
void ProcessGroup::wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
  changed_.wait(lock, [&] { return failure_ || ready(); });
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<ProcessGroup::Bytes> ProcessGroup::exchange(std::vector<Bytes> parcels) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  lock.unlock();
  for (std::size_t to = 0; to < size_; ++to) {
    if (to != rank_) post(to, Kind::kParcel, round, parcels[to]);
  }
  lock.lock();
  auto& arrived = parcels_[round];
  arrived[rank_] = std::move(parcels[rank_]);
  wait(lock, [&] { return arrived.size() == size_; });
  std::vector<Bytes> received;
  for (auto& [from, bytes] : arrived) received.push_back(std::move(bytes));
  parcels_.erase(round);
  ++round_;
  sink_ = nullptr;
  return received;
}

std::vector<ProcessGroup::Bytes> ProcessGroup::gather(Bytes own) {
  std::vector<Bytes> parcels(size_);
  parcels.front() = std::move(own);
  return exchange(std::move(parcels));
}

void ProcessGroup::agree(const std::function<std::string()>& prepare) {
  bool failed = false;
  std::string text;
  try {
    text = prepare();
  } catch (const Error& error) {
    failed = true;
    text = error.what();
  }
  const auto all = exchange(std::vector<Bytes>(size_, PacketWriter().put(failed).put_text(text).take()));
  std::string first_text;
  for (std::size_t from = 0; from < size_; ++from) {
    PacketReader reader(all[from]);
    const bool failed_there = reader.get<bool>();
    std::string text_there = reader.get_text();
    if (from == 0) first_text = text_there;
    if (!failed_there && text_there == first_text) continue;
    if (!is_first()) throw RunAborted();
    if (!failed_there) text_there = "is about to do '" + text_there + "'; expected '" + first_text + "', as process 0";
    throw AgreedError(from == 0 ? text_there : "process " + std::to_string(from) + ": " + text_there);
  }
}

void ProcessGroup::announce(std::int64_t number) {
  for (std::size_t to = 1; to < size_; ++to) post(to, Kind::kAnnouncement, 0, std::as_bytes(std::span(&number, 1)));
}

std::int64_t ProcessGroup::await_announcement() {
  std::unique_lock lock(mutex_);
  wait(lock, [&] { return !announcements_.empty(); });
  const std::int64_t number = announcements_.front();
  announcements_.pop_front();
  return number;
}

std::int64_t ProcessGroup::offset_to_first() {
  if (is_first()) return 0;
  std::unique_lock lock(mutex_);
  samples_.clear();
  for (std::size_t asked = 0; asked < kClockQuestions; ++asked) {
    lock.unlock();
    const std::int64_t now = clock_();
    post(0, Kind::kQuestion, 0, std::as_bytes(std::span(&now, 1)));
    lock.lock();
    wait(lock, [&] { return samples_.size() > asked; });
  }
  return clock_offset(samples_);
}

void ProcessGroup::await_end(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return failure_ != nullptr; });
  if (failure_) std::rethrow_exception(failure_);
}

void ProcessGroup::receive_all() {
  try {
    for (;;) {
      std::optional<Packet> packet = processes_->receive(PeerWatch::kBeat / 4);
      if (size_ > 1) watch(packet);
      if (!packet) continue;
      if (PacketReader(packet->bytes).get<Kind>() == Kind::kQuit) return;
      take(*std::move(packet));
    }
  } catch (const std::exception&) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::current_exception();
    if (sink_ != nullptr) sink_->stop();
    changed_.notify_all();
  }
}

void ProcessGroup::watch(const std::optional<Packet>& packet) {
  const std::size_t before = (rank_ + size_ - 1) % size_;
  const std::int64_t now = RunClock::steady_ns();
  if (before_.beat_is_due(now)) post((rank_ + 1) % size_, Kind::kAlive, 0, {});
  if (packet && packet->from == before) {
    before_.heard();
    before_ended_ |= PacketReader(packet->bytes).get<Kind>() == Kind::kEnd;
  }
  if (!before_.is_lost(now) || before_ended_) return;
  const std::string text =
      "nothing was heard of process " + std::to_string(before) + " for " +
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(before_.patience()).count()) +
      " s; its host or the network to it is down, or it was stopped";
  // Processes that can still be reached end now, too, whatever becomes of the launcher's orders to them.
  for (std::size_t to = 0; to < size_; ++to) {
    if (to != rank_ && to != before) post(to, Kind::kLost, 0, PacketWriter().put_text(text).take());
  }
  throw Error(text);
}

void ProcessGroup::take(Packet packet) {
  PacketReader reader(packet.bytes);
  const auto kind = reader.get<Kind>();
  if (kind == Kind::kAlive || kind == Kind::kEnd) return;
  const auto round = reader.get<std::uint64_t>();
  if (kind == Kind::kLost) throw Error("process " + std::to_string(packet.from) + " says: " + reader.get_text());
  if (kind == Kind::kQuestion) {
    const PacketWriter answer = PacketWriter().put(reader.get<std::int64_t>()).put(clock_());
    return post(packet.from, Kind::kAnswer, 0, PacketWriter(answer).take());
  }
  const std::scoped_lock lock(mutex_);
  if (kind == Kind::kAnswer) {
    const auto asked = reader.get<std::int64_t>();
    samples_.push_back({asked, reader.get<std::int64_t>(), clock_()});
  } else if (kind == Kind::kAnnouncement) {
    announcements_.push_back(reader.get<std::int64_t>());
  } else if (kind == Kind::kParcel) {
    parcels_[round][packet.from].assign(reader.rest().begin(), reader.rest().end());
  } else if (sink_ != nullptr && round == round_) {
    return sink_->deliver(reader.rest());
  } else {
    held_[round].emplace_back(reader.rest().begin(), reader.rest().end());
  }
  changed_.notify_all();
}

}  // namespace plumb
