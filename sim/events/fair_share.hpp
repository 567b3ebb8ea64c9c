#pragma once

#include <cstdint>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/program/index_lists.hpp"
#include "schedules/program/program.hpp"
#include "sim/events/progress.hpp"

namespace plumb {

/// Messages that are being sent over links which several pairs of devices share (`Route::shared`), and how fast.
///
/// ### Rule
/// The bytes/s of every link are divided by progressive filling, which is max-min fair: the link with the smallest
/// share (capacity not yet given away / messages not yet served, rounded down to whole bytes/s, at least 1; ties to the
/// smaller index) gives that share to each of its messages, which then use as much of their other links; and so on. A
/// message never gets more than its own route's bytes/s; one whose route is slower than every share is served first.
/// Rates change only when a message starts or ends. Between changes a message of rate r moves exactly r bytes per
/// second, counted in integers of bytes x ticks per second; it is done at the tick nearest to the end of its bytes
/// (halves up). A message that is always alone therefore takes exactly its `sending_time`.
class FairShare {
 public:
  /// A message whose rate changed, and when it will be done at that rate.
  struct Change {
    std::uint32_t channel = 0;
    Ticks done = 0;
  };

  explicit FairShare(const Program& program);

  /// Whether the channel's messages are sent over shared links.
  bool serves(std::uint32_t channel) const { return !links_.of(channel).empty(); }

  /// The channel starts to send, or has sent, its one message. Rates are those of before until `update_rates`.
  void start(std::uint32_t channel, std::int64_t bytes, Ticks now);
  void finish(std::uint32_t channel);

  /// Divides the links anew after all starts and ends of this moment. Valid until the next call.
  const std::vector<Change>& update_rates(Ticks now);

  bool is_up_to_date() const { return touched_.empty(); }

 private:
  struct Message {
    WorkProgress sent{};   ///< in bytes x ticks per second, at bytes/s
    std::int64_t own = 0;  ///< bytes/s of the channel's route; 0: not limited
    std::int64_t next_rate = 0;
    std::uint32_t seen = 0;  ///< number of the last round that reached it
    bool served = false;     ///< in this round
  };

  struct Link {
    std::int64_t capacity = 0;  ///< bytes/s
    std::int64_t left = 0;      ///< not yet given away in this round
    std::uint32_t waiting = 0;  ///< messages not yet served in this round
    std::uint32_t seen = 0;
    std::vector<std::uint32_t> messages;  ///< channels that are sending
  };

  void collect();
  void add_link(std::uint32_t link);
  void divide();
  bool serve_slow_route(std::int64_t share);
  void serve(std::uint32_t channel, std::int64_t rate);

  IndexLists links_;               ///< shared links with a limit, by channel
  std::vector<Message> messages_;  ///< by channel
  std::vector<Link> link_;
  WorkProgress::Wide per_byte_ = 0;        ///< ticks per second
  std::vector<std::uint32_t> touched_;     ///< channels that started or ended since the last round
  std::vector<std::uint32_t> some_links_;  ///< of this round, reached from what was touched
  std::vector<std::uint32_t> some_messages_;
  std::vector<Change> changes_;
  std::uint32_t round_ = 0;
};

}  // namespace plumb
