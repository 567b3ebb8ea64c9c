#include "sim/events/link_servers.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/huge_pages.hpp"

namespace plumb {

LinkServers::LinkServers(const Program& program, TransferMode mode, EventQueue& queue, TimedRun& run, RunTimes& times)
    : program_(program),
      queue_(queue),
      first_slot_(static_cast<std::uint32_t>(program.num_devices)),
      run_(run),
      times_(times),
      queued_(program.transfers.size()),
      shares_(program),
      queues_(pair_queues_of(program, mode)),
      done_(queues_.before_send.size(), false),
      batches_(batches_of(program, mode)) {
  constexpr Ticks kUnknown = TimedRun::kUnknown;
  reserve_huge(times_.transfers, program.transfers.size());
  times_.transfers.assign(program.transfers.size(), {kUnknown, kUnknown, kUnknown});
  if (rules_of(mode).batches) times_.sent_at.assign(program.transfers.size(), kUnknown);
  std::vector<std::uint32_t> counts(program.channels.size(), 0);
  for (const Transfer& transfer : program.transfers) ++counts[transfer.channel];
  std::uint32_t begin = 0;
  for (std::uint32_t c = 0; c < program.channels.size(); ++c) {
    Server& server = servers_.emplace_back();
    server.next = server.offered = begin;
    begin += counts[c];
    server.posted = rules_of(mode).needs_post ? server.next : begin;
    server.latency = latency_time(program.channels[c].route, program.base);
    server.shared = shares_.serves(c);
    server.half_duplex = program.channels[c].route.half_duplex;
  }
  if (program.runtime.has_calls()) posted_at_.assign(program.transfers.size(), TimedRun::kUnknown);
  find_opposites();
  if (rules_of(mode).batches) group_batches();
}

void LinkServers::find_opposites() {
  for (std::uint32_t a = 0; a < servers_.size(); ++a) {
    const Channel& way = program_.channels[a];
    if ((!servers_[a].half_duplex && done_.empty()) || way.from == way.to) continue;
    for (std::uint32_t b = 0; b < servers_.size(); ++b) {
      if (way.from != program_.channels[b].to || way.to != program_.channels[b].from) continue;
      if (servers_[a].half_duplex && servers_[b].half_duplex) servers_[a].mate = b;
      if (!done_.empty()) servers_[a].opposite = b;
    }
  }
}

void LinkServers::group_batches() {
  for (const std::uint32_t size : batches_.size) batch_states_.push_back({.missing = size});
  const auto members = [&](const std::vector<std::uint32_t>& of) {
    return group_by(of.size(), batches_.size.size() + 1,
                    [&](std::size_t t) { return of[t] == Batches::kNone ? batches_.size.size() : std::size_t{of[t]}; });
  };
  batch_sends_ = members(batches_.of_send);
  batch_receives_ = members(batches_.of_receive);
}

void LinkServers::start(std::uint32_t channel, Ticks now) {
  Server& server = servers_[channel];
  if (!server.half_duplex) {
    begin(channel, now);
  } else if (server.may_start == TimedRun::kUnknown) {
    server.may_start = now;
    open_pairs_.push_back(channel);
  }
}

void LinkServers::begin(std::uint32_t channel, Ticks now) {
  Server& server = servers_[channel];
  const std::uint32_t t = queued_[server.next++];
  const std::int64_t bytes = program_.transfers[t].bytes;
  server.sending = t;
  server.may_start = TimedRun::kUnknown;
  times_.transfers[t].start = now;
  if (compute_ != nullptr) compute_->begin_message(channel);
  if (server.shared) {
    shares_.start(channel, bytes, now);
    return;
  }
  if (bytes != server.last_bytes) {
    server.last_bytes = bytes;
    server.last_sending = sending_time(bytes, program_.channels[channel].route, program_.base);
  }
  queue_.schedule(first_slot_ + channel, now + server.last_sending);
}

std::uint32_t LinkServers::finish(std::uint32_t channel, Ticks now) {
  Server& server = servers_[channel];
  const std::uint32_t t = std::exchange(server.sending, kNone);
  TransferTimes& times = times_.transfers[t];
  if (compute_ != nullptr) compute_->end_message(channel);
  if (!times_.sent_at.empty()) times.done = now;
  const std::uint32_t sends = batches_.of_send.empty() ? Batches::kNone : batches_.of_send[t];
  const std::uint32_t receives = batches_.of_receive.empty() ? Batches::kNone : batches_.of_receive[t];
  if (receives == Batches::kNone) run_.set(times.available, now + server.latency);
  if (sends == Batches::kNone) run_.set(times_.sent(t), now);
  if (receives != Batches::kNone) complete_in_batch(receives, now + server.latency);
  if (sends != Batches::kNone) complete_in_batch(sends, now);
  if (server.shared) shares_.finish(channel);
  if (!done_.empty()) done_[t] = true;
  try_start(channel, now);
  if (server.opposite != kNone) try_start(server.opposite, now);
  if (server.mate != kNone) open_pairs_.push_back(server.mate);
  return t;
}

void LinkServers::complete_in_batch(std::uint32_t batch, Ticks at) {
  BatchState& state = batch_states_[batch];
  state.end = std::max(state.end, at);
  if (--state.missing != 0) return;
  for (const std::uint32_t t : batch_sends_.of(batch)) run_.set(times_.sent_at[t], state.end);
  for (const std::uint32_t t : batch_receives_.of(batch)) run_.set(times_.transfers[t].available, state.end);
}

void LinkServers::update(Ticks now) {
  for (const std::uint32_t channel : open_pairs_) choose(channel, now);
  open_pairs_.clear();
  if (shares_.is_up_to_date()) return;
  for (const FairShare::Change& change : shares_.update_rates(now))
    queue_.schedule(first_slot_ + change.channel, change.done);
}

/// Of the two directions of a pair, the one whose head could start first goes first; ties to the smaller index.
void LinkServers::choose(std::uint32_t channel, Ticks now) {
  const std::uint32_t mate = servers_[channel].mate;
  const Server& one = servers_[channel];
  if (one.sending != kNone || (mate != kNone && servers_[mate].sending != kNone)) return;
  const bool one_may = one.may_start != TimedRun::kUnknown;
  const bool mate_may = mate != kNone && servers_[mate].may_start != TimedRun::kUnknown;
  if (!one_may && !mate_may) return;
  const auto rank = [&](std::uint32_t c) { return std::pair(servers_[c].may_start, queued_[servers_[c].next]); };
  begin(mate_may && (!one_may || rank(mate) < rank(channel)) ? mate : channel, now);
}

}  // namespace plumb
