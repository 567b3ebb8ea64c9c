#include "models/sources/measured_messages.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

Measured took_ns(std::int64_t ns) { return {ns, ns, ns, 5, ns}; }

MeasuredMessages of_size(std::int64_t bytes, std::int64_t ns) {
  return {.bytes = bytes,
          .send = took_ns(10),
          .send_posted = took_ns(ns / 2),
          .receive = took_ns(7),
          .message = took_ns(ns),
          .capacity = 2};
}

constexpr const char* kTable =
    "group, bytes, median_us, p10_us, p90_us\n"
    "a, 1000, 2, 1, 3\n"
    "b, 1000, 4, 3, 5\n"
    "c, 1000, 9, 3, 10\n"
    "\n"
    "a, 9000, 12, 10, 15\n";

}  // namespace

TEST_CASE("a call that was not measured takes what the other kind of sending call does") {
  const auto took = [](std::int64_t ns) {
    Measured measured;
    measured.count = 1;
    measured.median_ns = measured.p10_ns = measured.p90_ns = ns;
    return measured;
  };
  MeasuredMessages size;
  size.bytes = 10;
  size.send = took(100);
  CHECK(message_times(std::span(&size, 1), 10).send_ns == 100);
  CHECK(message_times(std::span(&size, 1), 10).send_posted_ns == 100);
  size.send_posted = took(70);
  CHECK(message_times(std::span(&size, 1), 10).send_ns == 100);
  CHECK(message_times(std::span(&size, 1), 10).send_posted_ns == 70);
  size.send = {};
  CHECK(message_times(std::span(&size, 1), 10).send_ns == 70);
}

TEST_CASE("times of messages are linear between sizes, go on behind the largest, and stay below the smallest") {
  const std::vector<MeasuredMessages> sizes{of_size(1000, 100), of_size(3000, 500)};
  CHECK(message_times(sizes, 1000).message_ns == 100);
  CHECK(message_times(sizes, 2000).message_ns == 300);
  CHECK(message_times(sizes, 2000).send_posted_ns == 150);
  CHECK(message_times(sizes, 2000).receive_ns == 7);
  CHECK(message_times(sizes, 5000).message_ns == 900);
  CHECK(message_times(sizes, 10).message_ns == 100);
  CHECK(message_times({}, 10).message_ns == 0);
}

TEST_CASE("messages of another size than the only known one are not guessed") {
  const std::vector<MeasuredMessages> one{of_size(1000, 100)};
  CHECK(error_message([&] { message_times(one, 2000); }).find("1000 bytes, not of 2000 bytes") != std::string::npos);
  const std::vector<MeasuredMessages> unknown{of_size(0, 100)};
  CHECK(message_times(unknown, 0).message_ns == 100);
  CHECK(error_message([&] { message_times(unknown, 2000); }).find("unknown size, not of 2000") != std::string::npos);
}

TEST_CASE("of a ping-pong's rows of one size the one of median time counts") {
  const std::vector<PingPong> table = ping_pong_from_csv(kTable, "table.csv");
  REQUIRE(table.size() == 2);
  CHECK(table[0].bytes == 1000);
  CHECK(table[0].time.median_ns == 4000);
  CHECK(table[0].time.p10_ns == 3000);
  CHECK(table[0].time.count == 3);
  CHECK(table[1].time.median_ns == 12'000);
}

TEST_CASE(
    "a larger message takes as much more than the run's as in the ping-pong, and its call where it moves the bytes") {
  const std::vector<PingPong> table = ping_pong_from_csv(kTable, "table.csv");
  for (const bool moves : {true, false}) {
    const auto sizes = with_ping_pong(of_size(1000, 20'000), table, moves);
    REQUIRE(sizes.size() == 2);
    CHECK(sizes[0] == of_size(1000, 20'000));
    CHECK(sizes[1].bytes == 9000);
    CHECK(sizes[1].message.expected_ns() == 28'000);
    CHECK(sizes[1].send_posted.expected_ns() == (moves ? 18'000 : 10'000));
    CHECK(sizes[1].send.expected_ns() == 10);
  }
}

TEST_CASE("what is wrong in a table of a ping-pong is named with its line") {
  const auto message = [](const char* text) { return error_message([&] { ping_pong_from_csv(text, "t.csv"); }); };
  CHECK(message("size,time\n1,2\n") == "t.csv:1: expected a header with the columns bytes and median_us");
  CHECK(message("bytes,median_us\n1\n") == "t.csv:2: has 1 cells, expected 2 as in the header");
  CHECK(message("bytes,median_us\n1,-2\n") == "t.csv:2: expected a number that is not below 0, found '-2'");
  CHECK(message("bytes,median_us\n").find("has no rows") != std::string::npos);
  CHECK(message("").find("has no rows") != std::string::npos);
  const std::vector<PingPong> table = ping_pong_from_csv(kTable, "table.csv");
  CHECK(error_message([&] { with_ping_pong(of_size(0, 1), table, true); }).find("--message-bytes") !=
        std::string::npos);
  CHECK(error_message([&] { with_ping_pong(of_size(10, 1), table, true); }).find("around the run's 10 bytes") !=
        std::string::npos);
  const std::vector<PingPong> no_other = ping_pong_from_csv("bytes,median_us\n0,2\n1000,12\n", "t.csv");
  CHECK(error_message([&] { with_ping_pong(of_size(1000, 1), no_other, true); }).find("around the run's 1000 bytes") !=
        std::string::npos);
}

TEST_CASE("a table takes times and sizes up to its limits, and not beyond them") {
  const auto refused = [](const std::string& row) {
    return !error_message([&] { ping_pong_from_csv("bytes,median_us\n" + row + "\n", "t.csv"); }).empty();
  };
  for (const bool bytes : {true, false}) {
    CAPTURE(bytes);
    const auto most = bytes ? 0x1p50 : 0x1p42 / 1000;  // in us
    const auto row = [&](double value) {
      char text[64];
      std::snprintf(text, sizeof text, "%.17g", value);
      return bytes ? std::string(text) + ",1" : "1," + std::string(text);
    };
    CHECK_FALSE(refused(row(0)));
    CHECK_FALSE(refused(row(most)));
    CHECK(refused(row(std::nextafter(most, 2 * most))));
  }
}

TEST_SUITE_END();
