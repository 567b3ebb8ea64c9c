#include "schedules/formats/megatron.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Reads digits at `at` and moves after them.
std::size_t number_at(const std::string& text, std::size_t& at) {
  std::size_t number = 0;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
    number = 10 * number + static_cast<std::size_t>(text[at++] - '0');
  }
  return number;
}

/// A layout written out as Megatron-LM does: commas go, then every ( ... )*n, then every character with *n.
std::string written_out(std::string layout) {
  std::erase(layout, ',');
  for (std::size_t open = layout.find('('); open != std::string::npos; open = layout.find('(')) {
    const std::size_t close = layout.find(')', open);
    std::size_t after = close + 2;
    const std::size_t times = number_at(layout, after);
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += layout.substr(open + 1, close - open - 1);
    layout.replace(open, after - open, all);
  }
  for (std::size_t star = layout.find('*'); star != std::string::npos; star = layout.find('*')) {
    std::size_t after = star + 1;
    const std::size_t times = number_at(layout, after);
    layout.replace(star - 1, after - star + 1, std::string(times, layout[star - 1]));
  }
  return layout;
}

std::string megatron_refusal(std::string_view name, const ScheduleParams& params) {
  return error_message([&] { megatron_plan(generate(name, params)); });
}

}  // namespace

TEST_CASE("a layout written out has the embedding, every stage's layers and the loss") {
  for (const std::vector<std::int64_t>& layers :
       {std::vector<std::int64_t>{1}, {2, 3}, {4, 4, 4, 4}, {1, 2, 2, 2, 2, 1}, {12, 9, 9, 9, 3, 3, 20, 20}}) {
    std::string expected = "E";
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
      expected += (stage > 0 ? "|" : "") + std::string(static_cast<std::size_t>(layers[stage]), 't');
    }
    const std::string layout = megatron_layout(layers);
    CAPTURE(layout);
    CHECK(written_out(layout) == expected + "L");
  }
  CHECK(megatron_layout(std::vector<std::int64_t>{2, 4, 4, 4, 4, 4, 3, 1}) == "Ett|(tttt|)*5,ttt|tL");
}

TEST_CASE("the plan of Megatron's own orders is what made them") {
  for (const std::int32_t p : {2, 3, 4}) {
    for (const std::int32_t v : {2, 3}) {
      for (const std::int64_t group : {p, p + 1}) {
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(group);
        const Schedule schedule = generate("interleaved", {.num_devices = p,
                                                           .num_microbatches = 3 * group,
                                                           .chunks = v,
                                                           .options = {{"group", std::to_string(group)}}});
        CHECK(megatron_plan(schedule) == MegatronPlan{.pipeline_size = p,
                                                      .chunks = v,
                                                      .group = group,
                                                      .microbatches = 3 * group,
                                                      .overlaps_transfers = true});
      }
    }
    const Schedule plain = generate("1f1b", {.num_devices = p, .num_microbatches = 5});
    CHECK(megatron_plan(plain) == MegatronPlan{.pipeline_size = p, .group = p, .microbatches = 5});
  }
}

TEST_CASE("recompute of everything is an option of Megatron-LM, of a part it is not") {
  Schedule schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 4});
  schedule.recompute = {{.first_stage = 0, .last_stage = 1, .microbatches = {}}};
  CHECK(schedule_to_megatron_options(schedule).find("--recompute-granularity full\n") != std::string::npos);
  schedule.recompute = {{.first_stage = 1, .last_stage = 1, .microbatches = {}}};
  CHECK(error_message([&] { megatron_plan(schedule); }) ==
        "schedule '1f1b' cannot be run by Megatron-LM: it recomputes some stages or microbatches only");
}

TEST_CASE("what Megatron-LM cannot run is refused with the reason") {
  CHECK(megatron_refusal("zb-h1", {.num_devices = 2, .num_microbatches = 2}).find("has 0B0 where this one has 0I0") !=
        std::string::npos);
  CHECK(megatron_refusal("chimera", {.num_devices = 2, .num_microbatches = 2}).find("several replicas") !=
        std::string::npos);
  CHECK(megatron_refusal("torch-zbv", {.num_devices = 2, .num_microbatches = 4}).find("stage 2 must be on device 0") !=
        std::string::npos);
  CHECK(megatron_refusal("interleaved", {.num_devices = 4, .num_microbatches = 2, .chunks = 2})
            .find("at least as many microbatches as devices") != std::string::npos);
  CHECK(megatron_refusal("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 2}).find("expected one update") !=
        std::string::npos);
}

}  // namespace plumb::testing

TEST_SUITE_END();
