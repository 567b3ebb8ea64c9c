#include "schedules/document/methods.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr double kMostUpdates = std::numeric_limits<std::int32_t>::max();

/// From 0 to 1: a share, or whether something holds.
constexpr OptionForm kShare = number_form("X", 0, 1);

constexpr std::array kT1{NamedOption{"K", number_form("N", 0, kMostUpdates), "a quarter of the updates",
                                     "asynchronous updates until the base rate", "0: never"}};
constexpr std::array kT2{
    NamedOption{"D", kShare, "such that gamma = 1 - 2/(n+1)", "gamma = D^(1/n) for a delay of n updates"}};
constexpr std::array kT3{
    NamedOption{"updates", number_form("N", 1, kMostUpdates), 1, "updates that run synchronously first"}};

constexpr NamedOption kPublished{"published", kShare, 0,
                                 "1: the published distances, which are for one microbatch per update, as they are"};
constexpr std::array kSpecTrain{
    NamedOption{"released", kShare, 0,
                "1: as in the released code, for the stage's own backward, which reads what its forward read"},
    kPublished};
constexpr std::array kPipeOptim{
    NamedOption{"released", kShare, 0, "1: as in the released code, for the backward after its own"}, kPublished};
constexpr std::array kLwp{
    NamedOption{"scale", number_form("X", 0, 1000), 1, "times the stage's mean delay"},
    NamedOption{"difference", kShare, 0, "1: along the last change of the weights instead of the velocity"}};
constexpr std::array kBraking{NamedOption{"rho", kShare, 0.5, "strength"}};
constexpr std::array kGap{
    NamedOption{"keep", kShare, 0.999, "share of the running mean of squared velocities that is kept"}};
constexpr std::array kCompensation{NamedOption{"lambda", number_form("X"), 0.04, "strength"},
                                   NamedOption{"adaptive", kShare, 0, "1: divided by the root of a mean square"}};
constexpr std::array kElastic{NamedOption{"a", kShare, "1 / copies of the model", "strength of the pull"}};

constexpr std::string_view kFtPipe = "Eliad et al., FTPipe, ATC 2021";
constexpr std::string_view kPb = "Kosson et al., Pipelined Backpropagation at Scale, arXiv 2003.11666";
constexpr std::string_view kAsyncPp = "Ajanthan et al., AsyncPP, arXiv 2505.01099";

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
    MethodSpec{.name = "spectrain",
               .summary = "forward and backward read predicted weights, for the end of the microbatch's round trip",
               .source = "Chen et al., SpecTrain, arXiv 1809.02839",
               .buffers = "1 (released: one for each prediction read at once); none where nothing is predicted",
               .parameters = kSpecTrain,
               .scope = {.forward = true, .backward = true, .newest_backward = true, .predicts = true}},
    MethodSpec{.name = "xpipe",
               .summary = "the first microbatch of an update predicts weights for all, for forwards and for backwards",
               .source = "Guan et al., XPipe, arXiv 1911.04610",
               .buffers = "1 for each of the two that predicts",
               .scope = {.forward = true, .backward = true, .newest_backward = true, .predicts = true}},
    MethodSpec{.name = "pipeoptim",
               .summary = "a forward reads the weights predicted for its own backward",
               .source = "Guan et al., PipeOptim, arXiv 2312.00839",
               .buffers = "1 where it predicts",
               .parameters = kPipeOptim,
               .scope = {.forward = true, .newest_backward = true, .predicts = true}},
    MethodSpec{.name = "msnag",
               .summary = "a forward reads the weights after the updates before its backward, made with momentum alone",
               .source = kFtPipe,
               .buffers = "1 where tau > 0",
               .scope = {.forward = true, .newest_backward = true}},
    MethodSpec{.name = "lwp",
               .summary = "forwards read weights predicted linearly over the stage's mean delay",
               .source = kPb,
               .buffers = "1 where tau > 0",
               .parameters = kLwp,
               .scope = {.forward = true, .newest_backward = true}},
    MethodSpec{.name = "spike",
               .summary = "sgd with momentum applies a late gradient with the weight that it would have by now",
               .source = kPb},
    MethodSpec{.name = "adaptive-braking",
               .summary = "gradients along the velocity are damped, per parameter",
               .source = "Venigalla et al., Adaptive Braking, arXiv 2007.01397",
               .parameters = kBraking},
    MethodSpec{
        .name = "gap-aware",
        .summary = "gradients are divided by 1 + how far the weights have moved since the forward, in usual steps",
        .source = "Barkai et al., Gap-Aware, ICLR 2020; FTPipe's released code",
        .buffers = "1, and the weights of the forwards until the update",
        .parameters = kGap,
        .scope = {.looks_back = true}},
    MethodSpec{.name = "dc-asgd",
               .summary = "gradient + lambda g g (w - w of the forward)",
               .source = "Zheng et al., DC-ASGD, ICML 2017",
               .buffers = "the weights of the forwards until the update; adaptive: 1 more",
               .parameters = kCompensation,
               .scope = {.looks_back = true}},
    MethodSpec{.name = "nesterov",
               .summary = "sgd looks ahead along its velocity, the gradient is discounted by 1 - momentum",
               .source = kAsyncPp},
    MethodSpec{.name = "adaptive-momentum",
               .summary = "beta1 + tau (0.99 - beta1) / P for adam, adamw, nadam",
               .source = kAsyncPp},
    MethodSpec{.name = "elastic",
               .summary = "the copies of a stage on a device and a reference model are pulled towards each other",
               .source = "AvgPipe, PPoPP 2023",
               .buffers = "1 on the first copy (the reference model)",
               .parameters = kElastic},
    MethodSpec{.name = "wsp",
               .summary = "SYNC_WEIGHTS adds up what all holders have changed since the last one, instead of a mean",
               .source = "Park et al., HetPipe, arXiv 2005.14038",
               .buffers = "1; with a sync_distance of D > 0: D + 2"},
    MethodSpec{
        .name = "acco",
        .summary = "of two updates the first is tentative: the second starts before it, with the gradients of both",
        .source = "Nabli et al., ACCO, arXiv 2406.02613; released code",
        .buffers = "3 (the true weights, and two moments of the optimizer)"},
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
  const NamedOption* known = find_option(method_spec(method.name).parameters, name);
  return known == nullptr ? std::nullopt : known->otherwise.number;
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
