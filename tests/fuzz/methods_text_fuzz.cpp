#include <vector>

#include "schedules/document/methods.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a list of methods, whose text gives the same list, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse([&] { return parse_methods(testing::text_of(data, size)); },
                                 [](const std::vector<Method>& methods) {
                                   testing::promise(parse_methods(to_string(methods)) == methods, "the same methods");
                                   for (const Method& method : methods) {
                                     testing::read_or_refuse(
                                         [&] {
                                           check_parameters(method);
                                           return 0;
                                         },
                                         [](int) {});
                                   }
                                 });
}
