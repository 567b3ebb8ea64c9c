#include "tools/ask/jobs_question.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/coarse_clock.hpp"
#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "tools/ask/plan_search_question.hpp"
#include "tools/plans/job_list.hpp"
#include "tools/plans/plan_search_text.hpp"

namespace plumb {
namespace {

std::int64_t ns_of(double seconds) { return std::max<std::int64_t>(1, std::llround(seconds * 1e9)); }

/// 1, 2, 4, ... of a node, all of it, then 2, 4, ... nodes and all nodes.
std::vector<std::int64_t> usual_devices(const JobProblem& problem) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t devices = 1; devices < problem.per_node; devices *= 2) numbers.push_back(devices);
  for (std::int64_t nodes = 1; nodes < problem.nodes; nodes *= 2) numbers.push_back(nodes * problem.per_node);
  numbers.push_back(problem.devices());
  return numbers;
}

/// The step of the best plan on so many devices.
struct FoundStep {
  std::int64_t step_ns = 0;  ///< 0: nothing fits
  std::int64_t devices = 0;  ///< that it uses
  std::string plan{};
  std::string command{};
  std::string refused{};  ///< why there is none
};

/// Searches plans, each once for jobs that are alike.
class PlansOfJobs {
 public:
  using Progress = std::function<void(std::int64_t, std::int64_t, const std::string&)>;

  PlansOfJobs(const PlanSearchArguments& arguments, const JobProblem& problem, const JobList& list,
              const Progress& progress)
      : arguments_(arguments), problem_(problem), progress_(progress) {
    for (const ListedJob& job : list.jobs) {
      for (const std::int64_t devices : devices_of(job)) {
        if (devices > problem.devices()) {
          throw Error("job '" + job.name + "': " + std::to_string(devices) + " devices, expected at most the " +
                      std::to_string(problem.devices()) + " that there are");
        }
        found_.try_emplace(key_of(job, devices));
      }
    }
    const double limit = arguments.time_limit_s.value_or(60);
    end_ = CoarseClock::now() + std::chrono::duration_cast<CoarseClock::duration>(std::chrono::duration<double>(limit));
  }

  std::vector<JobPlan> plans(const ListedJob& job) {
    std::vector<JobPlan> plans;
    std::string refused;
    for (const std::int64_t devices : devices_of(job)) {
      const FoundStep& found = step(job, devices);
      if (found.step_ns == 0) {
        refused = found.refused;
        continue;
      }
      if (found.step_ns > ns_of(1e9) / job.updates) throw Error("job '" + job.name + "': takes more than 30 years");
      const std::int64_t used = devices > problem_.per_node ? devices : found.devices;
      plans.push_back({{used, found.step_ns * job.updates}, found.plan, found.command});
    }
    if (plans.empty()) throw CannotRun("job '" + job.name + "': no plan on any number of devices: " + refused);
    return plans;
  }

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;

  std::vector<std::int64_t> devices_of(const ListedJob& job) const {
    if (!job.choices.empty()) return {};
    return job.devices.empty() ? usual_devices(problem_) : job.devices;
  }

  Key key_of(const ListedJob& job, std::int64_t devices) const {
    return {job.network, job.batch.value_or(0), job.sequence.value_or(0), devices};
  }

  const FoundStep& step(const ListedJob& job, std::int64_t devices) {
    std::optional<FoundStep>& found = found_.at(key_of(job, devices));
    if (!found) {
      progress_(searched_, static_cast<std::int64_t>(found_.size()), job.name);
      found = search(job, devices);
      ++searched_;
    }
    return *found;
  }

  FoundStep search(const ListedJob& job, std::int64_t devices) const {
    PlanSearchQuestion question;
    question.job = arguments_;
    if (!job.network.empty()) question.job.network = job.network;
    if (job.batch) question.job.batch = job.batch;
    if (job.sequence) question.job.sequence = job.sequence;
    question.job.first_devices = devices;
    const std::chrono::duration<double> left = end_ - CoarseClock::now();
    const auto searches = static_cast<double>(static_cast<std::int64_t>(found_.size()) - searched_);
    question.job.time_limit_s = std::max(0.1, left.count() / searches);
    if (question.job.network.empty() || !question.job.batch) {
      throw Error("job '" + job.name + "': expected a \"network\" with a \"batch\", or measured \"choices\"");
    }
    const GivenFiles named(FileReach::kRegular);
    try {
      PreparedPlanSearch plans(std::move(question));
      plans.search({});
      if (!plans.best()) return {.refused = nothing_fits_text(plans.found())};
      const ScoredPlan& score = plans.best()->score;
      return {.step_ns = score.step_ns,
              .devices = score.plan.num_devices(),
              .plan = plan_line(score.plan),
              .command = simulate_command(plans.question(), *plans.best(), {.path = {}}).text,
              .refused = {}};
    } catch (const Error& error) {
      return {.refused = error.what()};
    }
  }

  const PlanSearchArguments& arguments_;
  const JobProblem& problem_;
  const Progress& progress_;
  std::map<Key, std::optional<FoundStep>> found_;
  CoarseClock::time_point end_;
  std::int64_t searched_ = 0;
};

/// Alike in all that plans are made of, so that any of them can be given to any job.
void check_alike(const Cluster& cluster) {
  for (const DeviceSpec& device : cluster.devices) {
    if (device != cluster.devices.front()) {
      throw Error("plan: --jobs: cluster '" + cluster.name + "' has unlike devices, expected devices that are alike");
    }
  }
}

/// The devices, as the list or the cluster says.
JobProblem devices_for(const JobList& list, const PlanSearchArguments& arguments) {
  if (arguments.cluster.empty() && list.nodes == 0) {
    throw Error("plan: --jobs: expected --cluster, or \"nodes\" and \"devices_per_node\" in the list");
  }
  if (arguments.cluster.empty()) return {.nodes = list.nodes, .per_node = list.per_node, .jobs = {}};
  if (list.nodes > 0) throw Error("plan: --jobs: the list says \"nodes\", expected no --cluster");
  const Cluster cluster = load_cluster(arguments.cluster);
  check_alike(cluster);
  const auto devices = static_cast<std::int64_t>(cluster.devices.size());
  return {.nodes = devices / cluster.devices_per_node, .per_node = cluster.devices_per_node, .jobs = {}};
}

std::optional<ShardRun> shards_of(const JobList& list, std::int64_t devices) {
  std::vector<ShardedJob> jobs;
  for (const ListedJob& job : list.jobs) {
    if (job.shards.empty()) return {};
    ShardedJob& sharded = jobs.emplace_back(ShardedJob{.name = job.name, .shards = {}, .batches = job.updates});
    for (const ListedJob::Shard& shard : job.shards) {
      const auto ns = [](double ms) { return std::llround(ms * 1e6); };
      sharded.shards.push_back({ns(shard.forward_ms), ns(shard.backward_ms), ns(shard.load_ms)});
    }
  }
  return run_shards(jobs, devices, true);
}

}  // namespace

void JobsQuestion::add_to(OptionTable& table) {
  table.group("Jobs").text("jobs", file, "FILE",
                           "the jobs: their networks, batches and updates, or what they take on how many devices; "
                           "what a job does not say, the options below say");
  job.add_to(table);
}

JobsAnswer JobsQuestion::answer(
    const std::function<void(std::int64_t done, std::int64_t all, const std::string& job)>& progress) const {
  const JobList list = job_list_from_json(read_text_file(file, kDocumentFile), file);
  PlanSearchArguments arguments = job;
  take_gpus(arguments);
  size_cluster(arguments);
  JobsAnswer answer{.cluster = arguments.cluster, .problem = devices_for(list, arguments), .plans = {}, .schedule = {}};
  PlansOfJobs searched(arguments, answer.problem, list, progress);
  for (const ListedJob& listed : list.jobs) {
    std::vector<JobPlan>& plans = answer.plans.emplace_back();
    for (const ListedJob::Measured& one : listed.choices) {
      plans.push_back({{one.devices, ns_of(one.seconds)}, one.plan, {}});
    }
    if (plans.empty()) plans = searched.plans(listed);
    DeviceJob& placed = answer.problem.jobs.emplace_back(DeviceJob{.name = listed.name, .choices = {}});
    for (const JobPlan& plan : plans) placed.choices.push_back(plan.choice);
  }
  answer.schedule = schedule_jobs(answer.problem);
  answer.shards = shards_of(list, answer.problem.devices());
  return answer;
}

}  // namespace plumb
