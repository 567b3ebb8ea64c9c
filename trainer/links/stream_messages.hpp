#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/rules/transfer_semantics.hpp"
#include "trainer/device/device_queue.hpp"
#include "trainer/memory/arena.hpp"
#include "trainer/streams/staging_pool.hpp"

namespace plumb {

/// What the classes that share the streams of a run need.
struct StreamSetting {
  const Program& program;
  StreamMachine& machine;
  StreamOrder& order;
  TimeMarks& marks;
  std::span<const std::unique_ptr<DeviceQueue>> queues;  ///< by device
};

/// Messages between the devices of a stream machine. A message goes from the send buffer to the slots in one copy, on a
/// stream of the sender, when it is made and its receive is posted (rendezvous): the copy is issued as soon as both
/// buffers are known. A sender that cannot wait for the post copies the message to a staging buffer first.
class StreamMessages {
 public:
  explicit StreamMessages(const StreamSetting& setting) : setting_(setting), pool_(setting.machine) {}

  void send(std::uint32_t transfer, std::span<const Block> message);
  void post(std::uint32_t transfer, std::span<const Block> slots);
  /// Returns whether the receive is posted, so that the sender needs no staging buffer.
  bool is_posted(std::uint32_t transfer) const;
  void await_sent(std::uint32_t transfer);
  /// Returns false when the message has not been sent.
  bool await(std::uint32_t transfer);
  /// Gives the slots to the consumer. False when the message has to come from the mailbox.
  bool take(std::uint32_t transfer);
  /// The message comes from somewhere else: what has been sent does not count.
  void replace(std::uint32_t transfer) { messages_[transfer].replaced = true; }
  bool is_known(std::uint32_t transfer) const { return messages_.contains(transfer); }
  const TransferTimes& times(std::uint32_t transfer) const { return messages_.at(transfer).times; }

  /// The machine has been waited for.
  void finish_part(const RunClock& clock, RunTimes& times);
  void forget() {
    messages_.clear();
    taken_.clear();
  }
  /// Returns the bytes of what was sent and not taken. The machine has been waited for.
  std::map<std::uint32_t, std::vector<std::byte>> under_way();

 private:
  using Spans = std::vector<std::span<std::byte>>;
  struct Message {
    Spans parts;
    Spans slots;
    bool sent = false;
    bool posted = false;
    bool moving = false;  ///< its copy is asked for
    bool replaced = false;
    EventId produced = StreamOrder::kAlways;
    EventId room = StreamOrder::kAlways;
    EventId done = StreamOrder::kAlways;
    std::vector<Staging> staging;
    TransferTimes times;
  };
  struct Travel {
    std::uint32_t transfer = 0;
    MarkId begin{};
    MarkId end{};
  };

  const Channel& channel(std::uint32_t transfer) const;
  DeviceQueue& sender(std::uint32_t transfer) const { return *setting_.queues[index(channel(transfer).from)]; }
  DeviceQueue& receiver(std::uint32_t transfer) const { return *setting_.queues[index(channel(transfer).to)]; }
  StreamId stream(std::uint32_t transfer) const;
  void move_if_ready(std::uint32_t transfer, Message& message);
  void put_aside(std::uint32_t transfer, Message& message);

  StreamSetting setting_;
  StagingPool pool_;
  std::map<std::uint32_t, Message> messages_;  ///< by transfer; sent or posted, and not taken
  std::map<std::uint32_t, EventId> taken_;     ///< when the copy of a taken message was done; its sender may ask
  std::vector<Travel> travels_;                ///< messages of this part of the run
};

}  // namespace plumb
