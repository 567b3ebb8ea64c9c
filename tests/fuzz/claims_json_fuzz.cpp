#include <string>

#include "tests/fuzz/promise.hpp"
#include "tools/claims/claims.hpp"

/// Any text is a list of claims that say where they come from, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return claims_from_json(std::string(testing::text_of(data, size)), "fuzz.json"); },
      [](const std::vector<Claim>& claims) {
        for (const Claim& claim : claims) {
          testing::promise(!claim.command.empty() || !claim.formula.empty(), "a way to our number");
          testing::promise(claim.tolerance >= 0, "no negative tolerance");
        }
      });
}
