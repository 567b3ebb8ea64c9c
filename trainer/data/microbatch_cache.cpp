#include "trainer/data/microbatch_cache.hpp"

namespace plumb {

std::shared_ptr<const LoadedMicrobatch> MicrobatchCache::get(std::int64_t k, const MicrobatchShape& shape) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = loaded_.find(k);
    if (found != loaded_.end()) return found->second;
  }
  const auto made = std::make_shared<LoadedMicrobatch>();
  made->data = data_.microbatch(k, shape, seed_);
  made->counted = counted_share(made->data);
  const std::scoped_lock lock(mutex_);
  const auto entry = loaded_.emplace(k, made).first->second;
  while (loaded_.size() > capacity_) loaded_.erase(loaded_.begin());
  return entry;
}

PartData MicrobatchCache::part(std::int64_t k, const PartPlace& place, double rows) {
  PartData result;
  result.whole = get(k, place.microbatch);
  const bool is_whole = place.shape == place.microbatch;
  if (!is_whole) result.part = part_of(result.whole->data, place);
  result.ids = ids_of(is_whole ? result.whole->data : result.part, rows * result.whole->counted);
  return result;
}

}  // namespace plumb
