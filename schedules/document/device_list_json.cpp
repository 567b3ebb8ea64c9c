#include "schedules/document/device_list_json.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "schedules/document/document_limits.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostSlice = std::numeric_limits<std::int16_t>::max();

/// How far the blocks around an action move one of its indices, over all iterations.
struct Reach {
  std::int64_t down = 0;
  std::int64_t up = 0;

  Reach widened(std::int64_t count, std::int64_t advance) const {
    const std::int64_t step = (count - 1) * advance;
    return {down + std::min<std::int64_t>(step, 0), up + std::max<std::int64_t>(step, 0)};
  }
  /// No index could be in range; refused whatever the block holds, so that no sum of advances overflows.
  bool absurd() const { return -down > kMostIndex || up > kMostIndex; }
  bool keeps(std::int64_t first, std::int64_t last, std::int64_t most) const {
    return first + down >= 0 && last + up <= most;
  }
};

struct Reaches {
  Reach microbatch;
  Reach update;
  Reach slice;
};

class ListReader {
 public:
  explicit ListReader(Mistakes& mistakes) : mistakes_(mistakes) {}

  void items(const JsonValue& array, const Reaches& reaches) {
    for (const JsonValue& item : array.elements()) {
      mistakes_.keep([&] {
        if (item.is_string()) {
          action(item, reaches);
        } else if (item.is_object()) {
          block(item, reaches);
        } else {
          item.fail_expected("an action such as \"0F1\", or a repeat block");
        }
      });
    }
  }

  DeviceList take() { return std::move(list_); }

 private:
  void action(const JsonValue& item, const Reaches& reaches) {
    const std::size_t first = list_.actions.size();
    const std::string_view expected = read_item(item.text(), list_.actions);
    if (!expected.empty()) item.fail("action '" + std::string(item.text()) + "': expected " + std::string(expected));
    for (std::size_t at = first; at < list_.actions.size(); ++at) {
      if (!in_reach(list_.actions[at], reaches)) {
        item.fail("action '" + std::string(item.text()) +
                  "': the repeat blocks around it move an index out of 0 .. 2147483647");
      }
    }
  }

  static bool in_reach(const Action& one, const Reaches& reaches) {
    const std::int64_t number = static_cast<std::int32_t>(one.microbatch);
    const bool counts_updates = one.op == Op::kU || one.op == Op::kV;
    const Reach& reach = counts_updates ? reaches.update : reaches.microbatch;
    if (number >= 0 && !reach.keeps(number, number + one.merged, kMostIndex)) return false;
    return one.slice == Action::kAllSlices || reaches.slice.keeps(one.slice, one.slice, kMostSlice);
  }

  void block(const JsonValue& json, const Reaches& around) {
    json.allow_only({"repeat", "advance", "actions"});
    Repeat repeat;
    repeat.begin = list_.actions.size();
    repeat.count = json.at("repeat").integer(1, kMostIndex);
    if (const auto by = json.find("advance")) repeat.advance = advance_of(*by);
    const Reaches reaches{around.microbatch.widened(repeat.count, repeat.advance.microbatch),
                          around.update.widened(repeat.count, repeat.advance.update),
                          around.slice.widened(repeat.count, repeat.advance.slice)};
    if (reaches.microbatch.absurd() || reaches.update.absurd() || reaches.slice.absurd()) {
      json.fail("moves an index out of 0 .. 2147483647");
    }
    const std::size_t slot = list_.repeats.size();
    list_.repeats.push_back(repeat);
    const JsonValue inside = json.at("actions");
    items(inside, reaches);
    if (inside.size() == 0) inside.fail("expected at least one action in a repeat block");
    list_.repeats[slot].end = list_.actions.size();
  }

  static Advance advance_of(const JsonValue& json) {
    const auto step = [](const JsonValue& number, std::int64_t most) {
      return static_cast<std::int32_t>(number.integer(-most, most));
    };
    if (!json.is_object()) return {.microbatch = step(json, kMostIndex)};
    json.allow_only({"microbatch", "update", "slice"});
    Advance advance;
    if (const auto by = json.find("microbatch")) advance.microbatch = step(*by, kMostIndex);
    if (const auto by = json.find("update")) advance.update = step(*by, kMostIndex);
    if (const auto by = json.find("slice")) advance.slice = step(*by, kMostSlice);
    return advance;
  }

  Mistakes& mistakes_;
  DeviceList list_;
};

}  // namespace

DeviceList device_list_from_json(const JsonValue& json, Mistakes& mistakes) {
  ListReader reader(mistakes);
  reader.items(json, {});
  return reader.take();
}

}  // namespace plumb
