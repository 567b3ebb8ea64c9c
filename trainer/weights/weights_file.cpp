#include "trainer/weights/weights_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListed = 4;  ///< tensors named in a message

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
  return text + "]";
}

/// "'a', 'b' and 5 more".
std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  if (names.size() > kMostListed) text += " and " + std::to_string(names.size() - kMostListed) + " more";
  return text;
}

/// Returns a number of 16 bits: sign, 5 bits of exponent, 10 of fraction.
double from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

template <class T, class F>
void convert(std::span<const std::byte> bytes, std::vector<double>& values, F as_double) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T number;
    std::memcpy(&number, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = as_double(number);
  }
}

/// Returns the numbers of a tensor; none for a type that weights do not have.
std::optional<std::vector<double>> numbers_of(const SafetensorsFile::Tensor& tensor, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  if (tensor.dtype == "F64") {
    convert<double>(tensor.bytes, values, [](double x) { return x; });
  } else if (tensor.dtype == "F32") {
    convert<float>(tensor.bytes, values, [](float x) { return static_cast<double>(x); });
  } else if (tensor.dtype == "F16") {
    convert<std::uint16_t>(tensor.bytes, values, from_half);
  } else if (tensor.dtype == "BF16") {
    convert<std::uint16_t>(tensor.bytes, values,
                           [](std::uint16_t x) { return kernels::to_float(kernels::BFloat16{x}); });
  } else {
    return std::nullopt;
  }
  return values;
}

/// Takes the tensors of one file after another.
class WeightsReader {
 public:
  WeightsReader(std::string name, const Network& network)
      : name_(std::move(name)), network_(network), parameters_(network_parameters(network)) {}

  /// All names of the files, to find out whose names they are.
  void choose_names(const std::set<std::string>& found) {
    names_ = own_names(parameters_);
    const std::optional<TensorNames> published = published_names(network_);
    if (published && matches(*published, found) > matches(names_, found)) names_ = *published;
    for (const NamedTensor& tensor : names_.tensors) wanted_.emplace(key(tensor.name), &tensor);
    if (names_.copy) wanted_.emplace(key(names_.copy->name), &*names_.copy);
    check_names(found);
    for (const ParameterFacts& parameter : parameters_) {
      values_[parameter.name].resize(static_cast<std::size_t>(parameter.count()));
    }
  }

  void take(const SafetensorsFile& file) {
    for (const auto& [name, tensor] : file.tensors()) {
      const auto wanted = wanted_.find(key(name));
      if (wanted != wanted_.end()) take(name, tensor, *wanted->second);
    }
  }

  NamedValues values() {
    if (names_.copy && copy_) check_copy();
    return std::move(values_);
  }

 private:
  /// Returns a name without what files may leave out in front.
  std::string key(const std::string& name) const {
    return name.starts_with(names_.prefix) ? name.substr(names_.prefix.size()) : name;
  }

  static std::size_t matches(const TensorNames& names, const std::set<std::string>& found) {
    return static_cast<std::size_t>(std::ranges::count_if(names.tensors, [&](const NamedTensor& tensor) {
      return found.contains(tensor.name) ||
             (!names.prefix.empty() && found.contains(tensor.name.substr(names.prefix.size())));
    }));
  }

  void check_names(const std::set<std::string>& found) const {
    std::set<std::string> keys;
    std::vector<std::string> unexpected;
    for (const std::string& name : found) {
      keys.insert(key(name));
      if (!wanted_.contains(key(name)) && !is_buffer(name)) unexpected.push_back(name);
    }
    std::vector<std::string> missing;
    for (const NamedTensor& tensor : names_.tensors) {
      if (!keys.contains(key(tensor.name))) missing.push_back(tensor.name);
    }
    if (missing.empty() && unexpected.empty()) return;
    std::string text = name_ + ": the tensors are not those of network '" + network_.name + "':";
    if (!missing.empty()) text += " missing " + list_text(missing);
    if (!unexpected.empty()) text += (missing.empty() ? " unexpected " : "; unexpected ") + list_text(unexpected);
    throw Error(text + "; `plumbline weights list` lists all that are expected");
  }

  void take(const std::string& name, const SafetensorsFile::Tensor& tensor, const NamedTensor& wanted) {
    const std::string where = name_ + ": tensor '" + name + "': ";
    if (tensor.shape != wanted.shape) {
      throw Error(where + "shape " + shape_text(tensor.shape) + ", expected " + shape_text(wanted.shape));
    }
    const std::optional<std::vector<double>> numbers = numbers_of(tensor, wanted.count());
    if (!numbers) throw Error(where + "type " + tensor.dtype + ", expected F64, F32, F16 or BF16");
    if (names_.copy && &wanted == &*names_.copy) {
      copy_ = *numbers;
      return;
    }
    std::vector<double>& values = values_.at(wanted.parameter);
    const std::int64_t columns = columns_of(wanted.parameter);
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      values[static_cast<std::size_t>(wanted.place(static_cast<std::int64_t>(i), columns))] = (*numbers)[i];
    }
  }

  std::int64_t columns_of(const std::string& parameter) const {
    const auto facts = std::ranges::find(parameters_, parameter, &ParameterFacts::name);
    return facts->count() / facts->shape.front();
  }

  /// A tied head has one weight; a file that stores it twice must agree with itself.
  void check_copy() const {
    if (*copy_ == values_.at(names_.copy->parameter)) return;
    throw Error(name_ + ": tensor '" + names_.copy->name + "' differs from the embedding's weight, but network '" +
                network_.name + "' ties them (the head is `tied`)");
  }

  std::string name_;
  const Network& network_;
  std::vector<ParameterFacts> parameters_;
  TensorNames names_;
  std::map<std::string, const NamedTensor*> wanted_;  ///< by name without the prefix
  NamedValues values_;
  std::optional<std::vector<double>> copy_;
};

std::set<std::string> names_in(const SafetensorsFile& file) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : file.tensors()) names.insert(name);
  return names;
}

/// Returns a file that an index names: in the same folder, and nowhere else.
fs::path shard(const fs::path& index, const JsonValue& value) {
  const fs::path file(value.text());
  if (file.empty() || file.has_parent_path() || file == "." || file == "..") {
    value.fail("expected the name of a file in the folder of the index");
  }
  return index.parent_path() / file;
}

NamedValues read_index(const fs::path& path, const Network& network) {
  const JsonDocument document(read_text_file(path), path.string());
  std::set<std::string> names;
  std::set<fs::path> files;
  for (const JsonValue::Member& member : document.root().at("weight_map").members()) {
    names.emplace(member.key);
    files.insert(shard(path, member.value));
  }
  WeightsReader reader(path.string(), network);
  reader.choose_names(names);
  std::set<std::string> found;
  const GivenFiles named(FileReach::kRegular);
  for (const fs::path& file : files) {
    const SafetensorsFile tensors(file);
    found.merge(names_in(tensors));
    reader.take(tensors);
  }
  std::vector<std::string> missing;
  std::ranges::set_difference(names, found, std::back_inserter(missing));
  if (!missing.empty()) throw Error(path.string() + ": no file has " + list_text(missing));
  return reader.values();
}

/// Returns what a folder has: one file, or an index of several.
fs::path file_in(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    if (fs::exists(path / name, ignored)) return path / name;
  }
  throw Error(path.string() + ": has no model.safetensors and no model.safetensors.index.json");
}

}  // namespace

NamedValues read_weights(const fs::path& path, const Network& network) {
  const fs::path file = file_in(path);
  if (file.extension() == ".json") return read_index(file, network);
  const SafetensorsFile tensors(file);
  WeightsReader reader(file.string(), network);
  reader.choose_names(names_in(tensors));
  reader.take(tensors);
  return reader.values();
}

}  // namespace plumb
