#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "sim/rules/run_times.hpp"
#include "trainer/device/device_queue.hpp"
#include "trainer/links/link_reductions.hpp"
#include "trainer/links/nccl_links.hpp"
#include "trainer/links/stream_messages.hpp"

namespace plumb {

/// Messages between devices of several processes, from GPU to GPU: each over the link of its channel, on a stream of
/// its own at both ends, after its producer on this side and after the post of its receive on the other (rendezvous).
/// Only streams wait.
///
/// When a part of the run ends, no message may be in flight. Both ends know where all devices stop, and so which
/// messages would be sent but not posted by then: those go through the hosts. A receive that is posted, but whose
/// message is sent only in the next part, is issued in that part.
class LinkMessages {
 public:
  /// `rank`: that of the process, whose device is the only one with a queue.
  /// `type`, and `part_bytes` of a part by collective: of what is reduced.
  LinkMessages(const StreamSetting& setting, const nccl::Library& library, std::size_t rank, NumberType type,
               std::vector<std::int64_t> part_bytes);
  LinkMessages(const LinkMessages&) = delete;
  LinkMessages& operator=(const LinkMessages&) = delete;
  ~LinkMessages();

  /// Connects the links (in all processes, once), and sends a first message over each, because NCCL makes the
  /// connection with it and blocks the host until the other host does so, too.
  void connect(ProcessGroup& group);

  /// The devices go from the instrs `begin` on to `end`.
  void begin_part(std::span<const InstrIndex> begin, std::span<const InstrIndex> end);
  /// The machine has been waited for.
  void finish_part(const RunClock& clock, RunTimes& times);
  void forget();

  /// Returns false when the message goes through the hosts.
  bool send(std::uint32_t transfer, std::span<const Block> message);
  bool await_sent(std::uint32_t transfer);
  void post(std::uint32_t transfer, std::span<const Block> slots);
  /// Returns false when the message comes, or was sent again, through the hosts; it may be written to the slots then.
  bool await(std::uint32_t transfer, TransferTimes& times);
  bool take(std::uint32_t transfer);
  /// The message was sent again through the hosts.
  void replace(std::uint32_t transfer);

  LinkReductions& reductions() { return reductions_; }

  /// Returns whether so many messages have been issued that the host must check their progress before it issues more.
  bool is_far_ahead();
  /// Returns whether everything that was issued has arrived.
  bool is_idle();
  /// Throws `Error` when a link has failed.
  void check() { links_.check(); }
  void abort() { links_.abort(); }
  /// Returns the bytes of what was received and not taken. After `finish_part`.
  std::map<std::uint32_t, std::vector<std::byte>> under_way();
  std::string description() const { return links_.description(); }

 private:
  using Spans = std::vector<std::span<std::byte>>;
  /// Posted, and not taken.
  struct Incoming {
    Spans slots;
    bool asked = false;  ///< whether the link has been asked; otherwise in a later part
    bool replaced = false;
    EventId arrived = StreamOrder::kAlways;
    TransferTimes times = {};
  };
  struct Travel {
    std::uint32_t transfer = 0;
    MarkId begin = TimeMarks::kNone;  ///< none: by the hosts
    MarkId end = TimeMarks::kNone;
  };

  const Transfer& at(std::uint32_t transfer) const { return setting_.program.transfers[transfer]; }
  const Channel& channel(std::uint32_t transfer) const { return setting_.program.channels[at(transfer).channel]; }
  DeviceQueue& own() const { return *setting_.queues[rank_]; }
  EventId move(std::uint32_t transfer, Spans parts, bool sends);
  void receive_if_sent(std::uint32_t transfer, Incoming& incoming);

  StreamSetting setting_;
  NcclLinks links_;
  std::size_t rank_;
  std::map<std::uint32_t, StreamId> streams_;  ///< by link
  LinkReductions reductions_;
  std::vector<std::byte*> first_words_;  ///< what `connect` has sent
  std::vector<InstrIndex> begin_;        ///< by device; of the part under way, otherwise empty
  std::vector<InstrIndex> end_;
  std::map<std::uint32_t, Incoming> incoming_;
  std::map<std::uint32_t, EventId> left_;          ///< by transfer: its send buffer is free after this
  std::map<std::uint32_t, std::uint32_t> posted_;  ///< by channel: the last one
  std::set<std::uint32_t> replaced_;               ///< before they were posted
  std::deque<EventId> asked_;                      ///< events of the device's own work before its messages
  std::vector<Travel> travels_;                    ///< messages of this part of the run
  std::size_t arrived_ = 0;                        ///< number of the first `travels_` that are over
};

}  // namespace plumb
