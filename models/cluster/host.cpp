#include "models/cluster/host.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace plumb {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRepeats = 7;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Returns the shortest of a few runs: what the machine can do when nobody interrupts.
template <class Work>
double shortest_seconds(Work work) {
  double shortest = 1e9;
  for (int k = 0; k < kRepeats; ++k) {
    const Clock::time_point begin = Clock::now();
    work();
    shortest = std::min(shortest, seconds_since(begin));
  }
  return std::max(shortest, 1e-9);
}

constexpr std::size_t kTileRows = 4;
constexpr std::size_t kTileColumns = 32;

/// One tile of c = a b for n x n matrices; the sums stay in registers.
void multiply_tile(const float* a, const float* b, float* c, std::size_t n) {
  float sums[kTileRows][kTileColumns] = {};
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t row = 0; row < kTileRows; ++row) {
      for (std::size_t column = 0; column < kTileColumns; ++column) {
        sums[row][column] += a[row * n + k] * b[k * n + column];
      }
    }
  }
  for (std::size_t row = 0; row < kTileRows; ++row) std::copy_n(sums[row], kTileColumns, c + row * n);
}

void multiply(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kTileRows) {
    for (std::size_t j = 0; j < n; j += kTileColumns) multiply_tile(&a[i * n], &b[j], &c[i * n + j], n);
  }
}

double measure_flops_per_s() {
  constexpr std::size_t kSize = 192;  // three matrices stay in the second-level cache
  const std::vector<float> a(kSize * kSize, 1.0F);
  const std::vector<float> b(kSize * kSize, 1e-3F);
  std::vector<float> c(kSize * kSize, 0.0F);
  const double seconds = shortest_seconds([&] { multiply(a, b, c, kSize); });
  return 2.0 * kSize * kSize * kSize / seconds;
}

/// Returns the bytes copied per second; reading and writing them are twice that.
double measure_copy_bytes_per_s() {
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 2);
  return static_cast<double>(kBytes) / shortest_seconds([&] { std::memcpy(to.data(), from.data(), kBytes); });
}

/// Returns one way of a hand-over between two threads that sleep until they are woken.
std::int64_t measure_handover_ns() {
  constexpr int kTurns = 200;
  std::atomic<int> turn{0};
  std::thread partner([&] {
    for (int k = 0; k < kTurns; ++k) {
      turn.wait(2 * k);
      turn.store(2 * k + 2);
      turn.notify_one();
    }
  });
  const Clock::time_point begin = Clock::now();
  for (int k = 0; k < kTurns; ++k) {
    turn.store(2 * k + 1);
    turn.notify_one();
    turn.wait(2 * k + 1);
  }
  const double seconds = seconds_since(begin);
  partner.join();
  return static_cast<std::int64_t>(seconds / (2 * kTurns) * 1e9);
}

/// Returns a line "key : value" of /proc; empty when there is none.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "";
}

std::int64_t memory_bytes() {
  const std::string total = proc_value("/proc/meminfo", "MemTotal");
  return total.empty() ? 0 : std::strtoll(total.c_str(), nullptr, 10) * 1024;
}

}  // namespace

Cluster measure_host() {
  const std::int32_t threads = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  const double copy_bytes_per_s = measure_copy_bytes_per_s();
  DeviceSpec device;
  device.name = proc_value("/proc/cpuinfo", "model name");
  if (device.name.empty()) device.name = "CPU";
  device.name += ", one thread";
  device.flops_per_s = measure_flops_per_s();
  device.memory_bytes_per_s = 2 * copy_bytes_per_s;
  device.memory_bytes = memory_bytes() / threads;

  Cluster cluster;
  cluster.name = "host";
  cluster.source = "measured by plumbline on this machine";
  cluster.devices.assign(static_cast<std::size_t>(threads), device);
  cluster.devices_per_node = threads;
  cluster.intra_node = {measure_handover_ns(), copy_bytes_per_s, false, false};
  cluster.host_link.bytes_per_s = copy_bytes_per_s;
  cluster.finish();
  return cluster;
}

}  // namespace plumb
