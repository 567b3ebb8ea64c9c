#include "tools/options/jobs/traffic_arguments.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "models/ground/error.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// "8", or the groups that are named: "weights=8,optimizer=64"; the others are over all ranks.
ShardGroups parse_shard_groups(const std::string& text) {
  const std::string where = "--shard-group";
  const auto ranks = [&](const std::string& number) { return parse_whole(number, {}, where); };
  if (text.find('=') == std::string::npos) return ShardGroups::of(ranks(text));
  constexpr std::array<std::string_view, 3> kParts{"weights", "gradients", "optimizer"};
  constexpr std::array kFields{&ShardGroups::weights, &ShardGroups::gradients, &ShardGroups::optimizer};
  ShardGroups groups;
  for (const std::string& word : split(text, ',')) {
    const auto [name, number] = parse_assignment(word, where);
    const auto part = std::ranges::find(kParts, name);
    if (part == kParts.end()) throw_unknown("part of --shard-group", name, kParts);
    groups.*kFields[static_cast<std::size_t>(part - kParts.begin())] = ranks(number);
  }
  return groups;
}

void set_message_bits(const std::string& compress_messages, Parallelism& job) {
  const std::size_t comma = std::min(compress_messages.find(','), compress_messages.size());
  const auto bits = [](const std::string& text) {
    return static_cast<std::int32_t>(parse_whole(text, {1, 32}, "--compress-messages"));
  };
  job.activation_bits = bits(compress_messages.substr(0, comma));
  job.activation_grad_bits =
      comma == compress_messages.size() ? job.activation_bits : bits(compress_messages.substr(comma + 1));
}

}  // namespace

void TrafficArguments::add_to(OptionTable& parser) {
  parser
      .text("shard-group", shard_group, "N|LIST",
            "ZeRO shards over groups of so many neighbouring ranks (MiCS), or each of its parts over so many: "
            "weights=8,gradients=8,optimizer=64 (AMSP) (default: over all)")
      .real("compress-gradients", compress_gradients, {},
            "bytes of reduced gradients, relative to those not compressed (default: 1)")
      .text("compress-messages", compress_messages, "BITS",
            "bits of a number on the way between stages, such as 4, or 4,8: of activations and of gradients (AQ-SGD)")
      .real("storage-update", storage_update, {},
            "storage devices keep and update the optimizer's state: GB/s for each device (Smart-Infinity)")
      .flag("overlap-gradients", overlap_gradients, "overlap the reduction of gradients with the last backward")
      .flag("overlap-parameters", overlap_parameters, "overlap ZeRO's gathering of new weights with the first forward")
      .flag("overlap-tensor", overlap_tensor, "overlap the TP all-reduce of input gradients with W")
      .flag("overlap-products", overlap_products, "sequence parallelism: exchange parts beside the products of others")
      .flag("overlap-experts", overlap_experts,
            "tokens travel to their experts and back beside other work of the pass");
}

bool TrafficArguments::any() const {
  return !shard_group.empty() || compress_gradients || !compress_messages.empty() || storage_update ||
         overlap_gradients || overlap_parameters || overlap_tensor || overlap_products || overlap_experts;
}

void TrafficArguments::apply(Parallelism& job) const {
  if (!shard_group.empty()) job.shard_groups = parse_shard_groups(shard_group);
  job.gradient_share = compress_gradients.value_or(job.gradient_share);
  if (!compress_messages.empty()) set_message_bits(compress_messages, job);
  if (storage_update) job.storage_bytes_per_s = *storage_update * 1e9;
  job.overlap_gradients |= overlap_gradients;
  job.overlap_parameters |= overlap_parameters;
  job.overlap_tensor |= overlap_tensor;
  job.overlap_products |= overlap_products;
  job.overlap_experts |= overlap_experts;
}

}  // namespace plumb
