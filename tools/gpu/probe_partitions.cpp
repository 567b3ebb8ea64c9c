#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/gpu/probe_kernels.hpp"
#include "tools/gpu/probe_parts.hpp"
#include "tools/gpu/probe_questions.hpp"
#include "trainer/cuda/kernels/probes.hpp"
#include "trainer/cuda/partition_check.hpp"

namespace plumb::cuda {
namespace {

using Answer = nlohmann::ordered_json;

/// 1. Groups by flags and size, nothing made.
Answer group_counts() {
  const GreenDriver driver = load_green_driver();
  if (!driver.complete()) throw Error("the driver has no green contexts");
  PLUMB_CUDA_CALL(cudaFree(nullptr));
  CUdevResource all{};
  check_driver(driver.device_resource(0, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  Answer rows = Answer::array();
  for (const unsigned int flags : {0U, 1U, 2U}) {
    for (const unsigned int size : {2U, 4U, 8U, 16U, 24U, 32U, 44U, 56U, 64U, 66U}) {
      CUdevResource rest{};
      unsigned int groups = 0;
      const CUresult status = driver.split(nullptr, &groups, &all, &rest, flags, size);
      rows.push_back({{"flags", flags}, {"size", size}, {"groups", groups}, {"left_over", rest.sm.smCount}});
      if (status != CUDA_SUCCESS) rows.back()["status"] = static_cast<int>(status);
    }
  }
  return {{"sms", all.sm.smCount}, {"splits", rows}};
}

/// Where the blocks of every part run, and what is wrong with that.
Answer places_of(int devices, int sms, PartitionMode mode) {
  const CutGpu gpu(devices, sms, mode);
  const auto count = static_cast<std::size_t>(all_multiprocessors());
  std::vector<SeenMultiprocessors> seen;
  Answer places = Answer::array();
  for (int part = 0; part <= devices; ++part) {
    const HostArray<unsigned int> histogram(count);
    const bool copies = part == devices;
    const cudaStream_t stream = copies ? gpu.copies : gpu.compute[static_cast<std::size_t>(part)];
    kernels::count_multiprocessors(histogram.data(), static_cast<int>(count), 64 * static_cast<int>(count), stream);
    PLUMB_CUDA_CALL(cudaDeviceSynchronize());
    seen.push_back({copies ? "copies" : "part " + std::to_string(part),
                    std::vector<unsigned int>(histogram.data(), histogram.data() + count),
                    gpu.parts->sms(copies ? GreenPartition::kCopies : part), part});
    places.push_back(text_of_multiprocessors(seen.back().blocks));
  }
  return {{"split", text_of(gpu.plan.split)}, {"places", places}, {"wrong", find_overlaps(seen)}};
}

Answer answer_or_error(const std::function<Answer()>& ask) {
  try {
    return ask();
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

/// 2. Parts are disjoint.
Answer places() {
  return {{"8 of 8", answer_or_error([] { return places_of(8, 8, PartitionMode::kAccuracy); })},
          {"8 of 16", answer_or_error([] { return places_of(8, 16, PartitionMode::kThroughput); })},
          {"16 of 8", answer_or_error([] { return places_of(16, 8, PartitionMode::kAccuracy); })}};
}

/// 3. Clusters that a part can host.
Answer clusters() {
  Answer answer = Answer::object();
  for (const PartitionMode mode : {PartitionMode::kAccuracy, PartitionMode::kThroughput}) {
    const CutGpu gpu(8, mode == PartitionMode::kAccuracy ? 8 : 16, mode);
    Answer rows = Answer::array();
    for (const cudaStream_t stream : gpu.compute) rows.push_back(largest_cluster(stream));
    answer[text_of(gpu.plan.split)] = rows;
  }
  return answer;
}

/// 4. Spinning kernels, all started together: what they take tells whether streams wait for each other.
Answer concurrency() {
  constexpr std::int64_t kSpin = 2'000'000;
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  Answer rows = Answer::array();
  for (const int streams : {8, 16, 24, 32}) {
    const CutGpu gpu(8, 8, PartitionMode::kAccuracy);
    std::vector<cudaStream_t> all = gpu.compute;
    while (static_cast<int>(all.size()) < streams) {
      all.push_back(gpu.parts->make_stream(static_cast<int>(all.size()) % 8, 0));
    }
    for (const cudaStream_t stream : all) kernels::spin(1000, 1, stream);
    PLUMB_CUDA_CALL(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (const cudaStream_t stream : all) kernels::spin(kSpin, 1, stream);
    PLUMB_CUDA_CALL(cudaDeviceSynchronize());
    const std::chrono::nanoseconds together = std::chrono::steady_clock::now() - begin;
    rows.push_back({{"streams", streams},
                    {"spin_ns", kSpin},
                    {"together_ns", together.count()},
                    {"wrong", find_false_waits({kSpin, together.count(), streams})}});
  }
  return {{"connections", connections == nullptr ? "default" : connections}, {"runs", rows}};
}

}  // namespace

std::vector<Question> partition_questions() {
  return {{1, "groups of multiprocessors by flags and size", [] { return group_counts().dump(); }},
          {2, "where the parts run", [] { return places().dump(); }},
          {3, "largest clusters of a part", [] { return clusters().dump(); }},
          {4, "streams that run at once", [] { return concurrency().dump(); }}};
}

}  // namespace plumb::cuda
