#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/megatron.hpp"
#include "schedules/formats/zero_bubble_table.hpp"

TEST_SUITE_BEGIN("schedules");

namespace {

using namespace plumb;

template <class Read>
std::vector<std::string> told(Read read) {
  try {
    read();
  } catch (const Errors& errors) {
    return errors.messages();
  } catch (const Error& error) {
    return {error.what()};
  }
  return {};
}

}  // namespace

TEST_CASE("all mistakes of a table of the zero-bubble fork are told at once, each with rank and cell") {
  const auto messages = told([] {
    schedule_from_zero_bubble_table(
        "SCHEDULE = [\n  [(\"F\", 0, 0), (\"X\", 0, 0), (\"B\", 0)],\n  [(\"F\", 0, 0), (\"W\"\n, x, 0)]]\n", "t.py");
  });
  REQUIRE(messages.size() == 3);
  CHECK(messages[0] == "t.py:2: rank 0, cell 2: expected the type F, B, W or BW");
  CHECK(messages[1] == "t.py:2: rank 0, cell 3: expected (type, microbatch, chunk), such as (\"F\", 0, 0)");
  CHECK(messages[2] == "t.py:4: expected a microbatch, a number from 0 to 2147483646");
}

TEST_CASE("all mistakes of Megatron-LM's options are told at once, and the value of an unknown option is none") {
  const auto messages = told([] {
    schedule_from_megatron_options(
        "--pipeline-model-paralel-size 4 --global-batch-size 8\n--num-layers 8 --num-layers 9\nx --sequence-parallel=1",
        "o.megatron");
  });
  REQUIRE(messages.size() == 4);
  CHECK(messages[0].find("did you mean 'pipeline-model-parallel-size'") != std::string::npos);
  CHECK(messages[1] == "o.megatron:2: --num-layers is given twice");
  CHECK(messages[2].starts_with("o.megatron:3: expected an option such as"));
  CHECK(messages[3] == "o.megatron:3: --sequence-parallel: expected no value");
}

TEST_CASE("all mistakes of DeepSpeed's instructions are told at once, each with its line") {
  const auto messages = told([] {
    schedule_from_deepspeed(
        "stage 0: ForwardPass(buffer_id=0), ForwardPas(buffer_id=1), BackwardPass(buffer_id=0)\n"
        "stage 2: ForwardPass, BackwardPass(buffer_id=x)\n",
        "d.txt");
  });
  REQUIRE(messages.size() == 4);
  CHECK(messages[0].find("did you mean 'ForwardPass'") != std::string::npos);
  CHECK(messages[1] == "d.txt:2: expected 'stage 1:'");
  CHECK(messages[2] == "d.txt:2: ForwardPass: expected a buffer, (buffer_id=0)");
  CHECK(messages[3].starts_with("d.txt:2: character "));
}

TEST_SUITE_END();
