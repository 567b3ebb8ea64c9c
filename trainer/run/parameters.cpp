#include "trainer/run/parameters.hpp"

#include <map>
#include <optional>
#include <string>

#include "trainer/run/jobs.hpp"

namespace plumb {
namespace {

using BytesByName = std::map<std::string, std::span<const std::byte>>;

/// Splits a flat block by parameter; those whose names are known already are passed over.
void split(const std::vector<ParameterFacts>& parameters, std::span<const std::byte> block, BytesByName& named) {
  std::int64_t left = 0;
  for (const ParameterFacts& parameter : parameters) left += parameter.count();
  const std::size_t number_bytes = block.empty() ? 0 : block.size() / static_cast<std::size_t>(left);
  for (const ParameterFacts& parameter : parameters) {
    const std::size_t size = static_cast<std::size_t>(parameter.count()) * number_bytes;
    if (!parameter.tied) named.emplace(parameter.name, block.first(size));
    block = block.subspan(size);
  }
}

/// One of the blocks of every holder by parameter; the first holder of a parameter counts. `job`: only its holders.
BytesByName by_name(const RunPlan& plan, DeviceReports reports, std::span<const std::byte> HolderReport::*block,
                    std::optional<ReplicaId> job = std::nullopt) {
  BytesByName named;
  for (const DeviceReport& report : reports) {
    for (const auto& [number, holder] : report.holders) {
      const Holder& place = plan.program.holders[number];
      if (job && place.replica != *job) continue;
      split(plan.layout(place.stage, 0).parameters, holder.*block, named);
    }
  }
  return named;
}

/// Weights that no update changes.
void add_frozen(const RunPlan& plan, DeviceReports reports, BytesByName& named) {
  for (const DeviceReport& report : reports) {
    for (const auto& [number, holder] : report.holders) {
      if (holder.frozen.empty()) continue;
      split(plan.layout(plan.program.holders[number].stage, 0).frozen, holder.frozen, named);
    }
  }
}

/// FNV-1a, continued.
std::uint64_t hashed(const BytesByName& named, std::uint64_t hash) {
  for (const auto& [name, bytes] : named) {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

template <class T>
std::vector<double> values_of(std::span<const std::byte> bytes) {
  const T* begin = reinterpret_cast<const T*>(bytes.data());
  return {begin, begin + bytes.size() / sizeof(T)};
}

NamedValues as_doubles(const BytesByName& named, NumberType type) {
  NamedValues values;
  for (const auto& [name, bytes] : named) {
    values[name] = type == NumberType::kFloat64 ? values_of<double>(bytes) : values_of<float>(bytes);
  }
  return values;
}

}  // namespace

std::uint64_t weights_hash(const RunPlan& plan, DeviceReports reports) {
  BytesByName first = by_name(plan, reports, &HolderReport::weights);
  add_frozen(plan, reports, first);
  std::uint64_t hash = hashed(first, 0xcbf29ce484222325U);
  for (std::size_t job = 1; job < job_count(plan); ++job) {
    hash = hashed(by_name(plan, reports, &HolderReport::weights, ReplicaId{static_cast<std::int16_t>(job)}), hash);
  }
  return hash;
}

NamedValues final_parameters(const RunPlan& plan, DeviceReports reports) {
  BytesByName named = by_name(plan, reports, &HolderReport::weights);
  add_frozen(plan, reports, named);
  return as_doubles(named, plan.options.model.numbers);
}

NamedValues job_parameters(const RunPlan& plan, DeviceReports reports, ReplicaId job) {
  return as_doubles(by_name(plan, reports, &HolderReport::weights, job), plan.options.model.numbers);
}

NamedValues last_gradients(const RunPlan& plan, DeviceReports reports) {
  return as_doubles(by_name(plan, reports, &HolderReport::gradients), plan.options.model.numbers);
}

}  // namespace plumb
