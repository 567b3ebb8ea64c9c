#include "trainer/data/value_data.hpp"

#include <utility>

#include "models/ground/error.hpp"

namespace plumb {

ValueData::ValueData(std::vector<double> values, std::int64_t features, std::vector<double> target_values,
                     std::int64_t target_features)
    : values_(std::move(values)),
      target_values_(std::move(target_values)),
      features_(features),
      target_features_(target_features) {
  const auto is_rows = [](std::size_t count, std::int64_t width) {
    return width > 0 && count > 0 && count % static_cast<std::size_t>(width) == 0;
  };
  if (!is_rows(values_.size(), features) || !is_rows(target_values_.size(), target_features) ||
      values_.size() / static_cast<std::size_t>(features) !=
          target_values_.size() / static_cast<std::size_t>(target_features)) {
    throw Error("data of values: " + std::to_string(values_.size()) + " values, " + std::to_string(features) +
                " per row, and " + std::to_string(target_values_.size()) + " target values, " +
                std::to_string(target_features) + " per row; expected as many whole rows of both");
  }
}

DataFacts ValueData::facts() const {
  DataFacts facts;
  facts.name = "values";
  facts.features = features_;
  facts.target_features = target_features_;
  facts.identity = std::to_string(values_.size()) + " values";
  return facts;
}

Microbatch ValueData::microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t) const {
  const auto rows = static_cast<std::int64_t>(values_.size()) / features_;
  Microbatch batch;
  for (std::int64_t i = 0; i < shape.tokens(); ++i) {
    const std::int64_t row = (k * shape.tokens() + i) % rows;
    const auto append = [row](std::vector<double>& to, const std::vector<double>& from, std::int64_t width) {
      to.insert(to.end(), from.begin() + row * width, from.begin() + (row + 1) * width);
    };
    append(batch.values, values_, features_);
    append(batch.target_values, target_values_, target_features_);
  }
  return batch;
}

Microbatch ValueData::held_out(std::int64_t, const MicrobatchShape&) const {
  throw Error("data of values: nothing is held out for evaluation");
}

}  // namespace plumb
