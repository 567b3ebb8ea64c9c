#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/action_text.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is an item, whose text gives the same item again, or a reason.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  std::vector<Action> actions;
  const std::string_view expected = read_item(testing::text_of(data, size), actions);
  testing::promise(expected.empty() != actions.empty(), "an item or a reason, not both");
  if (actions.empty()) return 0;
  std::string text;
  append_item(text, actions, 0);
  std::vector<Action> again;
  testing::promise(read_item(text, again).empty() && again == actions, "an item comes back as it was");
  return 0;
}
