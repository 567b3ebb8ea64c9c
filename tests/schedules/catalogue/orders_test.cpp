// What the generators of the catalogue make, at many sizes and with every option: a line for each schedule and number
// of devices in tests/golden/orders. A name stands for the same order in every release; where one is changed on
// purpose, the lines that change are those of the sizes and options at which it differs.
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/text_sum.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// The document that is made, or why none is.
std::string made(const ScheduleSpec& spec, const ScheduleParams& params) {
  try {
    return schedule_to_json(generate(spec.name, params));
  } catch (const Error& error) {
    return error.what();
  }
}

/// Passes that take unlike times, on stages that are unlike each other.
StageCosts unlike_costs(std::int32_t num_stages) {
  StageCosts costs = abstract_costs("F=4,I=5,W=3,U=2,R=4,comm=1", "F=6,I=-2,W=-4", {.num_stages = num_stages});
  for (std::size_t stage = 0; stage < costs.times.size(); ++stage) {
    costs.times[stage].f += static_cast<Ticks>(stage % 3) * costs.times[stage].f / 4;
    costs.times[stage].w += static_cast<Ticks>(stage % 2) * costs.times[stage].w / 3;
    costs.times[stage].b = costs.times[stage].i + costs.times[stage].w;
  }
  return costs;
}

/// Backwards whose input gradients take long, without time between devices.
StageCosts short_weights(std::int32_t num_stages) {
  return abstract_costs("F=3,I=7,W=1", "F=5,I=1,W=-6", {.num_stages = num_stages});
}

/// Words that an option offers, and numbers and lists for it.
std::vector<std::string> values_of(const NamedOption& option) {
  std::vector<std::string> values;
  std::istringstream words{values_text(option)};
  for (std::string word; std::getline(words, word, '|');) values.push_back(word);
  for (const char* more : {"0", "1", "2", "3", "4", "6", "2,1", "1,2,3", "1-2-1", "2-2", "1-1-1-1"})
    values.emplace_back(more);
  return values;
}

/// A few values of an option beside another one.
std::vector<std::string> some_values_of(const NamedOption& option) {
  if (option.name == "model") return {"2x16x64x2x100"};
  if (option.name == "tokens") return {"32"};
  std::vector<std::string> values{"2"};
  std::istringstream words{values_text(option)};
  for (std::string word; std::getline(words, word, '|');) {
    if (word.size() > 1 && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos)
      values.push_back(word);
  }
  values.emplace_back("3");
  return values;
}

/// What two options make together. Options of slices need a length of the sequence and a model.
std::string sum_of_pairs(const ScheduleSpec& spec) {
  TextSum sum;
  std::map<std::string, std::string> needed;
  for (const NamedOption& option : spec.options) {
    if (option.name == "model" || option.name == "tokens")
      needed[std::string(option.name)] = some_values_of(option).front();
  }
  const auto options = spec.all_options();
  for (std::size_t one = 0; one < options.size(); ++one) {
    for (std::size_t other = one + 1; other < options.size(); ++other) {
      for (const std::string& first : some_values_of(options[one])) {
        for (const std::string& second : some_values_of(options[other])) {
          ScheduleParams params{.num_devices = 4, .num_microbatches = 8, .options = needed};
          params.options[std::string(options[one].name)] = first;
          params.options[std::string(options[other].name)] = second;
          sum.add(made(spec, params));
        }
      }
    }
  }
  return sum.text();
}

std::string lines_of(const ScheduleSpec& spec) {
  std::string text;
  const std::string name(spec.name);
  for (const std::int32_t p : {1, 2, 3, 4, 5, 8}) {
    TextSum sum;
    for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8, 12, 15, 16}) {
      for (const std::int32_t v : {0, 2, 3}) {
        if (v == 0 || spec.placement != "linear")
          sum.add(made(spec, {.num_devices = p, .num_microbatches = m, .chunks = v}));
      }
    }
    for (const std::int64_t updates : {1, 2, 3}) {
      sum.add(made(spec, {.num_devices = p, .num_microbatches = 6, .updates = updates}));
    }
    for (const double limit : {0.0, 6e6, 8e6, 1.2e7, 2e7, 5e7}) {
      for (const std::int64_t m : {3, 9}) {
        sum.add(made(spec, {.num_devices = p, .num_microbatches = m, .costs = unlike_costs, .memory_limit = limit}));
      }
      sum.add(made(spec, {.num_devices = p, .num_microbatches = 6, .costs = short_weights, .memory_limit = limit}));
    }
    text += name + " on " + std::to_string(p) + ": " + sum.text() + "\n";
  }
  text += name + " by two options: " + sum_of_pairs(spec) + "\n";
  for (const NamedOption& option : spec.all_options()) {
    TextSum sum;
    for (const std::string& value : values_of(option)) {
      for (const std::int32_t p : {2, 4}) {
        for (const std::int64_t m : {4, 12}) {
          const ScheduleParams params{
              .num_devices = p, .num_microbatches = m, .options = {{std::string(option.name), value}}};
          sum.add(made(spec, params));
        }
      }
    }
    text += name + " by " + std::string(option.name) + ": " + sum.text() + "\n";
  }
  return text;
}

void check_orders(std::span<const ScheduleSpec> specs, const std::string& file) {
  std::string text;
  for (const ScheduleSpec& spec : specs) text += lines_of(spec);
  CHECK(text == golden("orders/" + file + ".txt", text));
}

}  // namespace

TEST_CASE("the synchronous orders are the same at every size and with every option") {
  check_orders(synchronous_schedules(), "synchronous");
}

TEST_CASE("the orders with split backwards are the same at every size and with every option") {
  check_orders(zero_bubble_schedules(), "zero_bubble");
}

TEST_CASE("the asynchronous orders are the same at every size and with every option") {
  check_orders(asynchronous_schedules(), "asynchronous");
}

TEST_CASE("the orders of PyTorch are the same at every size and with every option") {
  check_orders(torch_schedules(), "torch");
}

TEST_CASE("the special orders are the same at every size and with every option") {
  check_orders(special_schedules(), "special");
}

}  // namespace plumb::testing

TEST_SUITE_END();
