#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/gpu/probe_parts.hpp"
#include "tools/gpu/probe_questions.hpp"
#include "trainer/cuda/kernels/probes.hpp"

namespace plumb::cuda {
namespace {

using LinkAnswer = nlohmann::ordered_json;

constexpr std::int64_t kLinkBytes = std::int64_t{64} << 20;
constexpr std::int64_t kTrafficBytes = std::int64_t{256} << 20;
constexpr double kLinkRate = 50e9;  ///< bytes/s of the links of the fidelity runs

/// A link: a copy with both its ends, and a stream of the part for copies.
struct ProbedLink {
  explicit ProbedLink(const CutGpu& gpu)
      : from(kLinkBytes), to(kLinkBytes), stream(gpu.parts->make_stream(GreenPartition::kCopies, -1)), timer(stream) {}

  void send(int blocks, double bytes_per_s) const {
    kernels::LinkCopy copy;
    copy.to = to.data();
    copy.from = from.data();
    copy.bytes = kLinkBytes;
    copy.blocks = blocks;
    copy.bytes_per_s = bytes_per_s;
    kernels::link_copy(copy, stream);
  }

  DeviceArray from;
  DeviceArray to;
  cudaStream_t stream;
  StreamTimer timer;
};

/// Memory traffic on every part for computing: plain copies by many threads.
class Traffic {
 public:
  explicit Traffic(const CutGpu& gpu) : gpu_(gpu) {
    for (std::size_t i = 0; i < 2 * gpu.compute.size(); ++i)
      arrays_.push_back(std::make_unique<DeviceArray>(kTrafficBytes));
  }

  void start(int times) const {
    for (std::size_t i = 0; i < gpu_.compute.size(); ++i) {
      kernels::LinkCopy copy;
      copy.to = arrays_[2 * i]->data();
      copy.from = arrays_[2 * i + 1]->data();
      copy.bytes = kTrafficBytes;
      copy.blocks = 8 * gpu_.parts->sms(static_cast<int>(i));
      for (int k = 0; k < times; ++k) kernels::link_copy(copy, gpu_.compute[i]);
    }
  }

 private:
  const CutGpu& gpu_;
  std::vector<std::unique_ptr<DeviceArray>> arrays_;
};

double gb_per_s(double milliseconds) { return static_cast<double>(kLinkBytes) / milliseconds / 1e6; }

double link_gb_per_s(const CutGpu& gpu, const ProbedLink& link, int blocks, bool loaded) {
  constexpr std::int64_t kSpin = 10'000'000;
  link.send(blocks, 0);
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  if (loaded) {
    for (std::size_t i = 0; i < gpu.compute.size(); ++i) {
      kernels::spin(kSpin, gpu.parts->sms(static_cast<int>(i)), gpu.compute[i]);
    }
  }
  StreamTimer timer(link.stream);
  timer.start();
  link.send(blocks, 0);
  const double ms = timer.stop_ms();
  PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  return gb_per_s(ms);
}

/// 7. What the kernel of the emulated links moves, one link at a time.
LinkAnswer single_links() {
  const CutGpu gpu(8, 8, PartitionMode::kAccuracy);
  const ProbedLink link(gpu);
  LinkAnswer rows = LinkAnswer::array();
  for (const int blocks : {1, 2, 4, 8, 16}) {
    rows.push_back({{"blocks", blocks},
                    {"idle_gb_per_s", link_gb_per_s(gpu, link, blocks, false)},
                    {"loaded_gb_per_s", link_gb_per_s(gpu, link, blocks, true)}});
  }
  return {{"sms", gpu.parts->sms(GreenPartition::kCopies)}, {"rates", rows}};
}

/// What each of `count` links moves when all of them are at work, in GB/s.
LinkAnswer together(const std::vector<std::unique_ptr<ProbedLink>>& links, std::size_t count, double bytes_per_s) {
  constexpr int kBlocks = 4;
  for (std::size_t i = 0; i < count; ++i) {
    links[i]->timer.start();
    links[i]->send(kBlocks, bytes_per_s);
  }
  LinkAnswer rates = LinkAnswer::array();
  for (std::size_t i = 0; i < count; ++i) rates.push_back(gb_per_s(links[i]->timer.stop_ms()));
  return rates;
}

/// 12. All links at once, as many as eight devices can have messages under way, alone and beside memory traffic on all
/// parts: with the rate of the fidelity runs (does each reach it?), and as fast as it goes.
LinkAnswer links_at_once() {
  LinkAnswer rows = LinkAnswer::array();
  for (const PartitionMode mode : {PartitionMode::kAccuracy, PartitionMode::kThroughput}) {
    const CutGpu gpu(8, mode == PartitionMode::kAccuracy ? 8 : 0, mode);
    const Traffic traffic(gpu);
    std::vector<std::unique_ptr<ProbedLink>> links;
    for (int i = 0; i < 14; ++i) links.push_back(std::make_unique<ProbedLink>(gpu));
    for (const std::size_t count : {1, 7, 14}) {
      for (const bool loaded : {false, true}) {
        if (loaded) traffic.start(20);
        LinkAnswer row{{"mode", mode == PartitionMode::kAccuracy ? "accuracy" : "throughput"},
                       {"copy_sms", gpu.parts->sms(GreenPartition::kCopies)},
                       {"links", count},
                       {"memory_traffic", loaded}};
        row["asked_50_gb_per_s"] = together(links, count, kLinkRate);
        row["as_fast_as_it_goes_gb_per_s"] = together(links, count, 0);
        PLUMB_CUDA_CALL(cudaDeviceSynchronize());
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace

std::vector<Question> link_questions() {
  return {{7, "what the kernel of links moves", [] { return single_links().dump(); }},
          {12, "what all links at once move, beside memory traffic", [] { return links_at_once().dump(); }}};
}

}  // namespace plumb::cuda
