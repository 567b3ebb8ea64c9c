#include "trainer/data/training_data.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

template <class T>
std::vector<T> rows_of(const std::vector<T>& whole, const PartPlace& place) {
  std::vector<T> part;
  const auto features = static_cast<std::int64_t>(whole.size()) / place.microbatch.tokens();
  for (std::int64_t sample = 0; sample < place.shape.samples && features > 0; ++sample) {
    const std::int64_t row = (place.first_sample + sample) * place.microbatch.sequence + place.first_token;
    const auto first = whole.begin() + row * features;
    part.insert(part.end(), first, first + place.shape.sequence * features);
  }
  return part;
}

[[noreturn]] void refuse(const Network& network, const std::string& what) {
  throw Error("network '" + network.name + "': " + what);
}

/// `enough` where ids must be below a size, equal where rows must be alike.
void expect_at_least(const Network& network, const LayerSpec& layer, std::int64_t size, std::int64_t wanted,
                     const DataFacts& data) {
  if (wanted == 0) refuse(network, "layer '" + layer.name + "' reads what " + data.name + " do not have");
  if (size < wanted) {
    refuse(network, "layer '" + layer.name + "': size " + std::to_string(size) + "; expected at least " +
                        std::to_string(wanted) + " for " + data.name);
  }
}

void expect_equal(const Network& network, const LayerSpec& layer, std::int64_t width, std::int64_t wanted,
                  const DataFacts& data) {
  if (width == wanted) return;
  refuse(network, "layer '" + layer.name + "': width " + std::to_string(width) + "; " + data.name + " have " +
                      std::to_string(wanted) + " per row");
}

void check_layer(const DataFacts& data, const Network& network, const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return expect_at_least(network, layer, layer.vocabulary, layer.target ? data.target_vocabulary : data.vocabulary,
                             data);
    case LayerKind::kPixels:
      return expect_equal(network, layer, output_width(layer), data.features, data);
    case LayerKind::kHead:
    case LayerKind::kClassifier:
      return expect_at_least(network, layer, layer.vocabulary, data.classes, data);
    case LayerKind::kValues:
      if (data.vocabulary > 0) refuse(network, "layer '" + layer.name + "' reads numbers; " + data.name + " are ids");
      return expect_equal(network, layer, layer.width, data.features, data);
    case LayerKind::kSquaredError:
      return expect_equal(network, layer, layer.width, data.target_features, data);
    default:
      return;
  }
}

}  // namespace

MicrobatchIds ids_of(const Microbatch& data, double loss_tokens) {
  return {data.tokens.data(),        data.targets.data(), loss_tokens,
          data.target_tokens.data(), data.values.data(),  data.target_values.data()};
}

double counted_share(const Microbatch& data) {
  if (data.targets.empty()) return 1;
  const auto counted = std::ranges::count_if(data.targets, [](std::int32_t target) { return target >= 0; });
  return static_cast<double>(std::max<std::ptrdiff_t>(1, counted)) / static_cast<double>(data.targets.size());
}

Microbatch part_of(const Microbatch& whole, const PartPlace& place) {
  return {rows_of(whole.tokens, place), rows_of(whole.target_tokens, place), rows_of(whole.targets, place),
          rows_of(whole.values, place), rows_of(whole.target_values, place)};
}

void check_data(const DataFacts& data, const Network& network, std::int64_t sequence) {
  for (const LayerSpec& layer : network.layers) check_layer(data, network, layer);
  if (data.longest > sequence) {
    refuse(network, "samples of " + std::to_string(sequence) + " tokens; expected at least " +
                        std::to_string(data.longest) + " for " + data.name);
  }
}

}  // namespace plumb
