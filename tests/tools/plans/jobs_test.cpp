#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/ask/jobs_question.hpp"
#include "tools/plans/job_list.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

std::string list_of(const std::string& jobs, const std::string& devices = R"("nodes": 1, "devices_per_node": 4, )") {
  return R"({"format": "plumbline-jobs", "version": 1, )" + devices + R"("jobs": [)" + jobs + "]}";
}

std::string refused(const std::string& jobs) {
  return error_message([&] { job_list_from_json(list_of(jobs), "jobs.json"); });
}

JobsAnswer answer_of(const std::string& text) {
  const ScratchDirectory scratch;
  JobsQuestion question;
  question.file = scratch.write("jobs.json", text).string();
  return question.answer();
}

}  // namespace

TEST_CASE("measured jobs are placed, with what each takes and how the simple rules do") {
  JobsQuestion question;
  question.file = in_source("tools/examples/jobs.json");
  const JobsAnswer answer = question.answer();
  CHECK(answer.schedule.proved());
  const std::string text = jobs_text(answer);
  CHECK(text.find("6 jobs on 2 nodes of 8 devices") != std::string::npos);
  CHECK(text.find("no schedule of these plans is shorter") != std::string::npos);
  const auto json = nlohmann::json::parse(jobs_json(answer));
  CHECK(json["makespan_ns"] == answer.schedule.best.makespan_ns);
  CHECK(json["jobs"].size() == 6);
  for (std::size_t job = 0; job < 6; ++job) {
    const JobPlan& plan = answer.chosen(job);
    CHECK(json["jobs"][job]["plan"] == plan.plan);
    CHECK(json["jobs"][job]["devices"].size() == static_cast<std::size_t>(plan.choice.devices));
    CHECK(json["jobs"][job]["end_ns"].get<std::int64_t>() - json["jobs"][job]["start_ns"].get<std::int64_t>() ==
          plan.choice.time_ns);
  }
  const std::string svg = jobs_svg(answer);
  for (const char* name : {"translate", "summarize", "classify 1e-4", "images", "speech"}) {
    CAPTURE(name);
    CHECK(svg.find(name) != std::string::npos);
  }
}

TEST_CASE("jobs of networks get the plans that plan finds for so many devices, and jobs that are alike share them") {
  JobsQuestion question;
  const ScratchDirectory scratch;
  question.file = scratch
                      .write("jobs.json", list_of(R"({"name": "a", "updates": 10}, {"name": "b", "updates": 20},
                                                    {"name": "c", "updates": 20, "devices": [2]})",
                                                  ""))
                      .string();
  question.job.network = "gpt-tiny";
  question.job.batch = 8;
  question.job.cluster = "a100-1x2";
  question.job.simulations = 5;
  int searches = 0;
  const JobsAnswer answer = question.answer([&](auto, auto, const auto&) { ++searches; });
  CHECK(searches == 2);  // on one and on two devices
  for (const JobPlan& plan : answer.plans[0]) {
    CHECK(plan.command.starts_with("plumbline simulate"));
    CHECK(plan.choice.time_ns % 10 == 0);
  }
  CHECK(answer.plans[1][0].choice.time_ns == 2 * answer.plans[0][0].choice.time_ns);
  CHECK(answer.plans[2].size() == 1);
  CHECK(jobs_text(answer).find("simulate:\n  plumbline simulate") != std::string::npos);
}

TEST_CASE("jobs with shards are also run shard by shard") {
  const std::string jobs = R"(
    {"name": "a", "updates": 3, "choices": [{"devices": 1, "seconds": 0.5}],
     "shards": [{"forward_ms": 30, "backward_ms": 60, "load_ms": 10}, {"forward_ms": 20, "backward_ms": 40, "load_ms": 10}]},
    {"name": "b", "updates": 4, "choices": [{"devices": 1, "seconds": 0.4}],
     "shards": [{"forward_ms": 25, "backward_ms": 50, "load_ms": 20}]})";
  const JobsAnswer answer = answer_of(list_of(jobs, R"("nodes": 1, "devices_per_node": 2, )"));
  REQUIRE(answer.shards);
  CHECK(answer.shards->end_ns == std::vector<std::int64_t>{460'000'000, 320'000'000});
  CHECK(jobs_text(answer).find("shard by shard") != std::string::npos);
  CHECK(nlohmann::json::parse(jobs_json(answer))["shards"]["makespan_ns"] == 460'000'000);
}

TEST_CASE("lists of jobs that cannot be meant are refused with the place") {
  const std::string one = R"({"name": "a", "choices": [{"devices": 1, "seconds": 2}]})";
  CHECK(refused(one + ", " + one).find("jobs[1].name: a job of this name is there already") != std::string::npos);
  CHECK(refused(R"({"name": "a", "network": "gpt-tiny"})").find("missing key") != std::string::npos);
  CHECK(refused(R"({"name": "a", "choices": [{"devices": 1, "seconds": 2}], "batch": 3})")
            .find("has measured \"choices\", expected no \"batch\"") != std::string::npos);
  CHECK(refused(R"({"name": "a", "choices": []})").find("expected at least one way") != std::string::npos);
  CHECK(refused("").find("expected at least one job") != std::string::npos);
  CHECK(error_message([&] { answer_of(list_of(R"({"name": "a", "updates": 1})")); }) ==
        "job 'a': expected a \"network\" with a \"batch\", or measured \"choices\"");
  CHECK(error_message([&] { answer_of(list_of(one, "")); }) ==
        "plan: --jobs: expected --cluster, or \"nodes\" and \"devices_per_node\" in the list");
  CHECK(error_message([&] { answer_of(list_of(R"({"name": "a", "updates": 1, "devices": [8]})")); }) ==
        "job 'a': 8 devices, expected at most the 4 that there are");
}

TEST_CASE("devices and times are told shortly") {
  CHECK(device_ranges({0, 1, 2, 5, 8, 9}) == "0-2 5 8-9");
  CHECK(duration_text(7'200'000'000'000) == "2 h");
  CHECK(duration_text(150'000'000'000) == "2.5 min");
  CHECK(duration_text(1'500'000'000) == "1.5 s");
}

}  // namespace plumb::testing

TEST_SUITE_END();
