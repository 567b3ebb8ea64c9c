#include "tools/training/train_arguments.hpp"

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

TrainOptions options_of(const char* schedule) {
  TrainOptions options;
  options.schedule = generate(schedule, {.num_devices = 2, .num_microbatches = 4});
  return options;
}

}  // namespace

TEST_CASE("a student of tspipe learns by half from a teacher that follows it, unless options say otherwise") {
  TeacherArguments arguments;
  TrainOptions options = options_of("tspipe");
  arguments.apply(options, false);
  CHECK(options.optimization.teacher.weight == 0.5);
  CHECK(options.optimization.teacher.temperature == 2);
  CHECK(options.optimization.teacher.decay == 0.999);
  arguments.weight = 1;
  arguments.temperature = 4;
  arguments.decay = 0.9;
  arguments.apply(options, true);
  CHECK(options.optimization.teacher.weight == 1);
  CHECK(options.optimization.teacher.temperature == 4);
  CHECK(options.optimization.teacher.decay == 0.9);
}

TEST_CASE("options of a teacher need a schedule that has one, and say what is wrong with them") {
  TrainOptions plain = options_of("gpipe");
  TeacherArguments arguments;
  arguments.apply(plain, false);
  CHECK(plain.optimization.teacher.weight == 0);
  arguments.decay = 1;
  CHECK(testing::error_message([&] { arguments.apply(plain, false); }) ==
        "--teacher-weight, --teacher-temperature, --teacher-decay, --teacher-checkpoint: schedule 'gpipe' has no "
        "teacher, expected one that has, such as tspipe");
  TrainOptions options = options_of("tspipe");
  arguments.temperature = 0;
  CHECK(testing::error_message([&] { arguments.apply(options, false); }) ==
        "--teacher-temperature: expected a number above 0");
  arguments.temperature.reset();
  arguments.weights = "teacher.safetensors";
  CHECK(testing::error_message([&] { arguments.apply(options, true); }) ==
        "--teacher-checkpoint: student and teacher share what is frozen beside adapters, expected no --lora-rank");
}

}  // namespace plumb

TEST_SUITE_END();
