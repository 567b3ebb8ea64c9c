#include "sim/events/fair_share.hpp"

#include <algorithm>
#include <limits>

#include "models/ground/units.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

}  // namespace

FairShare::FairShare(const Program& program)
    : per_byte_(static_cast<WorkProgress::Wide>(kTicksPerSecond) *
                static_cast<WorkProgress::Wide>(program.base.ticks_per_ns)) {
  for (const SharedLink& shared : program.shared_links)
    link_.emplace_back().capacity = whole_bytes_per_s(shared.bytes_per_s);
  links_.begin.push_back(0);
  for (const Channel& channel : program.channels) {
    for (const std::int32_t link : channel.route.shared) {
      const auto at = static_cast<std::uint32_t>(link);
      const auto first = links_.items.begin() + links_.begin.back();
      if (link_[at].capacity == 0 || std::find(first, links_.items.end(), at) != links_.items.end()) continue;
      links_.items.push_back(at);
    }
    links_.begin.push_back(static_cast<std::uint32_t>(links_.items.size()));
    messages_.push_back({.own = whole_bytes_per_s(channel.route.bytes_per_s)});
  }
}

void FairShare::start(std::uint32_t channel, std::int64_t bytes, Ticks now) {
  Message& message = messages_[channel];
  message.sent = {static_cast<WorkProgress::Wide>(bytes) * per_byte_, now, 0};
  for (const std::uint32_t link : links_.of(channel)) link_[link].messages.push_back(channel);
  touched_.push_back(channel);
}

void FairShare::finish(std::uint32_t channel) {
  for (const std::uint32_t link : links_.of(channel)) {
    auto& messages = link_[link].messages;
    *std::ranges::find(messages, channel) = messages.back();
    messages.pop_back();
  }
  touched_.push_back(channel);
}

const std::vector<FairShare::Change>& FairShare::update_rates(Ticks now) {
  changes_.clear();
  collect();
  touched_.clear();
  divide();
  for (const std::uint32_t channel : some_messages_) {
    Message& message = messages_[channel];
    if (message.next_rate == message.sent.rate) continue;
    changes_.push_back({channel, message.sent.go_on(message.next_rate, now, "a message on a shared link")});
  }
  return changes_;
}

/// Finds the links and messages that what was touched can influence.
void FairShare::collect() {
  ++round_;
  some_links_.clear();
  some_messages_.clear();
  for (const std::uint32_t channel : touched_) {
    for (const std::uint32_t link : links_.of(channel)) add_link(link);
  }
  for (std::size_t i = 0; i < some_links_.size(); ++i) {
    for (const std::uint32_t channel : link_[some_links_[i]].messages) {
      Message& message = messages_[channel];
      if (message.seen == round_) continue;
      message.seen = round_;
      message.served = false;
      some_messages_.push_back(channel);
      for (const std::uint32_t link : links_.of(channel)) add_link(link);
    }
  }
}

void FairShare::add_link(std::uint32_t at) {
  Link& link = link_[at];
  if (link.seen == round_) return;
  link.seen = round_;
  link.left = link.capacity;
  link.waiting = static_cast<std::uint32_t>(link.messages.size());
  some_links_.push_back(at);
}

/// Progressive filling over the collected links.
void FairShare::divide() {
  for (;;) {
    std::int64_t share = kUnlimited;
    std::uint32_t narrowest = 0;
    for (const std::uint32_t at : some_links_) {
      const Link& link = link_[at];
      if (link.waiting == 0) continue;
      const std::int64_t given = std::max<std::int64_t>(1, link.left / link.waiting);
      if (given > share || (given == share && at > narrowest)) continue;
      share = given;
      narrowest = at;
    }
    if (share == kUnlimited) return;
    if (serve_slow_route(share)) continue;
    for (const std::uint32_t channel : link_[narrowest].messages) {
      if (!messages_[channel].served) serve(channel, share);
    }
  }
}

/// Serves one message whose own route is slower than `share`, the slowest first; false when there is none.
bool FairShare::serve_slow_route(std::int64_t share) {
  std::uint32_t slowest = 0;
  std::int64_t rate = share;
  for (const std::uint32_t channel : some_messages_) {
    const Message& message = messages_[channel];
    if (message.served || message.own == 0 || message.own >= rate) continue;
    rate = message.own;
    slowest = channel;
  }
  if (rate == share) return false;
  serve(slowest, rate);
  return true;
}

void FairShare::serve(std::uint32_t channel, std::int64_t rate) {
  messages_[channel].served = true;
  messages_[channel].next_rate = rate;
  for (const std::uint32_t at : links_.of(channel)) {
    link_[at].left = std::max<std::int64_t>(0, link_[at].left - rate);
    --link_[at].waiting;
  }
}

}  // namespace plumb
