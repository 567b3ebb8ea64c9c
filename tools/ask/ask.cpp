#include "tools/ask/ask.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/campaign_question.hpp"
#include "tools/ask/compare_question.hpp"
#include "tools/ask/convert_question.hpp"
#include "tools/ask/plan_search_question.hpp"
#include "tools/ask/planner_question.hpp"
#include "tools/ask/request.hpp"
#include "tools/ask/schedule_question.hpp"
#include "tools/ask/search_question.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/ask/stability_question.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/ask/trace_question.hpp"
#include "tools/ask/validate_question.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/plans/plan_text.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// A question by its name in requests.
struct NamedQuestion {
  std::string_view name;
  AskedQuestionPtr question;
};

using SchemaJson = nlohmann::ordered_json;

/// One text, or several.
SchemaJson texts_schema() { return {{"type", {"string", "array"}}, {"items", {{"type", {"string", "number"}}}}}; }

/// A number, or a text that holds one; the bounds are those of a number.
SchemaJson whole_schema(NumberRange range) {
  SchemaJson schema = {{"type", {"integer", "string"}}, {"minimum", range.least}};
  if (range.most != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = range.most;
  return schema;
}

SchemaJson real_schema(RealRange range) {
  SchemaJson schema = {{"type", {"number", "string"}}};
  if (std::isfinite(range.least)) schema["minimum"] = range.least;
  if (std::isfinite(range.most)) schema["maximum"] = range.most;
  return schema;
}

SchemaJson option_schema(const Option& option) {
  SchemaJson schema;
  switch (option.kind) {
    case OptionKind::kFlag:
      schema = {{"type", {"boolean", "null"}}};
      break;
    case OptionKind::kTexts:
      schema = texts_schema();
      break;
    case OptionKind::kWhole:
      schema = whole_schema(option.range);
      break;
    case OptionKind::kReal:
      schema = real_schema(option.reals);
      break;
    case OptionKind::kText:
      schema = {{"type", {"string", "number"}}};
      break;
  }
  schema["description"] = option.help;
  if (!option.words.empty()) schema["examples"] = option.words;
  return schema;
}

SchemaJson parts_schema(const std::vector<std::string_view>& parts) {
  SchemaJson names = SchemaJson::array();
  for (const std::string_view part : parts) names.push_back(part);
  return {{"type", "array"},
          {"items", {{"enum", std::move(names)}}},
          {"description", "parts of the answer; without it: " + std::string(parts.front())}};
}

SchemaJson question_schema(const NamedQuestion& named) {
  const OptionTable& options = named.question->options();
  SchemaJson properties = {
      {"version", {{"const", 1}}},
      {"ask", {{"const", named.name}}},
      {"files",
       {{"type", "object"},
        {"additionalProperties", {{"type", "string"}}},
        {"description", "texts that stand in for files, by their names"}}},
      {"only_files", {{"type", "boolean"}, {"description", "true: nothing is read but the texts of 'files'"}}}};
  SchemaJson required = {"ask"};
  if (const auto parts = named.question->parts(); !parts.empty()) properties["want"] = parts_schema(parts);
  for (const PositionalArgument& argument : options.arguments()) {
    if (argument.name.empty()) continue;
    properties[argument.name] = argument.several ? texts_schema() : SchemaJson{{"type", "string"}};
    properties[argument.name]["description"] = argument.placeholder;
    if (argument.least > 0) required.push_back(argument.name);
  }
  for (const OptionGroup& group : options.groups()) {
    for (const Option& option : group.options) properties[option.name] = option_schema(option);
  }
  return {{"type", "object"},
          {"title", options.usage()},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

/// JSON Schema (draft 2020-12) of the requests that ask one of `questions`: a definition for each, with every field,
/// its type, its range and what it means.
std::string request_schema(const std::vector<NamedQuestion>& questions) {
  SchemaJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "A request of Plumbline"},
                       {"oneOf", SchemaJson::array()},
                       {"$defs", SchemaJson::object()}};
  for (const NamedQuestion& named : questions) {
    const std::string name(named.name);
    schema["oneOf"].push_back({{"$ref", "#/$defs/" + name}});
    schema["$defs"][name] = question_schema(named);
  }
  return schema.dump(1) + "\n";
}

/// A question of `Question`, which has its usage (`kUsage`), its options (`add_to`), the names of the parts of its
/// answer
/// (`parts`), and those that a request wants (`add_parts`).
template <class Question>
class AskedAs final : public AskedQuestion {
 public:
  AskedAs() : AskedQuestion(Question::kUsage) { question_.add_to(options_); }

  std::vector<std::string_view> parts() const override { return Question::parts(); }

  void answer(const Request& request, AnswerDocument& answer) override {
    if constexpr (requires(Question & question) { question.given; }) question_.given = options_.given();
    question_.add_parts(request, answer);
  }

 private:
  Question question_;
};

/// A list, which takes no options. Its command is `name` unless the list is printed by an option of another one.
class AskedList final : public AskedQuestion {
 public:
  using List = std::string (*)();

  AskedList(const char* name, List list, const char* command, const char* option = "")
      : AskedQuestion(command), name_(name), option_(option), list_(list) {}

  std::vector<std::string_view> parts() const override { return {}; }

  void answer(const Request&, AnswerDocument& answer) override {
    answer.command += option_;
    answer.add_json(name_, list_());
  }

 private:
  const char* name_;
  const char* option_;
  List list_;
};

class AskedSchedules final : public AskedQuestion {
 public:
  AskedSchedules() : AskedQuestion("schedules [NAME]...") { options_.positionals(names_, 0, "NAME,schedules"); }

  std::vector<std::string_view> parts() const override { return {}; }

  void answer(const Request&, AnswerDocument& answer) override {
    answer.add_json("schedules", schedules_json(schedules_called(names_)));
  }

 private:
  std::vector<std::string> names_;
};

struct QuestionKind {
  std::string_view name;
  AskedQuestionPtr (*make)();
};

template <class Question>
AskedQuestionPtr asked() {
  return std::make_unique<AskedAs<Question>>();
}

const std::array kQuestions{
    QuestionKind{"campaign", asked<CampaignQuestion>},
    QuestionKind{"clusters", [] { return AskedQuestionPtr(new AskedList("clusters", clusters_json, "clusters")); }},
    QuestionKind{"compare", asked<CompareQuestion>},
    QuestionKind{"convert", asked<ConvertQuestion>},
    QuestionKind{"networks", [] { return AskedQuestionPtr(new AskedList("networks", networks_json, "networks")); }},
    QuestionKind{"plan", asked<PlanSearchQuestion>},
    QuestionKind{"planner", asked<PlannerQuestion>},
    QuestionKind{"planners",
                 [] { return AskedQuestionPtr(new AskedList("planners", planners_json, "plan --list", " --list")); }},
    QuestionKind{"schedule", asked<ScheduleQuestion>},
    QuestionKind{"schedules", [] { return AskedQuestionPtr(new AskedSchedules()); }},
    QuestionKind{
        "schema",
        [] { return AskedQuestionPtr(new AskedList("schema", schema_of_requests, "ask --schema", " --schema")); }},
    QuestionKind{"search", asked<SearchQuestion>},
    QuestionKind{"simulate", asked<SimulateQuestion>},
    QuestionKind{"stability", asked<StabilityQuestion>},
    QuestionKind{"sweep", asked<SweepQuestion>},
    QuestionKind{"trace", asked<TraceQuestion>},
    QuestionKind{"validate", asked<ValidateQuestion>}};

/// Throws `Error` for parts that the question does not have; fills in the first where none is wanted.
void settle_wanted(Request& request, const std::vector<std::string_view>& parts) {
  for (const std::string& part : request.want) {
    if (std::ranges::find(parts, part) == parts.end()) throw_unknown("part of the answer", part, parts);
  }
  if (request.want.empty() && !parts.empty()) request.want.emplace_back(parts.front());
}

}  // namespace

std::vector<std::string_view> questions() {
  std::vector<std::string_view> names;
  for (const QuestionKind& kind : kQuestions) names.push_back(kind.name);
  return names;
}

std::string schema_of_requests() {
  std::vector<NamedQuestion> all;
  for (const QuestionKind& kind : kQuestions) all.push_back({kind.name, kind.make()});
  return request_schema(all);
}

AskedQuestionPtr asked_question(std::string_view name) {
  const auto kind = std::ranges::find(kQuestions, name, &QuestionKind::name);
  if (kind == kQuestions.end()) throw_unknown("question", name, questions());
  return kind->make();
}

ExitStatus ask(std::string_view text, std::string& document) {
  AnswerDocument answer(std::exchange(document, {}));
  Request request = request_from_json(text);
  const AskedQuestionPtr question = asked_question(request.ask);
  settle_wanted(request, question->parts());
  const GivenFiles files(request.readable());
  const CollectedNotes notes;
  take_request(question->options(), request);
  answer.command = command_of(question->options(), request);
  question->answer(request, answer);
  document = answer.finish(notes.lines());
  return answer.status;
}

std::string ask(std::string_view request) { return reply_to(request).document; }

Reply reply_to(std::string_view request) {
  Reply reply;
  reply.status = ask(request, reply.document);
  return reply;
}

}  // namespace plumb
