#include "models/sources/abstract_costs.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "models/ground/rational.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kNsPerUnit = 1'000'000;

using Values = std::map<std::string, Rational, std::less<>>;

/// What first tries and other systems call the keys of times.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kOtherKeys{{{"fwd", "F"},
                                                                                    {"forward", "F"},
                                                                                    {"bwd", "B"},
                                                                                    {"backward", "B"},
                                                                                    {"input", "I"},
                                                                                    {"dgrad", "I"},
                                                                                    {"weight", "W"},
                                                                                    {"wgrad", "W"},
                                                                                    {"p2p", "comm"},
                                                                                    {"send", "comm"},
                                                                                    {"communication", "comm"}}};

/// Returns the key of `keys` that is meant, whatever its letters' case. Throws `Error` for another one.
std::string_view known_key(std::string_view key, std::span<const std::string_view> keys) {
  if (const auto same = std::ranges::find(keys, key); same != keys.end()) return *same;
  const std::string plain = dashed_name(key);
  const auto like = std::ranges::find_if(keys, [&](std::string_view one) { return dashed_name(one) == plain; });
  if (like != keys.end()) return *like;
  for (const auto& [theirs, ours] : kOtherKeys) {
    if (theirs == plain && std::ranges::find(keys, ours) != keys.end()) return ours;
  }
  throw_unknown("key", key, keys);
}

/// What a list of values looks like, and what its values may be written with.
struct ListKind {
  std::string_view name;     ///< in messages: "costs"
  std::string_view example;  ///< "F=1,B=2"
  std::span<const std::string_view> keys;
  bool times = false;  ///< a value may say that it is in ms
};

/// `list` with a comma where only blanks stand between two items, and no blanks.
std::string without_blanks(std::string_view list) {
  std::string kept;
  bool blank = false;
  for (const char letter : list) {
    if (letter == ' ') {
      blank = true;
      continue;
    }
    if (blank && !kept.empty() && kept.back() != ',' && letter != ',') kept += ',';
    blank = false;
    kept += letter;
  }
  return kept;
}

/// "F=1,W=1/3" as values by key.
Values parse_list(std::string_view list, const ListKind& kind) {
  const std::string where = std::string(kind.name) + " '" + std::string(list) + "': ";
  const std::string items = without_blanks(list);
  Values values;
  std::string_view rest = items;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw Error(where + "'" + std::string(item) + "' is not KEY=VALUE, expected a list such as " +
                  std::string(kind.example));
    }
    std::string_view value = item.substr(equals + 1);
    if (kind.times && value.ends_with("ms")) value.remove_suffix(2);
    try {
      const std::string key(known_key(item.substr(0, equals), kind.keys));
      if (!values.emplace(key, parse_rational(value)).second) throw Error("'" + key + "' is given twice");
    } catch (const Error& error) {
      throw Error(where + error.what());
    }
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<Rational> given(const Values& values, std::string_view key) {
  const auto at = values.find(key);
  return at == values.end() ? std::nullopt : std::optional(at->second);
}

Rational value_or_zero(const Values& values, std::string_view key) { return given(values, key).value_or(Rational()); }

struct Backward {
  Rational b, i, w;
};

/// B = I + W, from whichever of the three are given.
Backward complete_backward(const Values& values) {
  const auto b = given(values, "B");
  const auto i = given(values, "I");
  const auto w = given(values, "W");
  Backward done;
  if (!b) {
    done.i = i.value_or(Rational());
    done.w = w.value_or(Rational());
  } else if (!i && !w) {
    done.i = done.w = *b * Rational(1, 2);
  } else {
    done.i = i ? *i : *b - *w;
    done.w = w ? *w : *b - *i;
  }
  done.b = done.i + done.w;
  const Rational zero;
  if ((b && !(done.b == *b)) || done.i < zero || done.w < zero) {
    const auto show = [](const std::optional<Rational>& value) { return value ? to_string(*value) : "not given"; };
    throw Error("B must be I + W: B is " + show(b) + ", I is " + show(i) + ", W is " + show(w));
  }
  return done;
}

/// Turns exact values into integers by a common factor, found before the first is turned.
class Scale {
 public:
  /// Values in units of 1/`per_one` need no factor.
  explicit Scale(std::int64_t per_one) : per_one_(per_one) {}

  void take(const Rational& value) {
    factor_ = checked_lcm(factor_, value.denominator / std::gcd(value.denominator, per_one_));
  }

  std::int64_t operator()(const Rational& value) const {
    const double most = static_cast<double>(kMostCost) / static_cast<double>(per_one_) / static_cast<double>(factor_);
    const double wanted = static_cast<double>(value.numerator) / static_cast<double>(value.denominator);
    if (wanted > most) refuse(value, most);
    const Rational scaled = value * Rational(factor_) * Rational(per_one_);
    if (scaled.numerator > kMostCost) refuse(value, most);
    return scaled.numerator;
  }

  std::int64_t factor() const { return factor_; }

 private:
  /// Fractions are what makes the unit of all values small.
  [[noreturn]] void refuse(const Rational& value, double most) const {
    char text[32];
    std::snprintf(text, sizeof text, "%.12g", most);
    std::string unit;
    if (factor_ != 1) unit = ", because the fractions of all values need a unit of 1/" + std::to_string(factor_);
    if (factor_ != 1 && per_one_ != 1) unit += " ns";
    throw Error(to_string(value) + " is too large; expected at most " + text + unit);
  }

  std::int64_t per_one_;
  std::int64_t factor_ = 1;
};

struct NamedTime {
  Rational value;
  Ticks* to;
};

Rational larger(const Rational& one, const Rational& other) { return one < other ? other : one; }

/// Adds the times of pairs that are given.
void add_pairs(const Values& values, PairTimes& pairs, std::vector<NamedTime>& times) {
  for (std::size_t i = 0; i < kPairNames.size(); ++i) {
    const auto value = given(values, kPairNames[i]);
    if (!value) continue;
    if (value->numerator == 0) throw Error(std::string(kPairNames[i]) + " must be above 0");
    times.push_back({*value, &pairs.ticks[i]});
  }
}

void fill_times(const Values& values, const AbstractCostOptions& options, StageCosts& costs) {
  const Backward backward = complete_backward(values);
  const Rational f = value_or_zero(values, "F");
  const Rational f_comm = value_or_zero(values, "F.comm");
  const Rational i_comm = value_or_zero(values, "I.comm");
  const bool recomputes = options.recompute || values.contains("R");
  const Rational r = recomputes ? given(values, "R").value_or(f) + f_comm : Rational();
  StageTimes stage;
  std::vector<NamedTime> times = {{f + f_comm, &stage.f},
                                  {backward.i + larger(i_comm, backward.w), &stage.b},
                                  {backward.i + i_comm, &stage.i},
                                  {backward.w, &stage.w},
                                  {r, &stage.r},
                                  {f_comm, &stage.f_comm.all},
                                  {f_comm, &stage.f_comm.shown},
                                  {i_comm, &stage.b_comm.all},
                                  {larger(i_comm - backward.w, Rational()), &stage.b_comm.shown},
                                  {i_comm, &stage.i_comm.all},
                                  {i_comm, &stage.i_comm.shown},
                                  {value_or_zero(values, "U"), &stage.u},
                                  {value_or_zero(values, "X"), &stage.x},
                                  {value_or_zero(values, "EVICT"), &stage.evict},
                                  {value_or_zero(values, "LOAD"), &stage.load},
                                  {value_or_zero(values, "AR"), &stage.all_reduce}};
  StageTimes head;
  for (const auto& [key, to] : {std::pair{"S", &head.f}, std::pair{"T", &head.b}, std::pair{"T", &head.w}}) {
    times.push_back({value_or_zero(values, key), to});
  }
  add_pairs(values, stage.pairs, times);
  const Rational comm = value_or_zero(values, "comm");
  Scale scale(kNsPerUnit);
  scale.take(comm);
  const Rational part(options.shares_together, options.stages_together);
  for (NamedTime& time : times) {
    time.value = time.value * part;
    scale.take(time.value);
  }
  for (const NamedTime& time : times) *time.to = scale(time.value);
  costs.base.ticks_per_ns = scale.factor();
  costs.comm = scale(comm);
  costs.times.assign(static_cast<std::size_t>(options.num_stages), stage);
  for (const StageId share : options.shares) costs.times[index(share)] = head;
  if (!options.vocabulary) return;
  for (const StageId share : options.vocabulary->output) costs.times[index(share)] = head;
  for (const StageId share : options.vocabulary->input) costs.times[index(share)] = {};
  if (options.vocabulary->loss) costs.times[index(*options.vocabulary->loss)] = {};
}

void fill_memory(const Values& values, const AbstractCostOptions& options, StageCosts& costs) {
  const Rational share(options.shares_together, options.stages_together);
  const Rational f = value_or_zero(values, "F") * share;
  const Rational i = (value_or_zero(values, "I") + value_or_zero(values, "B")) * share;
  const Rational w = value_or_zero(values, "W") * share;
  const Rational zero;
  if (values.contains("B") && values.contains("I")) throw Error("give I or B, not both: they mean the same here");
  if (!(f + i + w == zero)) {
    throw Error("F + I + W must be 0, what was made must be freed: it is " + to_string(f + i + w));
  }
  if (f < zero || zero < w) throw Error("F must be at least 0 and W at most 0");

  const Rational freed_by_i = i < zero ? zero - i : zero;
  const Rational made_by_i = zero < i ? i : zero;
  const Rational freed_by_w = zero - w - made_by_i;
  Scale scale(1);
  for (const Rational& part : {freed_by_i, made_by_i, freed_by_w}) scale.take(part);
  StageMemory memory;
  const auto add = [&](const char* name, const Rational& size, StashTensor::MadeBy made_by, LastUse last_use) {
    if (!(size == zero)) memory.stash.push_back({name, scale(size), made_by, last_use});
  };
  add("kept_for_input_grad", freed_by_i, StashTensor::MadeBy::kForward, LastUse::kInputGrad);
  add("kept_for_weight_grad", freed_by_w, StashTensor::MadeBy::kForward, LastUse::kWeightGrad);
  add("made_by_input_grad", made_by_i, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad);
  costs.memory_units_per_one = scale.factor();
  costs.memory.assign(static_cast<std::size_t>(options.num_stages), memory);
  for (const StageId one : options.shares) costs.memory[index(one)] = {};
  if (!options.vocabulary) return;
  for (const auto* shares : {&options.vocabulary->output, &options.vocabulary->input}) {
    for (const StageId one : *shares) costs.memory[index(one)] = {};
  }
  if (options.vocabulary->loss) costs.memory[index(*options.vocabulary->loss)] = {};
}

/// Runs `fill`, with the list at the beginning of the message that it throws.
template <class Fill>
void with_context(std::string_view name, std::string_view list, Fill fill) {
  try {
    fill();
  } catch (const Error& error) {
    throw Error(std::string(name) + " '" + std::string(list) + "': " + error.what());
  }
}

const std::vector<std::string_view>& time_keys() {
  static const std::vector<std::string_view> keys = [] {
    std::vector<std::string_view> all{"F",     "B",    "I", "W", "R",    "U",      "X",     "AR",
                                      "EVICT", "LOAD", "S", "T", "comm", "F.comm", "I.comm"};
    all.insert(all.end(), kPairNames.begin(), kPairNames.end());
    return all;
  }();
  return keys;
}

}  // namespace

StageCosts abstract_costs(std::string_view times, std::string_view memory, const AbstractCostOptions& options) {
  static constexpr std::array<std::string_view, 4> kMemoryKeys{"F", "I", "W", "B"};
  StageCosts costs;
  const ListKind of_times{.name = "costs", .example = "F=1,B=2", .keys = time_keys(), .times = true};
  const Values time_values = parse_list(times, of_times);
  with_context("costs", times, [&] {
    for (const auto& [key, value] : time_values) {
      if (value < Rational()) throw Error(key + " must be at least 0");
    }
    fill_times(time_values, options, costs);
  });
  if (!memory.empty()) {
    const Values memory_values = parse_list(memory, {.name = "memory", .example = "F=1,I=0,W=-1", .keys = kMemoryKeys});
    with_context("memory", memory, [&] { fill_memory(memory_values, options, costs); });
  }
  return costs;
}

}  // namespace plumb
