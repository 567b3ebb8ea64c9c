#include "models/network_io.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/error.hpp"
#include "models/json_reader.hpp"
#include "models/layer_fields.hpp"
#include "models/network_check.hpp"
#include "models/presets.hpp"
#include "models/text_file.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostLayers = 20000;
constexpr std::size_t kMostName = 100;
constexpr const char* kNameExpected = "expected a name of 1 to 100 characters";
constexpr std::int64_t kMostSequence = std::int64_t{1} << 24;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 20;
constexpr std::int64_t kMostFigure = std::int64_t{1} << 50;

/// Reads layers and expands repeats. Every layer, also inside residuals, and every repetition counts against
/// `kMostLayers`.
class LayerReader {
 public:
  explicit LayerReader(const JsonValue& root) : root_(root) {}

  /// Appends the layers of `list` to `out`. `prefix` stands in front of default names, `suffix` behind given ones.
  void list(const JsonValue& list, const std::string& prefix, const std::string& suffix, std::vector<LayerSpec>& out) {
    for (const JsonValue& item : list.elements()) {
      if (item.find("repeat")) {
        repeat(item, prefix, suffix, out);
      } else {
        out.push_back(layer(item, prefix, suffix, out.size()));
      }
    }
  }

 private:
  void repeat(const JsonValue& item, const std::string& prefix, const std::string& suffix,
              std::vector<LayerSpec>& out) {
    item.allow_only({"repeat", "layers"});
    const std::int64_t count = item.at("repeat").integer(1, kMostLayers);
    const JsonValue layers = item.at("layers");
    for (std::int64_t k = 0; k < count; ++k) {
      count_one(item);  // empty repeats cost time, too
      list(layers, prefix, suffix + "." + std::to_string(k), out);
    }
  }

  LayerSpec layer(const JsonValue& item, const std::string& prefix, const std::string& suffix, std::size_t position) {
    count_one(item);
    const LayerFields& fields = kind_of(item.at("kind"));
    LayerSpec spec;
    spec.kind = fields.kind;
    const auto name = item.find("name");
    spec.name = name ? given_name(*name) + suffix : prefix + std::string(fields.name) + std::to_string(position);
    if (spec.name.size() > kMostName) item.fail("the layer's name would be '" + spec.name + "', " + kNameExpected);
    item.allow_only(keys_of(fields));
    for (const LayerNumber& number : fields.numbers) spec.*number.field = read_number(item, number, spec);
    for (const LayerSwitch& flag : fields.switches) {
      if (const auto value = item.find(flag.key)) spec.*flag.field = value->boolean();
    }
    if (spec.kind == LayerKind::kResidual) list(item.at("body"), spec.name + ".", suffix, spec.body);
    if (spec.kind == LayerKind::kProfiled) {
      for (const ProfiledField& figure : kProfiledFields) {
        if (const auto value = item.find(figure.key)) spec.profiled.*figure.field = value->integer(0, kMostFigure);
      }
    }
    return spec;
  }

  void count_one(const JsonValue& item) {
    if (++expanded_ > kMostLayers) {
      item.fail("expected at most " + std::to_string(kMostLayers) + " layers and repetitions in all");
    }
  }

  static const LayerFields& kind_of(const JsonValue& kind) {
    std::vector<std::string_view> names;
    for (const LayerFields& fields : layer_fields()) {
      if (fields.name == kind.text()) return fields;
      names.push_back(fields.name);
    }
    try {
      throw_unknown("layer kind", kind.text(), names);
    } catch (const Error& error) {
      kind.fail(error.what());
    }
  }

  static std::vector<std::string_view> keys_of(const LayerFields& fields) {
    std::vector<std::string_view> keys{"kind", "name"};
    for (const LayerNumber& number : fields.numbers) keys.push_back(number.key);
    for (const LayerSwitch& flag : fields.switches) keys.push_back(flag.key);
    if (fields.kind == LayerKind::kResidual) keys.emplace_back("body");
    if (fields.kind == LayerKind::kProfiled) {
      for (const ProfiledField& figure : kProfiledFields) keys.push_back(figure.key);
    }
    return keys;
  }

  static std::string given_name(const JsonValue& name) {
    if (name.text().empty()) name.fail(kNameExpected);
    return std::string(name.text());
  }

  std::int64_t read_number(const JsonValue& item, const LayerNumber& number, const LayerSpec& spec) const {
    if (const auto value = item.find(number.key)) return value->integer(number.least, number.most);
    switch (number.when_missing) {
      case LayerNumber::Default::kRequired:
        break;
      case LayerNumber::Default::kZero:
        return 0;
      case LayerNumber::Default::kFourWidths:
        return 4 * spec.width;
      case LayerNumber::Default::kNetwork:
        if (const auto value = root_.find(number.key)) return value->integer(number.least, number.most);
        break;
    }
    return item.at(number.key).integer();
  }

  JsonValue root_;
  std::int64_t expanded_ = 0;
};

Json layer_to_json(const LayerSpec& layer) {
  const LayerFields& fields = layer_fields()[static_cast<std::size_t>(layer.kind)];
  const LayerSpec defaults;
  Json json{{"kind", fields.name}, {"name", layer.name}};
  for (const LayerNumber& number : fields.numbers) {
    if (layer.*number.field != 0) json[std::string(number.key)] = layer.*number.field;
  }
  for (const LayerSwitch& flag : fields.switches) {
    if (layer.*flag.field != defaults.*flag.field) json[std::string(flag.key)] = layer.*flag.field;
  }
  if (layer.kind == LayerKind::kProfiled) {
    for (const ProfiledField& figure : kProfiledFields) json[std::string(figure.key)] = layer.profiled.*figure.field;
  }
  for (const LayerSpec& inner : layer.body) json["body"].push_back(layer_to_json(inner));
  return json;
}

}  // namespace

Network network_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  root.allow_only({"format", "version", "name", "source", "sequence", "samples", "width", "vocabulary", "layers"});
  check_format(root, "plumbline-network", 1);
  Network network;
  network.name = root.at("name").text();
  if (const auto source = root.find("source")) network.source = source->text();
  network.sequence = root.at("sequence").integer(1, kMostSequence);
  if (const auto samples = root.find("samples")) network.samples = samples->integer(1, kMostSamples);
  LayerReader(root).list(root.at("layers"), "", "", network.layers);
  try {
    check_network(network);
    check_shape(network, {network.samples, network.sequence});
  } catch (const Error& error) {
    throw Error(std::string(file_name) + ": " + error.what());
  }
  return network;
}

std::string network_to_json(const Network& network) {
  const auto text = [](const std::string& value) { return Json(value).dump(); };
  std::string json = "{\n  \"format\": \"plumbline-network\", \"version\": 1,\n";
  json += "  \"name\": " + text(network.name) + ",\n  \"source\": " + text(network.source) + ",\n";
  json += "  \"sequence\": " + std::to_string(network.sequence) + ", \"samples\": " + std::to_string(network.samples);
  json += ",\n  \"layers\": [";
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    json += (k == 0 ? "\n    " : ",\n    ") + layer_to_json(network.layers[k]).dump();
  }
  return json + "\n  ]\n}\n";
}

std::vector<std::string_view> builtin_networks() {
  std::vector<std::string_view> names;
  for (const Preset& preset : network_presets()) names.push_back(preset.name);
  return names;
}

Network load_network(std::string_view name_or_path) {
  if (is_document_path(name_or_path)) return network_from_json(read_text_file(name_or_path), name_or_path);
  for (const Preset& preset : network_presets()) {
    if (preset.name == name_or_path) return network_from_json(preset.json, std::string(preset.name) + ".json");
  }
  throw_unknown("network", name_or_path, builtin_networks());
}

}  // namespace plumb
