#include "trainer/cuda/product_plan.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/ground/choices_file.hpp"

namespace plumb::cuda {
namespace {

constexpr std::string_view kHead = "plumbline matrix products, ";

std::uint64_t fnv(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3U;
  return hash;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string text_of(const ProductKey& key) {
  return "m" + std::to_string(key.m) + " n" + std::to_string(key.n) + " k" + std::to_string(key.k) + " " +
         (key.a_transposed ? "T" : "N") + (key.b_transposed ? "T" : "N") + " " + key.types + " " + key.epilogue +
         (key.accumulates ? " + " : " = ") + "align" + std::to_string(key.alignment) + " sms" + std::to_string(key.sms);
}

std::uint64_t hash_of(const ProductKey& key) { return fnv(text_of(key)); }

std::string to_hex(const AlgorithmBytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

AlgorithmBytes from_hex(std::string_view text) {
  AlgorithmBytes bytes{};
  bool good = text.size() == 2 * bytes.size();
  for (std::size_t i = 0; good && i < bytes.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    bytes[i] = static_cast<std::uint8_t>(16 * high + low);
  }
  if (!good) throw Error("algorithm '" + std::string(text) + "'; expected 128 hexadecimal digits");
  return bytes;
}

std::vector<ProductCandidate> usable(std::span<const ProductCandidate> candidates, const ProductLimits& limits) {
  std::vector<ProductCandidate> good;
  std::ranges::copy_if(candidates, std::back_inserter(good), [&](const ProductCandidate& candidate) {
    return candidate.split_k <= 1 && candidate.reduction_scheme == 0 &&
           candidate.workspace_bytes <= limits.workspace_bytes;
  });
  std::stable_partition(good.begin(), good.end(), [&](const ProductCandidate& candidate) {
    return candidate.cluster_size <= limits.cluster_size;
  });
  return good;
}

std::optional<AlgorithmBytes> ProductTable::find(const ProductKey& key) const {
  const auto found = algorithms_.find(text_of(key));
  return found == algorithms_.end() ? std::nullopt : std::optional(found->second);
}

AlgorithmBytes ProductTable::choose(const ProductKey& key, const ProductLimits& limits, const Propose& propose,
                                    const Time& time) {
  if (const auto pinned = find(key)) return *pinned;
  const std::vector<ProductCandidate> proposed = propose();
  const std::vector<ProductCandidate> good = usable(proposed, limits);
  const ProductCandidate* chosen = nullptr;
  double shortest = 0;
  int launched = 0;
  for (const ProductCandidate& candidate : good) {
    if (launched == trials_) break;
    const std::optional<double> took = time(candidate.algorithm);
    if (!took) continue;
    ++launched;
    if (chosen != nullptr && *took >= shortest) continue;
    chosen = &candidate;
    shortest = *took;
  }
  if (chosen == nullptr) {
    throw Error("matrix product " + text_of(key) + ": of " + std::to_string(proposed.size()) + " algorithms " +
                std::to_string(good.size()) + " add in one order and fit, and none of these runs");
  }
  set(key, chosen->algorithm);
  return chosen->algorithm;
}

std::string ProductTable::text() const {
  std::string text = std::string(kHead) + made_for_ + "\n";
  for (const auto& [key, algorithm] : algorithms_) text += to_hex(algorithm) + " " + key + "\n";
  return text;
}

std::uint64_t ProductTable::hash() const { return fnv(text()); }

void ProductTable::read(std::string_view text, const std::string& name) {
  std::map<std::string, AlgorithmBytes> algorithms;
  read_choices(text, name, std::string(kHead) + made_for_, [&](std::string_view row, const std::string& where) {
    const std::size_t space = row.find(' ');
    if (space == std::string_view::npos) throw Error(where + "expected an algorithm and a product");
    try {
      algorithms[std::string(row.substr(space + 1))] = from_hex(row.substr(0, space));
    } catch (const Error& error) {
      throw Error(where + error.what());
    }
  });
  algorithms_ = std::move(algorithms);
  changed_ = false;
}

void ProductTable::load(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return;
  read(read_text_file(path), path.string());
}

void ProductTable::save(const std::filesystem::path& path) {
  if (changed_) save_choices(path, text());
  changed_ = false;
}

}  // namespace plumb::cuda
