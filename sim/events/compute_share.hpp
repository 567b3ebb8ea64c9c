#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/cluster/contention.hpp"
#include "schedules/program/program.hpp"
#include "sim/events/event_queue.hpp"
#include "sim/events/progress.hpp"

namespace plumb {

/// The actions under way, and the rate at which each proceeds beside the others (models/cluster/contention.hpp has the
/// formula).
///
/// ### Rule
/// Shares are whole billionths, every product and quotient is rounded down, and a rate is at least 1. Rates change only
/// when something of the node begins or ends, or its clock moves; between changes an action of rate r does exactly r
/// billionths of a tick of its work per tick, and is over at the tick nearest to its end (halves up). What takes no
/// time slows nobody down. A clock with a period moves at its multiples, towards what the load of the moments before
/// allows: by `gain` of the difference, rounded towards 0 but at least by one billionth.
class ComputeShare {
 public:
  /// Number of queue slots that this needs: one per clock and one per collective; none where nothing is contended.
  static std::size_t slots(const Program& program);

  /// The events of actions are those of their lanes (slot = device), the others follow from `first_slot` on.
  ComputeShare(const Program& program, EventQueue& queue, std::uint32_t first_slot);

  /// `start`: the device begins an action of `row` that takes `duration` (above 0) alone. `finish`: that action has
  /// ended.
  void start(std::uint32_t device, std::uint32_t row, Ticks duration, Ticks now);
  void finish(std::uint32_t device);

  /// The channel's message begins to be sent, or has been sent.
  void begin_message(std::uint32_t channel) { message(channel, 1); }
  void end_message(std::uint32_t channel) { message(channel, -1); }

  /// All members have joined; the collective is over after its duration.
  void begin_collective(std::uint32_t collective, Ticks now);

  /// Handles an event of one of the own slots.
  void handle(std::uint32_t slot);

  /// Gives every action its new rate after everything that happens at this moment, and puts its end into the queue.
  void update_rates(Ticks now);

  bool is_up_to_date() const { return touched_.empty(); }

 private:
  static constexpr std::int64_t kWhole = 1'000'000'000;

  struct Lane {
    WorkProgress work;
    Load kind = Load::kF;
    bool running = false;
    std::int32_t messages = 0;
    std::int32_t collectives = 0;
  };

  struct Node {
    std::array<std::int32_t, kLoadCount> count{};
    bool touched = false;
    std::uint32_t seen = 0;  ///< number of the collective change that met it last
  };

  struct Clock {
    std::int64_t now = kWhole;
    std::int64_t target = kWhole;
    bool moves = false;  ///< its event is in the queue
  };

  struct Curve {
    LoadSet of = 0;
    LoadSet by = 0;
    std::vector<std::int64_t> gamma;
  };

  struct Point {
    std::int64_t load = 0;  ///< millionths
    std::int64_t clock = 0;
  };

  void read_clock(const ClockModel& model);
  void touch(std::uint32_t node);
  void message(std::uint32_t channel, std::int32_t change);
  void collective(std::uint32_t which, std::int32_t change);
  void update_clock(std::uint32_t clock, std::int64_t load, Ticks now);
  void update_clocks(std::uint32_t node, Ticks now);
  std::int64_t load_of(const Lane& lane) const;
  std::int64_t target(std::int64_t load) const;
  std::int64_t slowdown(const Node& node, std::size_t kind) const;
  std::int64_t rate(std::uint32_t device, std::int64_t slowdown) const;

  const Program& program_;
  EventQueue& queue_;
  std::uint32_t first_slot_;
  std::uint32_t per_node_ = 1;
  std::vector<Load> kinds_;  ///< by row
  std::vector<Lane> lanes_;
  std::vector<Node> nodes_;
  std::vector<Curve> curves_;
  std::int64_t message_share_ = 0;
  std::int64_t collective_share_ = 0;
  std::vector<Clock> clocks_;  ///< by node, or by device
  bool clock_per_device_ = false;
  std::array<std::int64_t, kLoadCount> weights_{};  ///< millionths
  std::vector<Point> points_;
  Ticks period_ = 0;
  std::int64_t gain_ = kWhole;
  std::vector<std::uint32_t> touched_;  ///< nodes
  std::uint32_t change_ = 0;
};

}  // namespace plumb
