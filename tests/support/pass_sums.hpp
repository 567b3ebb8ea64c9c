#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/jobs/job_kernels.hpp"
#include "tests/support/small_job_layers.hpp"

namespace plumb::testing {

/// What a pass does, kind by kind.
struct PassSums {
  std::vector<std::string> products;                          ///< "m x n x k", and "* count" where it is not one
  std::vector<std::string> collectives;                       ///< "name bytes", and "hidden"
  std::map<Movement, std::pair<double, std::int64_t>> moved;  ///< bytes and launches
  double attention_flops = 0;
  double attention_bytes = 0;
  std::int64_t attention_launches = 0;
};

inline std::string collective_name(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "all-reduce";
    case CollectiveOp::kAllGather:
      return "all-gather";
    case CollectiveOp::kReduceScatter:
      return "reduce-scatter";
    default:
      return "all-to-all";
  }
}

inline std::string whole_bytes(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

inline PassSums sums_of(const PassKernels& pass) {
  PassSums sums;
  for (const Kernel& kernel : pass.list) {
    if (kernel.kind == Kernel::Kind::kGemm) {
      const ProductShape& product = kernel.product;
      sums.products.push_back(std::to_string(product.m) + " x " + std::to_string(product.n) + " x " +
                              std::to_string(product.k) +
                              (product.count == 1 ? "" : " * " + std::to_string(product.count)));
    } else if (kernel.kind == Kernel::Kind::kAttention) {
      sums.attention_flops += kernel.flops;
      sums.attention_bytes += kernel.bytes;
      sums.attention_launches += kernel.launches;
    } else if (kernel.kind == Kernel::Kind::kMemory) {
      sums.moved[kernel.movement].first += kernel.bytes;
      sums.moved[kernel.movement].second += kernel.launches;
    } else if (kernel.kind == Kernel::Kind::kCollective) {
      sums.collectives.push_back(collective_name(kernel.op) + " " + whole_bytes(kernel.bytes) +
                                 (kernel.hidden ? " hidden" : ""));
    } else if (kernel.kind == Kernel::Kind::kExchange) {
      sums.collectives.push_back("exchange " + whole_bytes(kernel.exchange.bytes) + (kernel.hidden ? " hidden" : ""));
    }
  }
  return sums;
}

using Lines = std::vector<std::string>;

/// Equal but for rounding.
inline doctest::Approx to_the_byte(double value) { return doctest::Approx(value).epsilon(1e-12); }

inline void check_moved(const PassSums& sums, Movement movement, double bytes, std::int64_t launches) {
  CAPTURE(kMovementNames[static_cast<std::size_t>(movement)]);
  const auto found = sums.moved.find(movement);
  REQUIRE(found != sums.moved.end());
  CHECK(found->second.first == to_the_byte(bytes));
  CHECK(found->second.second == launches);
}

inline LayerKernels kernels_of(const LayerSpec& layer, const Parallelism& job = {}) {
  return layer_kernels(layer, shape_of_two(job));
}

/// `bytes_of` as kernels count bytes.
inline double row_bytes(std::int64_t features) { return static_cast<double>(bytes_of(features)); }

inline constexpr Movement kPlain = Movement::kElementwise;

}  // namespace plumb::testing
