#include "trainer/links/nccl_links.hpp"

#include <utility>

#include "trainer/transport/packet.hpp"

namespace plumb {
namespace {

/// Most blocks of threads: a message needs few, and what it takes is missing elsewhere.
constexpr int kMostBlocks = 2;
constexpr int kSender = 0;
constexpr int kReceiver = 1;

}  // namespace

NcclLinks::NcclLinks(const nccl::Library& library, std::vector<LinkEnds> ends, std::size_t rank)
    : library_(library), ends_(std::move(ends)), rank_(rank) {
  for (std::uint32_t channel = 0; channel < ends_.size(); ++channel) {
    const LinkEnds& link = ends_[channel];
    if (!link.used || (index(link.from) != rank && index(link.to) != rank)) continue;
    channels_.push_back(channel);
    links_[channel];
  }
}

NcclLinks::~NcclLinks() {
  if (aborted_) return;
  for (auto& [channel, link] : links_) {
    if (link.communicator != nullptr) library_.CommDestroy(link.communicator);
  }
}

bool NcclLinks::sends(std::uint32_t channel) const { return index(ends_[channel].from) == rank_; }

void NcclLinks::exchange_names(ProcessGroup& group) {
  std::vector<PacketWriter> parcels(group.size());
  for (const std::uint32_t channel : channels_) {
    if (!sends(channel)) continue;
    demand(library_.GetUniqueId(&links_[channel].name), channel, "no name");
    parcels[index(ends_[channel].to)].put(channel).put(links_[channel].name);
  }
  std::vector<ProcessGroup::Bytes> bytes;
  for (PacketWriter& parcel : parcels) bytes.push_back(parcel.take());
  for (const ProcessGroup::Bytes& received : group.exchange(std::move(bytes))) {
    for (PacketReader reader(received); !reader.rest().empty();) {
      const auto channel = reader.get<std::uint32_t>();
      links_.at(channel).name = reader.get<nccl::UniqueId>();
    }
  }
}

void NcclLinks::connect(std::uint32_t channel) {
  nccl::Config config;
  config.blocking = 1;
  config.cluster_size = 0;
  config.min_blocks = 1;
  config.max_blocks = kMostBlocks;
  nccl::Communicator made = nullptr;
  const int rank = sends(channel) ? kSender : kReceiver;
  demand(library_.CommInitRankConfig(&made, 2, links_.at(channel).name, rank, &config), channel, "no connection");
  const std::scoped_lock lock(mutex_);
  links_.at(channel).communicator = made;
}

nccl::Communicator NcclLinks::communicator(std::uint32_t channel) {
  const std::scoped_lock lock(mutex_);
  if (aborted_) throw PeerLost("NCCL: the links are closed");
  return links_.at(channel).communicator;
}

template <class Move>
void NcclLinks::move(std::uint32_t channel, Pieces parts, const Move& by) {
  const nccl::Communicator link = communicator(channel);
  demand(library_.GroupStart(), channel, "no message");
  for (const std::span<std::byte> part : parts) {
    if (!part.empty()) demand(by(part, link), channel, "no message");
  }
  demand(library_.GroupEnd(), channel, "no message");
}

void NcclLinks::send(std::uint32_t channel, Pieces parts, void* stream) {
  move(channel, parts, [&](std::span<std::byte> part, nccl::Communicator link) {
    return library_.Send(part.data(), part.size(), nccl::kBytes, kReceiver, link, stream);
  });
}

void NcclLinks::receive(std::uint32_t channel, Pieces parts, void* stream) {
  move(channel, parts, [&](std::span<std::byte> part, nccl::Communicator link) {
    return library_.Recv(part.data(), part.size(), nccl::kBytes, kSender, link, stream);
  });
}

void NcclLinks::demand(nccl::Result result, std::uint32_t channel, const char* what) {
  if (result != nccl::Result::kSuccess) fail(result, channel, what);
}

void NcclLinks::fail(nccl::Result result, std::uint32_t channel, const char* what) {
  const LinkEnds& link = ends_[channel];
  std::string text = "NCCL: " + std::string(what) + " from device " + std::to_string(index(link.from)) + " to device " +
                     std::to_string(index(link.to)) + ": " + library_.GetErrorString(result);
  const char* more = library_.GetLastError(nullptr);
  if (more != nullptr && *more != '\0') text += std::string(" (") + more + ")";
  const bool lost = result == nccl::Result::kRemoteError;
  const std::scoped_lock lock(mutex_);
  if (failure_.empty() || (lost_peer_ && !lost && !aborted_)) {
    failure_ = text;
    lost_peer_ = lost;
  }
  if (lost) throw PeerLost(text);
  throw Error(text);
}

void NcclLinks::check() {
  std::unique_lock lock(mutex_);
  if (!failure_.empty() && lost_peer_) throw PeerLost(failure_);
  if (!failure_.empty()) throw Error(failure_);
  if (aborted_) return;
  for (const auto& [channel, link] : links_) {
    if (link.communicator == nullptr) continue;
    nccl::Result error = nccl::Result::kSuccess;
    const nccl::Result asked = library_.CommGetAsyncError(link.communicator, &error);
    if (asked == nccl::Result::kSuccess && (error == nccl::Result::kSuccess || error == nccl::Result::kInProgress)) {
      continue;
    }
    lock.unlock();
    fail(asked == nccl::Result::kSuccess ? error : asked, channel, "no message");
  }
}

void NcclLinks::abort() {
  std::map<std::uint32_t, Link> links;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(aborted_, true)) return;
    links = links_;
  }
  for (auto& [channel, link] : links) {
    if (link.communicator != nullptr) library_.CommAbort(link.communicator);
  }
}

}  // namespace plumb
