#include "schedules/program/program_index.hpp"

#include "schedules/program/waits.hpp"

namespace plumb {

template <class Key>
const IndexLists& ProgramIndex::lists_of(LazyLists& lazy, Key&& key) const {
  std::call_once(lazy.once, [&] {
    const std::size_t keys = program_.size() + static_cast<std::size_t>(program_.num_devices);
    lazy.lists = group_by(program_.transfers.size(), keys, [&](std::size_t t) { return key(program_.transfers[t]); });
  });
  return lazy.lists;
}

const IndexLists& ProgramIndex::made() const {
  return lists_of(made_, [](const Transfer& transfer) { return std::size_t{transfer.producer}; });
}

const IndexLists& ProgramIndex::issued() const {
  return lists_of(issued_, [](const Transfer& transfer) { return std::size_t{transfer.issue}; });
}

const IndexLists& ProgramIndex::posted() const {
  return lists_of(posted_, [](const Transfer& transfer) { return std::size_t{transfer.post}; });
}

const IndexLists& ProgramIndex::sent() const {
  return lists_of(sent_, [this](const Transfer& transfer) {
    if (is_awaited_at_end(program_, transfer)) return lane_end(program_.channels[transfer.channel].from);
    return std::size_t{transfer.sent};
  });
}

}  // namespace plumb
