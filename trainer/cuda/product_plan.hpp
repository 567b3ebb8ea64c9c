#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::cuda {

/// What decides which algorithm a matrix product takes. As cuBLASLt has it: column-major m x n x k.
struct ProductKey {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool a_transposed = false;
  bool b_transposed = false;
  std::string types = {};     ///< types of a, b, c: "bf16,bf16,f32"
  std::string epilogue = {};  ///< "none", "bias", "gelu", "gelu_grad"
  bool accumulates = false;
  int alignment = 16;  ///< alignment of all addresses and rows, in bytes, up to 16
  int sms = 0;         ///< multiprocessors that the product may use; 0: all

  friend auto operator<=>(const ProductKey&, const ProductKey&) = default;
};

/// "m64 n32 k16 TN bf16,bf16,f32 bias + align16 sms8": one line, equal for equal keys.
std::string text_of(const ProductKey& key);
/// Hashes the text of the key, alike on every machine (FNV-1a, 64 bits).
std::uint64_t hash_of(const ProductKey& key);

/// An algorithm of the library, as opaque as it gives it out.
using AlgorithmBytes = std::array<std::uint8_t, 64>;
std::string to_hex(const AlgorithmBytes& bytes);
/// Throws `Error` unless `text` is 128 hexadecimal digits.
AlgorithmBytes from_hex(std::string_view text);

/// An algorithm that the library's heuristic proposes.
struct ProductCandidate {
  AlgorithmBytes algorithm{};
  int split_k = 1;
  int reduction_scheme = 0;  ///< 0: none
  int cluster_size = 1;      ///< blocks that must run on one cluster of multiprocessors
  std::int64_t workspace_bytes = 0;
};

/// What a candidate must respect.
struct ProductLimits {
  std::int64_t workspace_bytes = 0;
  int cluster_size = 1;  ///< the largest one that the partition holds
};

/// Returns the candidates that add in one order, as far as the library tells, and fit. In the order given; after them
/// those that fit but for their clusters, which a partition may hold or not. (The library does not tell whether blocks
/// wait for blocks; that runs have equal bits is what the script
/// `validate.sh` of results/fidelity sees.)
std::vector<ProductCandidate> usable(std::span<const ProductCandidate> candidates, const ProductLimits& limits);

/// The algorithms of a machine, chosen once. A text file: a line that says which library and GPU they are for, then a
/// line `hex key` for each product.
class ProductTable {
 public:
  /// `made_for`: "cublasLt 130100, NVIDIA H200". `trials`: usable algorithms that are timed for a product, of which the
  /// fastest stands for it; 1: the first one, which is not timed.
  explicit ProductTable(std::string made_for, int trials = 1) : made_for_(std::move(made_for)), trials_(trials) {}

  void set(const ProductKey& key, const AlgorithmBytes& algorithm) {
    algorithms_[text_of(key)] = algorithm;
    changed_ = true;
  }
  std::optional<AlgorithmBytes> find(const ProductKey& key) const;
  /// The algorithm that stands for the product. Where none does: of the first `trials` usable ones of those that
  /// `propose` gives and that can be launched the one with the shortest time, of equal ones the first, which stands for
  /// the product from now on. Throws `Error` when there is none.
  using Propose = std::function<std::vector<ProductCandidate>()>;
  /// Time of a launch in any unit, which nobody looks at when there is a single trial; none: it is refused.
  using Time = std::function<std::optional<double>(const AlgorithmBytes&)>;
  AlgorithmBytes choose(const ProductKey& key, const ProductLimits& limits, const Propose& propose, const Time& time);
  int trials() const { return trials_; }
  std::size_t size() const { return algorithms_.size(); }

  std::string text() const;
  /// Throws `Error` (with `name` and the line) for a text that is none, or that is for another library or GPU.
  void read(std::string_view text, const std::string& name);
  /// Hash of the text: distinguishes runs that used different tables.
  std::uint64_t hash() const;

  /// Loads a file, if there is one; `save` writes it when there is anything that it does not have.
  void load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path);

 private:
  std::string made_for_;
  int trials_;
  std::map<std::string, AlgorithmBytes> algorithms_;  ///< by the text of the key
  bool changed_ = false;                              ///< since it was read or saved
};

}  // namespace plumb::cuda
