#include "tools/ask/campaign_question.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/ground/presets.hpp"
#include "tests/support/error_message.hpp"
#include "tools/campaign/campaign_answer.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

/// A sentence that was broken at the width of the terminal.
std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

CampaignQuestion of_layouts() {
  CampaignQuestion question;
  question.layouts = "bamboo-gpt2";
  question.trace = "bamboo-p3";
  question.hours = "3";
  question.price = "0.91";
  return question;
}

/// 1f1b of a small network on nodes of one device.
CampaignQuestion of_network() {
  CampaignQuestion question;
  question.names = {"1f1b"};
  question.costs.network = "gpt2-small";
  question.costs.cluster = "v100-8x1";
  question.size.microbatches = 16;
  question.nodes = "8";
  question.mtbf = "4";
  question.hours = "6";
  return question;
}

}  // namespace

TEST_CASE("all rules are ranked by samples per cost, and the time of each adds up") {
  const CampaignAnswer answer = of_layouts().answer();
  std::vector<CampaignRuleSpec> rules(campaign_rules().begin(), campaign_rules().end());
  std::erase_if(rules,
                [](const CampaignRuleSpec& rule) { return !rule.changes_job.empty(); });  // asked for by name only
  CHECK(answer.outcomes.size() == rules.size());
  for (std::size_t at = 0; at < answer.outcomes.size(); ++at) {
    const CampaignResult& run = answer.outcomes[at].runs.front();
    std::int64_t sum = 0;
    for (const std::int64_t ns : run.time_ns) sum += ns;
    CHECK(sum == run.until_ns);
    CHECK(run.goodput() <= 1 + 1e-9);
    if (at > 0) CHECK(run.samples_per_cost() <= answer.outcomes[at - 1].runs.front().samples_per_cost());
  }
  const std::string text = campaign_text(answer);
  CHECK(text.starts_with("best rule: " + answer.outcomes.front().rule + ", "));
  CHECK(text.find("\nsteps of bamboo-gpt2\ntrace bamboo-p3: ") != std::string::npos);
  const auto document = nlohmann::json::parse(campaign_json(answer));
  CHECK(document.at("rules").size() == answer.outcomes.size());
  CHECK(document.at("rules").at(0).at("runs").at(0).at("phases").size() > 10);
  const std::string page = campaign_page(answer);
  for (const CampaignRuleSpec& rule : rules) CHECK(page.find(rule.name) != std::string::npos);
  const std::string picture = campaign_svg(answer);
  CHECK(picture.starts_with("<svg"));
  CHECK(picture.find(answer.outcomes.front().rule + ": nodes in the layout") != std::string::npos);
  CHECK(picture.find(answer.outcomes.back().rule) == std::string::npos);
}

TEST_CASE("steps of a network come from the simulator: without failures a campaign gives its samples per second") {
  CampaignQuestion question = of_network();
  question.mtbf = "1e9";
  question.rule_names = "checkpoint";
  question.ready = "0";
  question.rule_options = {"restart=0", "every=1e6"};
  question.lengths = "4";
  const CampaignResult run = question.answer().outcomes.front().runs.front();
  CHECK(run.goodput() == doctest::Approx(1));
  CHECK(run.removals == 0);
  CHECK(run.phases.front().layout == JobLayout{2, 4});
  CHECK(run.samples_per_s() > 1);
}

TEST_CASE("seeds differ, their number is told, and the same seed gives the same answer") {
  CampaignQuestion question = of_network();
  question.lengths = "2,4";
  question.runs = 3;
  const CampaignAnswer answer = question.answer();
  const CampaignOutcome& outcome = answer.outcomes.front();
  REQUIRE(outcome.runs.size() == 3);
  CHECK(outcome.runs[0].samples != outcome.runs[1].samples);
  CHECK(campaign_json(answer) == campaign_json(question.answer()));
  CHECK(on_one_line(campaign_text(answer)).find("means of 3 runs ± standard error") != std::string::npos);
}

TEST_CASE("a rule that lets later samples train less of the network has no goodput beside the others, and says why") {
  CampaignQuestion question = of_network();
  question.lengths = "2,4";
  question.rule_names = "checkpoint,pipetransformer";
  question.rule_options = {"epoch=2000"};
  const CampaignAnswer answer = question.answer();
  const CampaignTable figures = campaign_figures(answer);
  for (const std::vector<std::string>& row : figures.rows) {
    CAPTURE(row[0]);
    CHECK((row[3] == "-") == (row[0] == "pipetransformer"));
  }
  CHECK(campaign_text(answer).find("pipetransformer: layers freeze, so that later samples train less") !=
        std::string::npos);
  question.rule_names = "checkpoint";
  question.rule_options.clear();
  CHECK(campaign_text(question.answer()).find("layers freeze") == std::string::npos);
}

TEST_CASE("bamboo's steps are those of its own schedule, redundant forwards included, whatever the others run") {
  CampaignQuestion question = of_network();
  question.lengths = "1,4";
  question.mtbf = "1e9";
  question.rule_names = "bamboo";
  const CampaignResult ours = question.answer().outcomes.front().runs.front();
  CHECK(ours.phases.back().layout == JobLayout{2, 4});  // no node can stand in for one that is a pipeline by itself
  question.lengths = "4";
  question.names = {"bamboo"};
  question.size.options = {"wrap=yes"};
  CHECK(question.answer().outcomes.front().runs.front().samples == ours.samples);
  question.names = {"1f1b"};
  question.size.options.clear();
  question.rule_names = "checkpoint";
  question.rule_options = {"restart=30", "every=1e6"};
  // The forward of the next stage, a third of a pass, shows as far as nobody waits.
  const double plain = question.answer().outcomes.front().runs.front().samples;
  CHECK(ours.samples < plain * 0.95);
  CHECK(ours.samples > plain * 0.7);
}

TEST_CASE("frozen layers leave the network that is simulated, and run forward where they are not cached") {
  LaidOutJob job{.schedule = "1f1b", .size = {}, .costs = of_network().costs, .rules = {}};
  job.microbatches = 8;
  job.most_nodes = 8;
  SimulatedLayouts layouts(std::move(job));
  REQUIRE(layouts.layers() == 12);
  const auto ns = [&](JobLayout layout, std::int32_t frozen, bool cached) {
    return static_cast<double>(layouts.frozen_step(layout, {.frozen = frozen, .all = 12, .cached = cached})->ns);
  };
  CHECK(ns({1, 1}, 0, true) == static_cast<double>(layouts.step({1, 1})->ns));
  // All layers are alike: on one device each takes the same away, whole or but for its forward.
  const double layer = ns({1, 1}, 4, true) - ns({1, 1}, 5, true);
  CHECK(ns({1, 1}, 0, true) - ns({1, 1}, 8, true) == doctest::Approx(8 * layer).epsilon(1e-3));
  const double forward = ns({1, 1}, 1, false) - ns({1, 1}, 1, true);
  CHECK(ns({1, 1}, 8, false) - ns({1, 1}, 8, true) == doctest::Approx(8 * forward).epsilon(1e-3));
  CHECK(forward > layer * 0.25);
  CHECK(forward < layer * 0.4);
  // In a pipeline the first stage runs these forwards: the cut gives it fewer of the others.
  const double slowest = 8 * 8 * forward;
  CHECK(ns({1, 4}, 8, false) > ns({1, 4}, 8, true));
  CHECK(ns({1, 4}, 8, false) < ns({1, 4}, 8, true) + slowest);
  CHECK(ns({1, 4}, 8, false) < static_cast<double>(layouts.step({1, 4})->ns));
}

TEST_CASE("several times between failures are one table, in which each column is the answer for its time") {
  CampaignQuestion question = of_network();
  question.mtbf = "2..8";
  question.lengths = "2,4";
  question.rule_names = "checkpoint,swarm";
  CHECK(question.is_sweep());
  const CampaignSweep sweep = question.sweep();
  CHECK(sweep.values == std::vector<double>{2, 4, 8});
  REQUIRE(sweep.answers.size() == 3);
  CampaignQuestion one = question;
  one.mtbf = "4";
  CHECK(campaign_json(sweep.answers[1]) == campaign_json(one.answer()));
  const std::string text = campaign_text(sweep);
  CHECK(text.find("samples per second, by the mean hours until a node fails:\n\nrule ") != std::string::npos);
  CHECK(text.find(" 2 h ") < text.find(" 8 h\n"));
  CHECK(text.find("\nswarm ") != std::string::npos);
  CHECK(text.find("\nbest ") != std::string::npos);
  const auto document = nlohmann::json::parse(campaign_json(sweep));
  CHECK(document.at("points").at(1).at("value") == 4);
  CHECK(document.at("points").at(1).at("campaign") == nlohmann::json::parse(campaign_json(one.answer())));
  CHECK(campaign_svg(sweep).find("the mean hours until a node fails") != std::string::npos);
  CHECK(campaign_page(sweep).find("swarm") != std::string::npos);
  CHECK(error_message([&] { question.answer(); }) == "campaign: mtbf names 3 values; expected one");
  question.mtbf = "8..2";
  CHECK(error_message([&] { question.is_sweep(); }) == "--mtbf: '8..2', expected the smaller number first");
}

TEST_CASE("any number of a campaign may be several, but only one of them") {
  CampaignQuestion question = of_network();
  question.lengths = "2,4";
  question.rule_names = "checkpoint,swarm";
  const auto column = [&](const CampaignSweep& sweep, std::size_t at, auto change) {
    CampaignQuestion one = question;
    change(one);
    return campaign_json(sweep.answers[at]) == campaign_json(one.answer());
  };
  CampaignQuestion nodes = question;
  nodes.nodes = "4..8";
  CHECK(nodes.sweep().values == std::vector<double>{4, 8});
  CHECK(column(nodes.sweep(), 0, [](CampaignQuestion& q) { q.nodes = "4"; }));
  CampaignQuestion hours = question;
  hours.hours = "3,1.5";
  CHECK(hours.sweep().values == std::vector<double>{1.5, 3});
  CHECK(column(hours.sweep(), 1, [](CampaignQuestion& q) { q.hours = "3"; }));
  CampaignQuestion saved = question;
  saved.rule_options = {"restart=60", "checkpoint.every=300..1200"};
  const CampaignSweep periods = saved.sweep();
  CHECK(periods.values == std::vector<double>{300, 600, 1200});
  CHECK(column(periods, 2, [](CampaignQuestion& q) { q.rule_options = {"restart=60", "checkpoint.every=1200"}; }));
  CHECK(on_one_line(campaign_text(periods))
            .find("by option 'every' of checkpoint (seconds of work between checkpoints):") != std::string::npos);
  CHECK(campaign_svg(periods).find(">seconds of work between checkpoints<") != std::string::npos);
  CHECK(campaign_svg(periods).find("<title>What every rule gets, by option 'every' of checkpoint</title>") !=
        std::string::npos);
  CampaignQuestion priced = question;
  priced.price = "1,2";
  CHECK(campaign_text(priced.sweep()).find("samples per cost, by the price of a node and hour:") != std::string::npos);
  priced.ready = "45,90";
  CHECK(error_message([&] { priced.is_sweep(); }) ==
        "campaign: ready and price both name several values; expected one option that does");
  priced.price = "1,x";
  priced.ready = "";
  CHECK(error_message([&] { priced.is_sweep(); }).starts_with("--price: 'x'"));
  priced.price = "0..4";
  CHECK(error_message([&] { priced.is_sweep(); }) == "--price: '0..4', expected a number above 0 that can be doubled");
  priced.price = "";
  priced.nodes = "0,4";
  CHECK(error_message([&] { priced.is_sweep(); }).starts_with("--nodes: "));
}

TEST_CASE("a table by an option of rules says which of the rules have it, and what it is where they agree") {
  const auto titled = [](const char* rules, const char* option) {
    CampaignQuestion question = of_layouts();
    question.rule_names = rules;
    question.rule_options = {option};
    const std::string text = campaign_text(question.sweep());
    const std::size_t begin = text.find("by ");
    return on_one_line(text.substr(begin, text.find(":\n", begin) - begin));
  };
  CHECK(titled("varuna,checkpoint,bamboo", "every=300,600") ==
        "by option 'every' of varuna and checkpoint (seconds of work between checkpoints)");
  CHECK(titled("bamboo,recycle", "stages=4,8") ==
        "by option 'stages' of bamboo and recycle (stages of every pipeline)");
  // The one waits so long for slow nodes, the other one before a peer moves.
  CHECK(titled("checkpoint,swarm", "rebalance=300,600") == "by option 'rebalance' of checkpoint and swarm");
  CHECK(titled("", "every=300,600") ==
        "by option 'every' of checkpoint, varuna and 4 more (seconds of work between checkpoints)");
}

TEST_CASE("what is missing, unknown or contradictory is refused in one line") {
  const auto refusal = [](auto change) {
    CampaignQuestion question = of_layouts();
    change(question);
    return error_message([&] { question.answer(); });
  };
  CHECK(refusal([](CampaignQuestion& q) { q.trace = ""; }) ==
        "campaign: expected one of --trace, --mtbf and --market: when nodes come and go");
  CHECK(refusal([](CampaignQuestion& q) { q.names = {"1f1b"}; }) ==
        "campaign: expected a schedule, or --layouts with the measured steps of a job, and not both");
  CHECK(refusal([](CampaignQuestion& q) { q.layouts = "bambo-gpt2"; }) ==
        "unknown table of layouts 'bambo-gpt2' (did you mean 'bamboo-gpt2'?)");
  CHECK(refusal([](CampaignQuestion& q) { q.trace = "bamboo-p2"; }) ==
        "unknown trace 'bamboo-p2' (did you mean 'bamboo-p3'?)");
  CHECK(refusal([](CampaignQuestion& q) { q.rule_names = "varuna,bambo"; }) ==
        "unknown rule 'bambo' (did you mean 'bamboo'?)");
  CHECK(refusal([](CampaignQuestion& q) { q.rule_options = {"evry=3"}; }) ==
        "unknown option of a rule 'evry' (did you mean 'every'?)");
  CHECK(refusal([](CampaignQuestion& q) { q.nodes = "4"; }) ==
        "campaign: a trace has its own nodes, expected no --runs and --nodes");
  CHECK(refusal([](CampaignQuestion& q) {
          q.trace = "";
          q.mtbf = "0.001";
          q.nodes = "10000";
        }) == "campaign: these nodes and hours have about 30 M events, expected at most 4 M");
  CHECK(refusal([](CampaignQuestion& q) {
          q.trace = "";
          q.mtbf = "4";
          q.nodes = "8";
        }) == "campaign: the job runs in no layout of 8 nodes");
  CHECK(refusal([](CampaignQuestion& q) {
          q = of_network();
          q.nodes = "9";
        }) ==
        "campaign: there are up to 9 nodes, and the cluster 'v100-8x1' has 8 devices; expected a cluster that has "
        "them all");
}

TEST_CASE("the list of rules has every option of every rule, with what holds without it") {
  REQUIRE(::setenv("COLUMNS", "1000", 1) == 0);
  const std::string text = campaign_rules_text();
  const nlohmann::json list = nlohmann::json::parse(campaign_rules_json());
  REQUIRE(list.size() == campaign_rules().size());
  for (std::size_t k = 0; k < list.size(); ++k) {
    const CampaignRuleSpec& rule = campaign_rules()[k];
    CAPTURE(rule.name);
    CHECK(list[k].at("name") == rule.name);
    CHECK(list[k].at("options").size() == rule.options.size());
    CHECK(("\n" + text).find("\n" + std::string(rule.name) + ": " + std::string(rule.summary)) != std::string::npos);
    CHECK(text.find(options_text(rule.options)) != std::string::npos);
    for (const NamedOption& option : rule.options) {
      CHECK_FALSE(default_text(option).empty());
      CHECK_FALSE(option.meaning.empty());
    }
  }
  ::unsetenv("COLUMNS");
}

TEST_CASE("every built-in trace and table of layouts can be read") {
  for (const Preset& preset : trace_presets()) CHECK(!load_node_trace(std::string(preset.name)).events.empty());
  for (const Preset& preset : layout_presets()) CHECK(!load_layouts(std::string(preset.name)).empty());
}

}  // namespace plumb::testing

TEST_SUITE_END();
