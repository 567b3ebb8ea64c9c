#include "models/network/network_io.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/presets.hpp"
#include "models/ground/text_file.hpp"
#include "models/network/flow.hpp"
#include "models/network/layer_fields.hpp"
#include "models/network/layer_shape.hpp"
#include "models/network/network_check.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostLayers = 20000;
constexpr std::size_t kMostLayerName = 100;
constexpr const char* kNameExpected = "expected a name of 1 to 100 characters";
constexpr std::int64_t kMostSequence = std::int64_t{1} << 24;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 20;
constexpr std::int64_t kMostFigure = std::int64_t{1} << 50;

/// Reads layers and expands repeats. Every layer, also inside residuals, and every repetition counts against
/// `kMostLayers`.
class LayerReader {
 public:
  explicit LayerReader(const JsonValue& root) : root_(root) {}

  /// Appends the layers of `list` to `out`. `prefix` stands in front of default names, `suffix` after given ones.
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
    if (spec.name.size() > kMostLayerName) item.fail("the layer's name would be '" + spec.name + "', " + kNameExpected);
    item.allow_only(keys_of(fields));
    read_inputs(item, suffix, spec);
    for (const LayerNumber& number : fields.numbers) spec.*number.field = read_number(item, number, spec);
    for (const LayerSwitch& flag : fields.switches) {
      if (const auto value = item.find(flag.key)) spec.*flag.field = value->boolean();
    }
    for (const LayerReal& real : fields.reals) {
      if (const auto value = item.find(real.key)) real.set(spec, value->number(real.least, real.most));
    }
    if (const auto value = item.find("activation")) spec.activation = activation_of(*value);
    if (const auto why = item.find("costs_only")) spec.costs_only = why->text();
    if (spec.kind == LayerKind::kResidual) read_branches(item, suffix, spec);
    if (spec.kind == LayerKind::kProfiled) {
      for (const ProfiledField& figure : kProfiledFields) {
        if (const auto value = item.find(figure.key)) spec.profiled.*figure.field = value->integer(0, kMostFigure);
      }
    }
    made_[spec.name] = before_ = extent_behind(spec);
    return spec;
  }

  void read_branches(const JsonValue& item, const std::string& suffix, LayerSpec& spec) {
    const Extent in = before_;
    list(item.at("body"), spec.name + ".", suffix, spec.body);
    const Extent out = before_;
    before_ = in;
    if (const auto shortcut = item.find("shortcut")) {
      list(*shortcut, spec.name + ".shortcut.", suffix, spec.shortcut);
    }
    before_ = out;
  }

  /// What the layer reads: the names are those of the same repetition where it has them, or of one around it.
  void read_inputs(const JsonValue& item, const std::string& suffix, LayerSpec& spec) {
    if (const auto input = item.find("input")) {
      spec.input = known_name(*input, suffix);
      before_ = made_.at(spec.input);
    }
    if (reads_two(spec.kind)) spec.from = known_name(item.at("from"), suffix);
    if (spec.kind != LayerKind::kResidual) return;
    if (const auto from = item.find("from")) spec.from = known_name(*from, suffix);
  }

  std::string known_name(const JsonValue& value, std::string suffix) const {
    while (true) {
      const std::string name = std::string(value.text()) + suffix;
      if (made_.contains(name)) return name;
      if (suffix.empty()) value.fail("expected the name of a layer before this one, found '" + name + "'");
      suffix.erase(suffix.rfind('.'));
    }
  }

  /// Sides and width of what a layer makes.
  struct Extent {
    std::int64_t width = 0;
    ImageShape image;
  };

  Extent extent_behind(const LayerSpec& spec) const {
    Extent made{output_width(spec), before_.image};
    if (spec.kind == LayerKind::kPixels || reads_image(spec.kind)) made.image = output_image(spec);
    if (spec.kind == LayerKind::kAveragePool && spec.kernel == 0) made.image = {};
    return made;
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

  static Activation activation_of(const JsonValue& value) {
    const auto names = activation_names();
    const auto found = std::ranges::find(names.begin() + 1, names.end(), value.text());
    if (found != names.end()) return static_cast<Activation>(found - names.begin());
    try {
      throw_unknown("activation", value.text(), {names.begin() + 1, names.end()});
    } catch (const Error& error) {
      value.fail(error.what());
    }
  }

  static std::vector<std::string_view> keys_of(const LayerFields& fields) {
    std::vector<std::string_view> keys{"kind", "name", "costs_only"};
    if (!begins_network(fields.kind)) keys.emplace_back("input");
    if (reads_two(fields.kind)) keys.emplace_back("from");
    for (const LayerNumber& number : fields.numbers) keys.push_back(number.key);
    for (const LayerSwitch& flag : fields.switches) keys.push_back(flag.key);
    for (const LayerReal& real : fields.reals) keys.push_back(real.key);
    if (has_activation(fields.kind)) keys.emplace_back("activation");
    if (fields.kind == LayerKind::kResidual) keys.insert(keys.end(), {"body", "shortcut", "from"});
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
      case LayerNumber::Default::kOne:
        return 1;
      case LayerNumber::Default::kKernel:
        return spec.kernel;
      case LayerNumber::Default::kHalfKernel:
        return spec.kernel / 2;
      case LayerNumber::Default::kFourWidths:
        return 4 * spec.width;
      case LayerNumber::Default::kBefore:
        if (const std::int64_t made = made_before(number.key); made > 0) return made;
        break;
      case LayerNumber::Default::kNetwork:
        if (const auto value = root_.find(number.key)) return value->integer(number.least, number.most);
        break;
    }
    return item.at(number.key).integer();
  }

  /// Returns what the layer that is read makes; 0: not known.
  std::int64_t made_before(std::string_view key) const {
    if (key == "width") return before_.width;
    if (key == "height") return before_.image.height;
    return key == "columns" ? before_.image.columns : before_.image.channels;
  }

  JsonValue root_;
  std::int64_t expanded_ = 0;
  Extent before_;                       ///< extent of the layer before
  std::map<std::string, Extent> made_;  ///< by layer
};

Json layer_to_json(const LayerSpec& layer);

Json layers_to_json(const std::vector<LayerSpec>& layers) {
  Json list = Json::array();
  for (const LayerSpec& layer : layers) list.push_back(layer_to_json(layer));
  return list;
}

Json layer_to_json(const LayerSpec& layer) {
  const LayerFields& fields = layer_fields()[static_cast<std::size_t>(layer.kind)];
  const LayerSpec defaults;
  Json json{{"kind", fields.name}, {"name", layer.name}};
  if (!layer.input.empty()) json["input"] = layer.input;
  if (!layer.from.empty()) json["from"] = layer.from;
  for (const LayerNumber& number : fields.numbers) {
    const bool zero_is_missing = number.when_missing != LayerNumber::Default::kHalfKernel &&
                                 number.when_missing != LayerNumber::Default::kRequired;
    if (layer.*number.field != 0 || !zero_is_missing) json[std::string(number.key)] = layer.*number.field;
  }
  for (const LayerSwitch& flag : fields.switches) {
    if (layer.*flag.field != defaults.*flag.field) json[std::string(flag.key)] = layer.*flag.field;
  }
  for (const LayerReal& real : fields.reals) {
    if (real.get(layer) != real.get(defaults)) json[std::string(real.key)] = real.get(layer);
  }
  if (layer.activation != Activation::kUsual) {
    json["activation"] = activation_names()[static_cast<std::size_t>(layer.activation)];
  }
  if (!layer.costs_only.empty()) json["costs_only"] = layer.costs_only;
  if (layer.kind == LayerKind::kProfiled) {
    for (const ProfiledField& figure : kProfiledFields) json[std::string(figure.key)] = layer.profiled.*figure.field;
  }
  if (!layer.body.empty()) json["body"] = layers_to_json(layer.body);
  if (!layer.shortcut.empty()) json["shortcut"] = layers_to_json(layer.shortcut);
  return json;
}

}  // namespace

Network network_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  check_format(root, "plumbline-network", 1);
  root.allow_only({"format", "version", "name", "source", "sequence", "samples", "width", "vocabulary", "classes",
                   "open_residuals", "layers"});
  Network network;
  network.name = root.at("name").text();
  if (const auto source = root.find("source")) network.source = source->text();
  network.sequence = root.at("sequence").integer(1, kMostSequence);
  if (const auto samples = root.find("samples")) network.samples = samples->integer(1, kMostSamples);
  LayerReader(root).list(root.at("layers"), "", "", network.layers);
  try {
    if (const auto open = root.find("open_residuals"); open && open->boolean()) network = opened(network);
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

}  // namespace plumb
