#include "trainer/parameters.hpp"

#include <cassert>
#include <map>
#include <string>

namespace plumb {
namespace {

using BytesByName = std::map<std::string, std::span<const std::byte>>;

/// Splits the block that `block_of(holder)` gives by parameter; the first holder of a parameter counts.
template <class BlockOf>
BytesByName by_name(Workers workers, const BlockOf& block_of) {
  BytesByName named;
  for (const auto& worker : workers) {
    for (auto& [number, holder] : worker->holders()) {
      std::span<const std::byte> rest = block_of(holder);
      std::int64_t left = 0;
      for (const ParameterFacts& parameter : holder.layout().parameters) left += parameter.count();
      const std::size_t number_bytes = rest.empty() ? 0 : rest.size() / static_cast<std::size_t>(left);
      for (const ParameterFacts& parameter : holder.layout().parameters) {
        const std::size_t size = static_cast<std::size_t>(parameter.count()) * number_bytes;
        if (!parameter.tied) named.emplace(parameter.name, rest.first(size));
        rest = rest.subspan(size);
      }
    }
  }
  return named;
}

std::span<const std::byte> weights_of(HolderState& holder) { return holder.stored_weights(); }

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

std::uint64_t weights_hash(Workers workers) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto& [name, bytes] : by_name(workers, weights_of)) {
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

NamedValues final_parameters(Workers workers, NumberType type) {
  return as_doubles(by_name(workers, weights_of), type);
}

NamedValues last_gradients(Workers workers, NumberType type) {
  const auto gradients_of = [](HolderState& holder) -> std::span<const std::byte> { return holder.last_gradients(); };
  return as_doubles(by_name(workers, gradients_of), type);
}

}  // namespace plumb
