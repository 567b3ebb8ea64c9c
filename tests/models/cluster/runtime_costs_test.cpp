#include "models/cluster/runtime_costs_io.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

RuntimeCosts read_costs(const char* text) {
  const JsonDocument document(text, "c.json");
  return read_runtime_costs(document.root());
}

}  // namespace

TEST_CASE("a runtime's costs are read as they were written; a call after the receive takes what the other one does") {
  const RuntimeCosts costs = read_costs(R"({"host_ns": {"F": 3, "W": 4}, "calls": [{"bytes": 8, "send_ns": 5}]})");
  CHECK(costs.f_ns == 3);
  CHECK(costs.w_ns == 4);
  REQUIRE(costs.calls.size() == 1);
  CHECK(costs.calls[0].send_posted_ns == 5);
  CHECK(read_costs(runtime_costs_to_json(costs).c_str()) == costs);
  CHECK(read_costs("{}") == RuntimeCosts{});
}

TEST_CASE("calls that are not in the order of their sizes are refused with their place") {
  const auto message = [](const char* text) { return error_message([&] { read_costs(text); }); };
  CHECK(message(R"({"calls": [{"bytes": 8}, {"bytes": 8}]})").find("calls[1]: expected sizes in ascending") !=
        std::string::npos);
  CHECK(message(R"({"host_ns": {"G": 1}})").find("'G'") != std::string::npos);
}

TEST_CASE("costs of a runtime that are 0 are not written") {
  RuntimeCosts costs;
  costs.b_ns = 3;
  const std::string text = runtime_costs_to_json(costs);
  CHECK(text.find("\"B\"") != std::string::npos);
  for (const char* key : {"\"F\"", "\"I\"", "\"W\"", "calls"}) CHECK(text.find(key) == std::string::npos);
}

TEST_SUITE_END();
