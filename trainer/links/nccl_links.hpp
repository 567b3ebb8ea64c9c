#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/program/program.hpp"
#include "trainer/links/nccl_library.hpp"
#include "trainer/processes/process_group.hpp"
#include "trainer/transport/transport.hpp"

namespace plumb {

/// The other end of a link has failed, or is gone. The process at that end reports the cause.
class PeerLost : public Error {
 public:
  using Error::Error;
};

/// The devices of a link.
struct LinkEnds {
  DeviceId from{};
  DeviceId to{};
  bool used = true;
};

/// The links between this process and others, each with a communicator of its own: messages carry no names, and match
/// in the order in which both ends issue them. Rank 0 sends, rank 1 receives. May be used from several threads, each
/// with its own channel, as a link is called here.
class NcclLinks {
 public:
  /// `library` must outlive this.
  NcclLinks(const nccl::Library& library, std::vector<LinkEnds> ends, std::size_t rank);
  NcclLinks(const NcclLinks&) = delete;
  NcclLinks& operator=(const NcclLinks&) = delete;
  ~NcclLinks();

  /// Returns the channels that begin or end here, ascending.
  const std::vector<std::uint32_t>& channels() const { return channels_; }
  bool sends(std::uint32_t channel) const;

  /// Exchanges names in all processes: senders make the ids of their links, and send them to their receivers.
  void exchange_names(ProcessGroup& group);
  /// Both ends of a link, those of all links in the same order (or at once). The GPU is the one that CUDA calls of this
  /// thread are for.
  void connect(std::uint32_t channel);

  /// Send and receive the parts of one message by `stream`, in its order. Throw `Error`.
  void send(std::uint32_t channel, Pieces parts, void* stream);
  void receive(std::uint32_t channel, Pieces parts, void* stream);

  /// Throws `Error` when a link has failed, perhaps long after the call that failed. It is `PeerLost` only when no link
  /// has failed at this end.
  void check();
  /// Aborts all messages in flight; links cannot be used any more.
  void abort();
  /// "NCCL 2.28.9".
  std::string description() const { return "NCCL " + library_.version; }

 private:
  struct Link {
    nccl::UniqueId name;
    nccl::Communicator communicator = nullptr;
  };
  template <class Move>
  void move(std::uint32_t channel, Pieces parts, const Move& by);
  void demand(nccl::Result result, std::uint32_t channel, const char* what);
  [[noreturn]] void fail(nccl::Result result, std::uint32_t channel, const char* what);
  nccl::Communicator communicator(std::uint32_t channel);

  const nccl::Library& library_;
  std::vector<LinkEnds> ends_;
  std::size_t rank_;
  std::vector<std::uint32_t> channels_;
  std::mutex mutex_;                     ///< guards what follows
  std::map<std::uint32_t, Link> links_;  ///< by channel
  std::string failure_;                  ///< the first one at this end, or else at another
  bool lost_peer_ = false;               ///< it is at another
  bool aborted_ = false;
};

}  // namespace plumb
