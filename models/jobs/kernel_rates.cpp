#include "models/jobs/kernel_rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "models/ground/json_reader.hpp"
#include "models/ground/presets.hpp"
#include "models/ground/units.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

struct RateNumber {
  std::string_view key;
  double KernelRates::*field;
  double least;
  double most;
};

constexpr std::array<RateNumber, 6> kNumbers{{
    {"gemm_efficiency", &KernelRates::gemm_efficiency, 1e-3, 1},
    {"gemm_half_k", &KernelRates::gemm_half_k, 0, 1e6},
    {"attention_efficiency", &KernelRates::attention_efficiency, 1e-3, 1},
    {"memory_efficiency", &KernelRates::memory_efficiency, 1e-3, 1},
    {"link_efficiency", &KernelRates::link_efficiency, 1e-3, 10},
    {"memory_reserve", &KernelRates::memory_reserve, 0, 1},
}};

struct RateInteger {
  std::string_view key;
  std::int64_t KernelRates::*field;
  std::int64_t least;
  std::int64_t most;
};

constexpr std::int64_t kMostNs = 10'000'000'000;
constexpr std::array<RateInteger, 10> kIntegers{{
    {"tile_m", &KernelRates::tile_m, 1, 4096},
    {"tile_n", &KernelRates::tile_n, 1, 4096},
    {"multiprocessors", &KernelRates::multiprocessors, 1, 65536},
    {"kernel_ns", &KernelRates::kernel_ns, 0, kMostNs},
    {"host_ns", &KernelRates::host_ns, 0, kMostNs},
    {"collective_ns", &KernelRates::collective_ns, 0, kMostNs},
    {"pass_ns", &KernelRates::pass_ns, 0, kMostNs},
    {"update_ns", &KernelRates::update_ns, 0, kMostNs},
    {"context_bytes", &KernelRates::context_bytes, 0, std::int64_t{1} << 40},
    {"library_bytes", &KernelRates::library_bytes, 0, std::int64_t{1} << 40},
}};

double log_distance(const GemmPoint& point, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto apart = [](std::int64_t a, std::int64_t b) {
    const double steps = std::log2(static_cast<double>(a) / static_cast<double>(b));
    return steps * steps;
  };
  return apart(point.m, m) + apart(point.n, n) + apart(point.k, k);
}

/// The share of work that full tiles and full waves do.
double quantised(const KernelRates& rates, std::int64_t m, std::int64_t n, std::int64_t count) {
  const auto rows = static_cast<double>((m + rates.tile_m - 1) / rates.tile_m);
  const auto columns = static_cast<double>((n + rates.tile_n - 1) / rates.tile_n);
  const double filled = static_cast<double>(m) * static_cast<double>(n) /
                        (rows * static_cast<double>(rates.tile_m) * columns * static_cast<double>(rates.tile_n));
  if (rates.multiprocessors == 1) return filled;
  const double waves = rows * columns * static_cast<double>(count) / static_cast<double>(rates.multiprocessors);
  return filled * waves / std::ceil(waves);
}

}  // namespace

double KernelRates::gemm_share(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count) const {
  const GemmPoint* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmPoint& point : gemms) {
    const double distance = log_distance(point, m, n, k);
    if (distance < least) {
      least = distance;
      nearest = &point;
    }
  }
  if (nearest != nullptr) return nearest->efficiency;
  const double depth = static_cast<double>(k) / (static_cast<double>(k) + gemm_half_k);
  return gemm_efficiency * quantised(*this, m, n, count) * depth;
}

std::int64_t KernelRates::usable_bytes(std::int64_t memory_bytes) const {
  const auto tensors = static_cast<double>(memory_bytes - context_bytes - library_bytes);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(tensors / (1 + memory_reserve)));
}

KernelRates kernel_rates_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  check_format(root, "plumbline-device", 1);
  std::vector<std::string_view> keys{"format", "version", "device", "source", "gemms"};
  for (const RateNumber& number : kNumbers) keys.push_back(number.key);
  for (const RateInteger& integer : kIntegers) keys.push_back(integer.key);
  root.allow_only(keys);
  KernelRates rates;
  rates.device = root.at("device").text();
  if (const auto source = root.find("source")) rates.source = source->text();
  for (const RateNumber& number : kNumbers) {
    if (const auto value = root.find(number.key)) rates.*number.field = value->number(number.least, number.most);
  }
  for (const RateInteger& integer : kIntegers) {
    if (const auto value = root.find(integer.key)) rates.*integer.field = value->integer(integer.least, integer.most);
  }
  if (const auto gemms = root.find("gemms")) {
    constexpr std::int64_t kMostGemmSide = std::int64_t{1} << 40;
    for (const JsonValue& row : gemms->elements()) {
      row.allow_only({"m", "n", "k", "efficiency"});
      rates.gemms.push_back({row.at("m").integer(1, kMostGemmSide), row.at("n").integer(1, kMostGemmSide),
                             row.at("k").integer(1, kMostGemmSide), row.at("efficiency").number(1e-6, 1)});
    }
  }
  return rates;
}

std::string kernel_rates_to_json(const KernelRates& rates) {
  Json json{{"format", "plumbline-device"}, {"version", 1}, {"device", rates.device}, {"source", rates.source}};
  for (const RateNumber& number : kNumbers) json[std::string(number.key)] = rates.*number.field;
  for (const RateInteger& integer : kIntegers) json[std::string(integer.key)] = rates.*integer.field;
  if (!rates.gemms.empty()) json["gemms"] = Json::array();
  for (const GemmPoint& point : rates.gemms) {
    json["gemms"].push_back({{"m", point.m}, {"n", point.n}, {"k", point.k}, {"efficiency", point.efficiency}});
  }
  return json.dump(2) + "\n";
}

KernelRates kernel_rates_of(const DeviceSpec& device) {
  KernelRates best;
  for (const Preset& preset : device_presets()) {
    KernelRates rates = kernel_rates_from_json(preset.json, std::string(preset.name) + ".json");
    if (device.name.starts_with(rates.device) && rates.device.size() > best.device.size()) best = std::move(rates);
  }
  if (!best.device.empty()) return best;
  best.device = device.name;
  best.source = "efficiencies of the cluster's document";
  best.gemm_efficiency = best.attention_efficiency = device.compute_efficiency;
  best.memory_efficiency = device.memory_efficiency;
  return best;
}

KernelTime kernel_time(const Kernel& kernel, const DeviceSpec& device, const KernelRates& rates) {
  const double own_s = static_cast<double>(rates.kernel_ns * kernel.launches) / kNsPerSecond;
  const double moving_s = kernel.bytes / (device.memory_bytes_per_s * rates.memory_efficiency);
  const auto computing_s = [&](double share) { return kernel.flops / (device.flops_per_s * share); };
  KernelTime time{.device_s = own_s, .host_s = static_cast<double>(rates.host_ns * kernel.launches) / kNsPerSecond};
  switch (kernel.kind) {
    case Kernel::Kind::kGemm: {
      const double share = rates.gemm_share(kernel.m, kernel.n, kernel.k, kernel.count);
      time.device_s += std::max(computing_s(share), moving_s);
      break;
    }
    case Kernel::Kind::kAttention:
      time.device_s += std::max(computing_s(rates.attention_efficiency), moving_s);
      break;
    case Kernel::Kind::kRoofline:
      time.device_s += std::max(computing_s(rates.gemm_efficiency), moving_s);
      break;
    case Kernel::Kind::kMemory:
      time.device_s += moving_s;
      break;
    case Kernel::Kind::kMeasured:
      time.device_s = kernel.seconds;
      break;
    case Kernel::Kind::kCollective:
      time.device_s = static_cast<double>(rates.collective_ns) / kNsPerSecond;
      break;
  }
  return time;
}

}  // namespace plumb
