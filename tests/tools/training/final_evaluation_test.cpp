#include "tools/training/train_run.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {
namespace {

TriedRun tried(const std::string& command) {
  const TrainRun run = parse_train_run(command);
  return train_and_try(run.options, run.trial);
}

}  // namespace

TEST_CASE("the last evaluation is on as many held-out samples as --held-out says, those before on fewer") {
  const std::string pairs =
      "train gpipe -p 2 -m 2 --network transformer-tiny --samples 3 --steps 4 --executor serial --evaluate-every 2 "
      "--evaluate-samples 20";
  const TriedRun more = tried(pairs + " --held-out 1500 --translate 70");
  REQUIRE(more.result.evaluations.size() == 2);
  const TriedRun few = tried(pairs + " --held-out 20");
  CHECK(more.result.evaluations[0].targets < 20 * 8);
  CHECK(more.result.evaluations[1].targets > 1500 * 3);
  CHECK(more.result.evaluations[1].update == 4);
  CHECK(few.result.evaluations[0].targets == few.result.evaluations[1].targets);
  REQUIRE(more.translation);
  CHECK(more.translation->sentences == 70);
  CHECK(!few.translation);
  const TriedRun images =
      tried("train gpipe -p 2 -m 2 --network resnet-20-tiny-gn --samples 3 --steps 1 --executor serial --held-out 65");
  REQUIRE(images.result.evaluations.size() == 1);
  CHECK(images.result.evaluations[0].targets == 65);
}

TEST_CASE("more held-out samples than there are are refused before the training") {
  CHECK_THROWS_WITH_AS(
      tried("train gpipe -p 2 -m 2 --network gpt-tiny --steps 1 --executor serial --held-out 1000000000"),
      doctest::Contains("fewer than the 1000000000 asked for"), Error);
}

TEST_CASE("T1 and T2 do the same in the first updates of a short run and of a long one") {
  const auto loss = [](const std::string& steps) {
    return train_as(
               "train pipemare -p 4 -m 1 --opt timing=slots --method t1:K=20,t2:D=0.5 --network gpt-tiny --optimizer "
               "sgd --learning-rate 0.05 --executor serial --steps " +
               steps)
        .losses.at(3);
  };
  const double long_run = loss("20");
  CHECK(loss("4") == long_run);
  CHECK(loss("8") == long_run);
  CHECK(loss("9") == long_run);
  CHECK(long_run == doctest::Approx(4.830294).epsilon(1e-6));
}

}  // namespace plumb

TEST_SUITE_END();
