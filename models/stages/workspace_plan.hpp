#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/stages/stage_layout.hpp"

namespace plumb {

/// Packs tensors that live for some of a pass's steps into one workspace block.
class WorkspacePlan {
 public:
  /// Reserves `bytes` from step `begin` to step `end` (inclusive). `place` must stay valid until `finish` sets it.
  void add(TensorPlace& place, std::int64_t bytes, std::size_t begin, std::size_t end);

  /// Places the largest first, each at the lowest offset that is free for as long as it lives. Returns the block's
  /// size.
  std::int64_t finish();

 private:
  struct Item {
    TensorPlace* place;
    std::int64_t bytes;
    std::size_t begin;
    std::size_t end;
  };

  std::int64_t lowest_free_offset(std::size_t item) const;

  std::vector<Item> items_;
};

}  // namespace plumb
