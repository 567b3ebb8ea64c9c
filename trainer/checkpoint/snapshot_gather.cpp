#include "trainer/checkpoint/snapshot_gather.hpp"

#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "trainer/transport/packet.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

ProcessGroup::Bytes to_bytes(const Snapshot& snapshot) {
  PacketWriter writer;
  writer.put_text(snapshot.state).put(snapshot.tensors.size());
  for (const TensorView& tensor : snapshot.tensors) {
    writer.put_text(tensor.name).put_text(tensor.dtype).put_all(std::span(tensor.shape)).put_all(tensor.bytes);
  }
  return writer.take();
}

/// Adds what `part` lists to the lists of `whole`; what several devices have (a sum under way) once.
void merge_lists(const Json& part, Json& whole) {
  for (const auto& [name, list] : part.items()) {
    if (!list.is_array() || name == "positions") continue;
    std::set<std::string> known;
    for (const Json& entry : whole[name]) known.insert(entry.dump());
    for (const Json& entry : list) {
      if (known.insert(entry.dump()).second) whole[name].push_back(entry);
    }
  }
}

}  // namespace

Snapshot gather_snapshot(ProcessGroup& group, const Snapshot& own) {
  Snapshot whole;
  std::vector<ProcessGroup::Bytes> parts = group.gather(to_bytes(own));
  if (!group.is_first()) return whole;
  Json state;
  std::set<std::string> names;
  for (ProcessGroup::Bytes& part : parts) {
    PacketReader reader(whole.owned.emplace_back(std::move(part)));
    const Json of_part = Json::parse(reader.get_text());
    if (state.is_null()) {
      state = of_part;
    } else {
      merge_lists(of_part, state);
    }
    const auto tensors = reader.get<std::size_t>();
    for (std::size_t i = 0; i < tensors; ++i) {
      TensorView tensor;
      tensor.name = reader.get_text();
      tensor.dtype = reader.get_text();
      tensor.shape = reader.get_all<std::int64_t>();
      tensor.bytes = reader.get_view();
      if (names.insert(tensor.name).second) whole.tensors.push_back(std::move(tensor));
    }
  }
  whole.state = state.dump(1) + "\n";
  return whole;
}

}  // namespace plumb
