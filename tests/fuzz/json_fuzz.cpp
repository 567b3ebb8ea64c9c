#include <string>

#include <nlohmann/json.hpp>

#include "models/ground/json_reader.hpp"
#include "tests/fuzz/promise.hpp"

namespace {

/// Looks at every value below `value`; returns how many there are.
std::size_t visited(const plumb::JsonValue& value) {
  std::size_t count = 1;
  plumb::testing::promise(!value.where().empty(), "a value stands somewhere");
  if (value.is_array()) {
    for (const plumb::JsonValue& element : value.elements()) count += visited(element);
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.members()) {
      plumb::testing::promise(value.find(key).has_value(), "a key is found");
      count += visited(member);
    }
  }
  return count;
}

}  // namespace

/// Any text is JSON that another library reads, too, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string text(testing::text_of(data, size));
  return testing::read_or_refuse([&] { return JsonDocument(text, "fuzz.json"); },
                                 [&](const JsonDocument& document) {
                                   testing::promise(visited(document.root()) > 0, "a value");
                                   testing::promise(nlohmann::json::accept(text), "what others call JSON");
                                 });
}
