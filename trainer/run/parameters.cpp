#include "trainer/run/parameters.hpp"

#include <map>
#include <string>

namespace plumb {
namespace {

using BytesByName = std::map<std::string, std::span<const std::byte>>;

/// Splits one of the blocks of every holder by parameter; the first holder of a parameter counts.
BytesByName by_name(const RunPlan& plan, DeviceReports reports, std::span<const std::byte> HolderReport::*block) {
  BytesByName named;
  for (const DeviceReport& report : reports) {
    for (const auto& [number, holder] : report.holders) {
      const StageLayout& layout = plan.layout(plan.program.holders[number].stage, 0);
      std::span<const std::byte> rest = holder.*block;
      std::int64_t left = 0;
      for (const ParameterFacts& parameter : layout.parameters) left += parameter.count();
      const std::size_t number_bytes = rest.empty() ? 0 : rest.size() / static_cast<std::size_t>(left);
      for (const ParameterFacts& parameter : layout.parameters) {
        const std::size_t size = static_cast<std::size_t>(parameter.count()) * number_bytes;
        if (!parameter.tied) named.emplace(parameter.name, rest.first(size));
        rest = rest.subspan(size);
      }
    }
  }
  return named;
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
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto& [name, bytes] : by_name(plan, reports, &HolderReport::weights)) {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

NamedValues final_parameters(const RunPlan& plan, DeviceReports reports) {
  return as_doubles(by_name(plan, reports, &HolderReport::weights), plan.options.model.numbers);
}

NamedValues last_gradients(const RunPlan& plan, DeviceReports reports) {
  return as_doubles(by_name(plan, reports, &HolderReport::gradients), plan.options.model.numbers);
}

}  // namespace plumb
