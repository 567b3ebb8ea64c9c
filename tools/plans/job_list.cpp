#include "tools/plans/job_list.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "models/ground/json_reader.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostListedDevices = 1'000'000;
constexpr std::int64_t kMostUpdates = 1'000'000'000;
constexpr std::size_t kMostListedJobs = 10'000;
constexpr double kMostListedSeconds = 1e9;

ListedJob::Measured measured_of(const JsonValue& value) {
  value.allow_only({"devices", "seconds", "plan"});
  ListedJob::Measured measured{.devices = value.at("devices").integer(1, kMostListedDevices),
                               .seconds = value.at("seconds").number(1e-6, kMostListedSeconds),
                               .plan = {}};
  if (const auto plan = value.find("plan")) measured.plan = plan->text();
  return measured;
}

ListedJob::Shard shard_of(const JsonValue& value) {
  value.allow_only({"forward_ms", "backward_ms", "load_ms"});
  const auto ms = [&](const char* key) { return value.at(key).number(0, kMostListedSeconds); };
  return {.forward_ms = ms("forward_ms"), .backward_ms = ms("backward_ms"), .load_ms = ms("load_ms")};
}

/// What its plans are searched for.
void read_search(const JsonValue& value, ListedJob& job) {
  if (const auto network = value.find("network")) job.network = network->text();
  if (const auto batch = value.find("batch")) job.batch = batch->integer(1, kMostUpdates);
  if (const auto sequence = value.find("sequence")) job.sequence = sequence->integer(1, kMostUpdates);
  if (const auto devices = value.find("devices")) {
    for (const JsonValue& one : devices->elements()) job.devices.push_back(one.integer(1, kMostListedDevices));
    if (job.devices.empty()) devices->fail("expected at least one number of devices");
  }
}

ListedJob listed_job(const JsonValue& value) {
  value.allow_only({"name", "choices", "network", "batch", "sequence", "updates", "devices", "shards"});
  ListedJob job;
  job.name = value.at("name").text();
  if (job.name.empty()) value.at("name").fail("expected a name");
  if (const auto choices = value.find("choices")) {
    for (const char* searched : {"network", "batch", "sequence", "devices"}) {
      if (value.find(searched)) value.fail("has measured \"choices\", expected no \"" + std::string(searched) + "\"");
    }
    for (const JsonValue& one : choices->elements()) job.choices.push_back(measured_of(one));
    if (job.choices.empty()) choices->fail("expected at least one way to run the job");
  }
  read_search(value, job);
  const auto updates = value.find("updates");
  if (updates) job.updates = updates->integer(1, kMostUpdates);
  if (const auto shards = value.find("shards")) {
    for (const JsonValue& one : shards->elements()) job.shards.push_back(shard_of(one));
    if (job.shards.empty()) shards->fail("expected at least one shard");
  }
  if (!updates && (job.choices.empty() || !job.shards.empty())) value.at("updates");
  return job;
}

}  // namespace

JobList job_list_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  check_format(root, "plumbline-jobs", 1);
  root.allow_only({"format", "version", "nodes", "devices_per_node", "jobs"});
  JobList list;
  if (const auto nodes = root.find("nodes")) list.nodes = nodes->integer(1, kMostListedDevices);
  if (const auto per_node = root.find("devices_per_node")) list.per_node = per_node->integer(1, kMostListedDevices);
  if ((list.nodes == 0) != (list.per_node == 0)) root.fail("expected both \"nodes\" and \"devices_per_node\", or none");
  std::set<std::string> names;
  const JsonValue jobs = root.at("jobs");
  for (const JsonValue& value : jobs.elements()) {
    list.jobs.push_back(listed_job(value));
    if (!names.insert(list.jobs.back().name).second) value.at("name").fail("a job of this name is there already");
    if (list.jobs.size() > kMostListedJobs) jobs.fail("expected at most " + std::to_string(kMostListedJobs) + " jobs");
  }
  if (list.jobs.empty()) jobs.fail("expected at least one job");
  return list;
}

std::string job_list_to_json(const JobList& list) {
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const ListedJob& job : list.jobs) {
    nlohmann::ordered_json one{{"name", job.name}, {"updates", job.updates}};
    for (const ListedJob::Measured& measured : job.choices) {
      one["choices"].push_back({{"devices", measured.devices}, {"seconds", measured.seconds}, {"plan", measured.plan}});
    }
    if (!job.network.empty()) one["network"] = job.network;
    if (job.batch) one["batch"] = *job.batch;
    if (job.sequence) one["sequence"] = *job.sequence;
    if (!job.devices.empty()) one["devices"] = job.devices;
    for (const ListedJob::Shard& shard : job.shards) {
      one["shards"].push_back(
          {{"forward_ms", shard.forward_ms}, {"backward_ms", shard.backward_ms}, {"load_ms", shard.load_ms}});
    }
    jobs.push_back(std::move(one));
  }
  nlohmann::ordered_json document{{"format", "plumbline-jobs"}, {"version", 1}};
  if (list.nodes > 0) {
    document["nodes"] = list.nodes;
    document["devices_per_node"] = list.per_node;
  }
  document["jobs"] = std::move(jobs);
  return document.dump(1) + "\n";
}

}  // namespace plumb
