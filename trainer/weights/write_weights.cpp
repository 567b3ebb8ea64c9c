#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <optional>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "trainer/checkpoint/checkpoint_folder.hpp"
#include "trainer/checkpoint/checksums.hpp"
#include "trainer/ground/durable_file.hpp"
#include "trainer/weights/weights_file.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<double>& values) {
  std::vector<T> numbers(values.size());
  std::ranges::transform(values, numbers.begin(), [](double value) { return static_cast<T>(value); });
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> bytes_of(const std::vector<double>& values, NumberType numbers) {
  if (numbers == NumberType::kFloat64) return bytes_of<double>(values);
  std::vector<std::byte> floats = bytes_of<float>(values);
  return numbers == NumberType::kBFloat16 ? rounded_to_bfloat16(floats) : floats;
}

std::string_view dtype_of(NumberType numbers) {
  constexpr std::array<std::string_view, 3> kTypes{"F32", "F64", "BF16"};
  return kTypes.at(static_cast<std::size_t>(numbers));
}

template <class T>
NamedValues drawn(const std::vector<ParameterFacts>& parameters, std::uint64_t seed) {
  NamedValues values;
  for (const ParameterFacts& parameter : parameters) {
    std::vector<T> numbers(static_cast<std::size_t>(parameter.count()));
    fill_parameters(std::span(&parameter, 1), seed, numbers.data());
    values.emplace(parameter.name, std::vector<double>(numbers.begin(), numbers.end()));
  }
  return values;
}

/// Returns the tensor called `holder<h>.weights.<parameter>` of the first holder that has one.
const SafetensorsFile::Tensor* find_saved(const SafetensorsFile& file, const std::string& parameter) {
  const std::string end = ".weights." + parameter;
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.starts_with("holder") && name.ends_with(end) && name.find('.') + end.size() == name.size()) return &tensor;
  }
  return nullptr;
}

}  // namespace

NamedValues initial_weights(const Network& network, std::uint64_t seed, NumberType numbers) {
  const std::vector<ParameterFacts> parameters = network_parameters(network);
  return numbers == NumberType::kFloat64 ? drawn<double>(parameters, seed) : drawn<float>(parameters, seed);
}

NamedValues read_checkpoint_weights(const fs::path& directory, const Network& network) {
  const auto newest = newest_checkpoint(directory);
  if (!newest) throw Error(directory.string() + ": has no checkpoint");
  const fs::path path = *newest / "tensors.safetensors";
  const CheckpointFiles files(*newest);
  const SafetensorsFile& file = files.tensors();
  NamedValues values;
  for (const ParameterFacts& parameter : network_parameters(network)) {
    const SafetensorsFile::Tensor* tensor = find_saved(file, parameter.name);
    if (tensor == nullptr || tensor->shape != parameter.shape) {
      throw Error(path.string() + ": has no weights '" + parameter.name + "' of the shape that network '" +
                  network.name + "' has; expected a checkpoint of that network");
    }
    std::vector<double>& numbers = values[parameter.name];
    const auto count = static_cast<std::size_t>(parameter.count());
    if (tensor->dtype == "F64") {
      const auto* begin = reinterpret_cast<const double*>(tensor->bytes.data());
      numbers.assign(begin, begin + count);
    } else {
      std::vector<float> floats(count);
      std::memcpy(floats.data(), tensor->bytes.data(), count * sizeof(float));
      numbers.assign(floats.begin(), floats.end());
    }
  }
  return values;
}

void write_weights(const fs::path& path, const Network& network, const TensorNames& names, const NamedValues& values,
                   NumberType numbers) {
  const std::vector<ParameterFacts> parameters = network_parameters(network);
  std::list<std::vector<std::byte>> owned;
  std::vector<TensorView> views;
  for (const NamedTensor& tensor : names.tensors) {
    const auto facts = std::ranges::find(parameters, tensor.parameter, &ParameterFacts::name);
    const std::int64_t columns = facts->count() / facts->shape.front();
    const std::vector<double>& from = values.at(tensor.parameter);
    std::vector<double> ordered(static_cast<std::size_t>(tensor.count()));
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      ordered[i] = from[static_cast<std::size_t>(tensor.place(static_cast<std::int64_t>(i), columns))];
    }
    owned.push_back(bytes_of(ordered, numbers));
    views.push_back({tensor.name, std::string(dtype_of(numbers)), tensor.shape, owned.back()});
  }
  fs::path unfinished = path;
  unfinished += ".unfinished";
  try {
    write_safetensors(unfinished, views);
    check_written(path, disk::rename(unfinished, path));
    check_written(path, disk::flush_folder(path.has_parent_path() ? path.parent_path() : fs::path(".")));
  } catch (const Error&) {
    (void)disk::remove(unfinished);
    throw;
  }
}

TensorNames names_for(const Network& network, std::string_view naming) {
  const auto known = naming_names();
  const auto found = std::ranges::find(known, naming);
  if (!naming.empty() && found == known.end()) throw_unknown("naming", naming, known);
  const auto wanted = static_cast<Naming>(found - known.begin());
  if (naming == name_of(Naming::kPlumbline)) return own_names(network_parameters(network));
  std::optional<TensorNames> published = published_names(network);
  if (naming.empty()) return published ? *published : own_names(network_parameters(network));
  if (published && published->naming == wanted) return *published;
  throw Error("network '" + network.name + "' corresponds to no network of " + std::string(naming) + "; expected " +
              (published ? std::string(name_of(published->naming)) + " or plumbline" : std::string("plumbline")));
}

}  // namespace plumb
