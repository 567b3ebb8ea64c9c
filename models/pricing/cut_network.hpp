#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/import/named_network.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// How the layers of a network are divided among stages.
struct LayerCut {
  enum class Kind : std::uint8_t {
    kBalanced,  ///< by the times of the layers (`balanced_partition`)
    kEqual,     ///< as many blocks in each stage (`equal_partition`)
    kFinest,    ///< one layer with weights per stage (`finest_partition`)
    kGiven,     ///< `counts` layers in each stage
  };

  Kind kind = Kind::kBalanced;
  std::vector<std::size_t> counts{};

  friend bool operator==(const LayerCut&, const LayerCut&) = default;
};

/// "balanced", "equal", "finest" or "3,4,4,3". Throws `Error` for anything else.
LayerCut parse_cut(const std::string& text);

/// Returns the cut that has the stages of `partition`.
LayerCut cut_as(const Partition& partition);

/// `network` cut into `num_stages` stages. `layer_times` is called only for `LayerCut::Kind::kBalanced`; it returns the
/// time of every layer. Throws `Error` for more stages than there are layers, and for counts that do not fit.
Partition cut_network(const LayerCut& cut, const NamedNetwork& network, std::int32_t num_stages,
                      const std::function<std::vector<std::int64_t>()>& layer_times);

}  // namespace plumb
