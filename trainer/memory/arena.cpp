#include "trainer/memory/arena.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace plumb {

namespace {

constexpr std::byte kPoison{0xFF};

std::span<std::byte> storage_of(std::byte* data, std::int64_t bytes) { return {data, static_cast<std::size_t>(bytes)}; }

}  // namespace

Block::~Block() {
  if (arena_ != nullptr) arena_->release(*this);
}

void Block::move_to(MemoryClass cls) {
  if (arena_ != nullptr && cls != class_) {
    arena_->change(class_, -bytes_);
    arena_->change(cls, bytes_);
  }
  class_ = cls;
}

void Block::swap(Block& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(storage_, other.storage_);
  std::swap(lane_, other.lane_);
  std::swap(class_, other.class_);
}

bool Block::trade_storage(Block& other) noexcept {
  if (bytes_ != other.bytes_ || storage_ != other.storage_) return false;
  if (arena_ != nullptr && &arena_->memory() != &other.arena_->memory()) return false;
  std::swap(data_, other.data_);
  return true;
}

Arena::~Arena() {
  assert(total_ == 0 && "a block outlives its arena");
  for (const auto& [size, blocks] : free_) {
    for (std::byte* block : blocks) memory_->give_back(block);
  }
}

Block Arena::allocate(MemoryClass cls, std::int64_t bytes, std::int64_t storage) {
  assert(bytes >= 0);
  Block block;
  block.class_ = cls;
  if (bytes == 0) return block;
  block.arena_ = this;
  block.bytes_ = bytes;
  block.storage_ = std::max(bytes, storage);
  block.lane_ = lane_;
  if (lane_ != kNoLane) ++lanes_[static_cast<std::size_t>(lane_)].blocks;
  block.data_ = take_storage(block.storage_);
  memory_->begin_block(storage_of(block.data_, block.storage_));
  if (options_.poison) memory_->fill(storage_of(block.data_, block.storage_), kPoison);
  change(cls, bytes);
  return block;
}

std::byte* Arena::take_storage(std::int64_t storage) {
  std::vector<std::byte*>& same_size = free_[{storage, lane_}];
  if (same_size.empty()) {
    reserved_ += storage;
    return memory_->reserve(storage);
  }
  std::ranges::pop_heap(same_size, std::greater{});
  std::byte* data = same_size.back();
  same_size.pop_back();
  return data;
}

/// Returns the lane of a microbatch: its own while it has blocks; else the first one that is all back.
std::int32_t Arena::lane_of(std::int32_t microbatch) {
  const auto is_own = [&](const Lane& lane) { return lane.blocks > 0 && lane.microbatch == microbatch; };
  auto lane = std::ranges::find_if(lanes_, is_own);
  if (lane == lanes_.end()) lane = std::ranges::find(lanes_, std::int64_t{0}, &Lane::blocks);
  if (lane == lanes_.end()) lane = lanes_.insert(lanes_.end(), Lane{});
  lane->microbatch = microbatch;
  return static_cast<std::int32_t>(lane - lanes_.begin());
}

void Arena::release(Block& block) {
  if (options_.poison) memory_->fill(storage_of(block.data_, block.storage_), kPoison);
  memory_->end_block(storage_of(block.data_, block.storage_));
  if (block.lane_ != kNoLane) --lanes_[static_cast<std::size_t>(block.lane_)].blocks;
  std::vector<std::byte*>& same_size = free_[{block.storage_, block.lane_}];
  same_size.push_back(block.data_);
  std::ranges::push_heap(same_size, std::greater{});
  change(block.class_, -block.bytes_);
}

void Arena::change(MemoryClass cls, std::int64_t bytes) {
  std::int64_t& live = live_[static_cast<std::size_t>(cls)];
  live += bytes;
  total_ += bytes;
  if (total_ > peak_) {
    peak_ = total_;
    at_peak_ = live_;
  }
  if (options_.log_events) events_.push_back({cls, live});
}

}  // namespace plumb
