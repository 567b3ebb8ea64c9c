#include "trainer/paced/paced_links.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

/// How long a device waits before it looks whether the run was aborted.
constexpr std::chrono::milliseconds kLookAfter{50};

std::chrono::steady_clock::time_point steady_time(std::int64_t ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

/// Returns, by channel, the first channel between the same two devices, in either direction.
std::vector<std::uint32_t> pairs_of(const std::vector<Channel>& channels) {
  std::vector<std::uint32_t> pairs;
  for (std::uint32_t c = 0; c < channels.size(); ++c) {
    const auto ends = std::minmax(channels[c].from, channels[c].to);
    const auto same = [&](const Channel& other) { return std::minmax(other.from, other.to) == ends; };
    pairs.push_back(static_cast<std::uint32_t>(std::ranges::find_if(channels, same) - channels.begin()));
  }
  return pairs;
}

}  // namespace

PacedLinks::PacedLinks(const Program& program, TransferMode mode, RunClock& clock, const Mailbox& mailbox)
    : program_(program),
      mode_(mode),
      clock_(clock),
      mailbox_(mailbox),
      pair_(pairs_of(program.channels)),
      woken_(static_cast<std::size_t>(program.num_devices)) {}

void PacedLinks::restart(std::span<const InstrIndex> positions) {
  const std::scoped_lock lock(mutex_);
  const auto devices = static_cast<std::size_t>(program_.num_devices);
  times_ = {};
  queue_.emplace(devices + program_.channels.size());
  run_.emplace(devices);
  links_.emplace(program_, mode_, *queue_, *run_, times_);
  notes_ = lane_notes(program_, mode_, links_->batches());
  free_since_.assign(program_.channels.size(), 0);
  cursors_.assign(devices, {});
  for (std::size_t d = 0; d < devices; ++d) {
    const InstrIndex first = program_.lane_begin[d];
    cursors_[d] = {first_note(notes_.offers, positions[d]), first_note(notes_.offers, positions[d]),
                   first_note(notes_.sends, positions[d]),
                   notes_.posts.empty() ? 0 : first_note(notes_.posts, positions[d])};
    for (std::uint32_t n = first_note(notes_.offers, first); n < cursors_[d].offer; ++n) {
      offer(notes_.offers[n].channel, notes_.offers[n].transfer, 0);
    }
    for (std::uint32_t n = notes_.posts.empty() ? 0 : first_note(notes_.posts, first); n < cursors_[d].post; ++n) {
      post(notes_.posts[n].channel & ~TransferNote::kBatchBit, 0);
    }
  }
  while (!queue_->empty()) advance(queue_->first().time);
  for (TransferTimes& times : times_.transfers) {
    if (times.available >= 0) times = {};
  }
  for (Ticks& sent : times_.sent_at) sent = std::min<Ticks>(sent, 0);
  std::ranges::fill(free_since_, 0);
}

/// Lets messages end that end until `now`, and wakes who waits for them. Everything of a moment happens together.
void PacedLinks::advance(Ticks now) {
  const auto lanes = static_cast<std::uint32_t>(program_.num_devices);
  Ticks last = now;
  for (;;) {
    const bool more = !queue_->empty() && queue_->first().time <= now;
    if (!links_->is_up_to_date() && (!more || queue_->first().time > last)) {
      links_->update(last);
      continue;
    }
    if (!more) break;
    const EventQueue::Event event = queue_->take();
    last = event.time;
    const std::uint32_t channel = event.slot - lanes;
    free_since_[pair_[channel]] = std::max(free_since_[pair_[channel]], last);
    links_->finish(channel, last);
  }
  while (run_->has_woken()) woken_[run_->take_woken()].notify_one();
}

void PacedLinks::offer(std::uint32_t channel, std::uint32_t transfer, Ticks moment) {
  links_->offer(channel, transfer, std::max(moment, free_since_[pair_[channel]]));
}

void PacedLinks::post(std::uint32_t channel, Ticks moment) {
  links_->post(channel, std::max(moment, free_since_[pair_[channel]]));
}

void PacedLinks::post(Lock& lock, Cursor& cursor, InstrIndex behind, bool batched) {
  const Ticks now = clock_.now();
  advance(now);
  std::uint32_t at = cursor.post;
  std::vector<std::uint32_t> posted;
  for (; notes_.posts[at].at < behind; ++at) {
    const std::uint32_t channel = notes_.posts[at].channel;
    const bool in_batch = (channel & TransferNote::kBatchBit) != 0;
    if (in_batch != batched) continue;
    post(channel & ~TransferNote::kBatchBit, now);
    if (tell_post_) posted.push_back(notes_.posts[at].transfer);
  }
  if (!batched) cursor.post = at;
  advance(now);
  rescheduled_.notify_one();
  if (posted.empty()) return;
  lock.unlock();
  for (const std::uint32_t transfer : posted) tell_post_(transfer, now);
  lock.lock();
}

void PacedLinks::await(Lock& lock, std::uint32_t lane, Ticks& moment) {
  if (run_->waits(lane, moment)) {
    while (!woken_[lane].wait_for(lock, kLookAfter, [&] { return TimedRun::is_known(moment); })) mailbox_.check();
  }
  const Ticks until = moment;
  lock.unlock();
  clock_.sleep_until(until);
  lock.lock();
}

void PacedLinks::reach(DeviceId device, InstrIndex at, InstrIndex behind) {
  const auto lane = static_cast<std::uint32_t>(device);
  const TransferRules rules = rules_of(mode_);
  Lock lock(mutex_);
  Cursor& cursor = cursors_[lane];
  for (std::uint32_t own = cursor.own; rules.blocks_lane && own != cursor.offer; ++own) {
    const std::uint32_t transfer = notes_.offers[own].transfer;
    if (!program_.is_move(transfer)) await(lock, lane, times_.transfers[transfer].available);
  }
  if (rules.batches) post(lock, cursor, behind, true);
  for (; notes_.sends[cursor.send].at < behind; ++cursor.send) {
    await(lock, lane, times_.sent(notes_.sends[cursor.send].transfer));
  }
  if (rules.needs_post) post(lock, cursor, behind, false);
  for (const Wait& wait : waits_of(program_, at, behind)) {
    const bool copy = is_for_transfer(wait) && program_.is_move(wait.via);
    if (copy) await(lock, lane, times_.transfers[wait.via].available);
  }
}

void PacedLinks::leave(DeviceId device, InstrIndex behind) {
  const std::scoped_lock lock(mutex_);
  Cursor& cursor = cursors_[index(device)];
  const Ticks now = clock_.now();
  advance(now);
  cursor.own = cursor.offer;
  for (; notes_.offers[cursor.offer].at < behind; ++cursor.offer) {
    offer(notes_.offers[cursor.offer].channel, notes_.offers[cursor.offer].transfer, now);
  }
  advance(now);
  rescheduled_.notify_one();
}

TransferTimes PacedLinks::await(std::uint32_t transfer) {
  Lock lock(mutex_);
  await(lock, static_cast<std::uint32_t>(receiver(transfer)), times_.transfers[transfer].available);
  return times_.transfers[transfer];
}

void PacedLinks::offered(std::uint32_t transfer, Ticks moment) {
  const std::scoped_lock lock(mutex_);
  advance(clock_.now());
  offer(program_.transfers[transfer].channel, transfer, moment);
  advance(clock_.now());
  rescheduled_.notify_one();
}

void PacedLinks::posted(std::uint32_t transfer, Ticks moment) {
  const std::scoped_lock lock(mutex_);
  advance(clock_.now());
  post(program_.transfers[transfer].channel, moment);
  advance(clock_.now());
  rescheduled_.notify_one();
}

void PacedLinks::end(RunTimes& times) {
  timer_ = std::jthread();
  const std::scoped_lock lock(mutex_);
  for (std::size_t t = program_.transfers.size() - program_.moves.size(); t < times_.transfers.size(); ++t) {
    if (TimedRun::is_known(times_.transfers[t].available)) times.transfers[t] = times_.transfers[t];
  }
}

/// Waiting devices need not know when the queue moves on.
void PacedLinks::keep_time(const std::stop_token& stop) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    advance(clock_.now());
    if (queue_->empty()) {
      rescheduled_.wait(lock, stop, [&] { return !queue_->empty(); });
      continue;
    }
    const Ticks first = queue_->first().time;
    const auto moved = [&] { return !queue_->empty() && queue_->first().time < first; };
    rescheduled_.wait_until(lock, stop, steady_time(clock_.steady_ns_at(first)), moved);
  }
}

}  // namespace plumb
