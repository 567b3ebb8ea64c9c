#include "tools/ask/ask.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/request.hpp"
#include "tools/ask/request_schema.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// A list that takes no options.
class AskedList final : public AskedQuestion {
 public:
  using List = std::string (*)();

  AskedList(const char* name, List list) : AskedQuestion(name), name_(name), list_(list) {}

  std::vector<std::string_view> parts() const override { return {}; }

  void answer(const Request&, AnswerDocument& answer) override { answer.add_json(name_, list_()); }

 private:
  const char* name_;
  List list_;
};

class AskedSchema final : public AskedQuestion {
 public:
  AskedSchema() : AskedQuestion("ask --schema") {}

  std::vector<std::string_view> parts() const override { return {}; }

  void answer(const Request&, AnswerDocument& answer) override {
    answer.command += " --schema";
    answer.add_json("schema", schema_of_requests());
  }
};

struct QuestionKind {
  std::string_view name;
  AskedQuestionPtr (*make)();
};

AskedQuestionPtr asked_clusters() { return std::make_unique<AskedList>("clusters", clusters_json); }
AskedQuestionPtr asked_networks() { return std::make_unique<AskedList>("networks", networks_json); }
AskedQuestionPtr asked_schema() { return std::make_unique<AskedSchema>(); }

constexpr std::array kQuestions{QuestionKind{"campaign", asked_campaign}, QuestionKind{"clusters", asked_clusters},
                                QuestionKind{"compare", asked_compare},   QuestionKind{"convert", asked_convert},
                                QuestionKind{"networks", asked_networks}, QuestionKind{"plan", asked_plan},
                                QuestionKind{"planner", asked_planner},   QuestionKind{"planners", asked_planners},
                                QuestionKind{"schedule", asked_schedule}, QuestionKind{"schedules", asked_schedules},
                                QuestionKind{"schema", asked_schema},     QuestionKind{"search", asked_search},
                                QuestionKind{"simulate", asked_simulate}, QuestionKind{"stability", asked_stability},
                                QuestionKind{"sweep", asked_sweep},       QuestionKind{"trace", asked_trace},
                                QuestionKind{"validate", asked_validate}};

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
