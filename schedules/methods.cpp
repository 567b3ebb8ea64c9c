#include "schedules/methods.hpp"

#include <algorithm>
#include <array>

#include "models/error.hpp"

namespace plumb {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr double kMostUpdates = std::numeric_limits<std::int32_t>::max();

constexpr std::array kT1{MethodParameter{
    "K", {}, 0, kMostUpdates, "asynchronous updates until the base rate (default: a quarter of them; 0: never)"}};
constexpr std::array kT2{
    MethodParameter{"D", {}, 0, 1, "gamma = D^(1/n) for a delay of n updates (default: 1 - 2/(n+1))"}};
constexpr std::array kT3{MethodParameter{"updates", 1, 1, kMostUpdates, "updates run synchronously first"}};

constexpr std::array kMethods{
    MethodSpec{.name = "t1",
               .summary = "learning rate / tau^p, p falls from 1 to 0 over K updates; tau >= 1: the stage's mean delay",
               .source = "Yang et al., PipeMare, arXiv 1910.05124",
               .parameters = kT1},
    MethodSpec{.name = "t2",
               .summary = "backwards read the weights of their forwards, extrapolated by the mean velocity",
               .source = "Yang et al., PipeMare, arXiv 1910.05124",
               .buffers = "1 (the extrapolated weights); 1 more where an explicit R has a delay of its own",
               .parameters = kT2,
               .scope = {.backward = true, .newest_forward = true, .newest_backward = true}},
    MethodSpec{.name = "t3",
               .summary = "the first updates run synchronously, then the drained pipeline is never flushed again",
               .source = "Yang et al., PipeMare, arXiv 1910.05124",
               .parameters = kT3},
};

}  // namespace

std::span<const MethodSpec> method_catalogue() { return kMethods; }

const MethodSpec& method_spec(std::string_view name) {
  const auto found = std::ranges::find(kMethods, name, &MethodSpec::name);
  if (found != kMethods.end()) return *found;
  std::vector<std::string_view> names;
  for (const MethodSpec& spec : kMethods) names.push_back(spec.name);
  throw_unknown("method", name, names);
}

std::optional<double> parameter(const Method& method, std::string_view name) {
  const auto given = method.parameters.find(std::string(name));
  if (given != method.parameters.end()) return given->second;
  const auto parameters = method_spec(method.name).parameters;
  const auto known = std::ranges::find(parameters, name, &MethodParameter::name);
  return known == parameters.end() ? std::nullopt : known->otherwise;
}

bool looks_back(const Schedule& schedule) {
  return std::ranges::any_of(schedule.weights.methods,
                             [](const Method& method) { return method_spec(method.name).scope.looks_back; });
}

std::int64_t synchronous_updates(const Schedule& schedule) {
  const std::vector<WeightPhase>& phases = schedule.weights.phases;
  return !phases.empty() && phases.front().policy == WeightPolicy::kFlush ? phases.front().updates : 0;
}

}  // namespace plumb
