#include <optional>
#include <utility>

#include "tools/ask/asked.hpp"
#include "tools/ask/convert_question.hpp"
#include "tools/ask/schedule_question.hpp"
#include "tools/ask/validate_question.hpp"
#include "tools/catalogue/catalogue_json.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"

namespace plumb {
namespace {

constexpr std::string_view kSchedulePart = "document";
constexpr std::string_view kTextPart = "text";

/// Adds the schedule in `format`, or makes the answer a no where it cannot be said in that format.
void add_document(const std::string& name, const std::string& format, Schedule schedule, AnswerDocument& answer) {
  const auto text = written_schedule(name, written_format(format, ""), std::move(schedule));
  if (text) {
    answer.add_text(kSchedulePart, *text);
  } else {
    answer.status = ExitStatus::kNo;
  }
}

class AskedSchedule final : public AskedQuestion {
 public:
  AskedSchedule() : AskedQuestion(ScheduleQuestion::kUsage) { question_.add_to(options_); }

  std::vector<std::string_view> parts() const override { return {kSchedulePart, kTextPart}; }

  void answer(const Request&, AnswerDocument& answer) override {
    Schedule schedule = question_.load();
    if (const auto violations = check_schedule(schedule); !violations.empty()) {
      answer.refuse(question_.name, violations);
    } else if (question_.explain) {
      answer.add_text(kTextPart, question_.guide(schedule));
      written_format(question_.format, "");
    } else {
      add_document(question_.name, question_.format, std::move(schedule), answer);
    }
  }

 private:
  ScheduleQuestion question_;
};

class AskedValidate final : public AskedQuestion {
 public:
  AskedValidate() : AskedQuestion(ValidateQuestion::kUsage) { question_.add_to(options_); }

  std::vector<std::string_view> parts() const override { return {kTextPart}; }

  void answer(const Request&, AnswerDocument& answer) override {
    const CheckedSchedule checked = question_.check();
    if (!checked.violations.empty()) {
      answer.refuse(question_.name, checked.violations);
    } else {
      answer.add_text(kTextPart, valid_text(question_.name, checked.schedule));
    }
  }

 private:
  ValidateQuestion question_;
};

class AskedConvert final : public AskedQuestion {
 public:
  AskedConvert() : AskedQuestion(ConvertQuestion::kUsage) {
    question_.add_input_to(options_);
    question_.add_formats_to(options_);
  }

  std::vector<std::string_view> parts() const override { return {kSchedulePart}; }

  void answer(const Request&, AnswerDocument& answer) override {
    answer.command += " -";
    if (question_.to.empty()) question_.to = "json";
    add_document(question_.in, question_.to, question_.load(), answer);
  }

 private:
  ConvertQuestion question_;
};

class AskedSchedules final : public AskedQuestion {
 public:
  AskedSchedules() : AskedQuestion("schedules [NAME]...") { options_.positionals(names_, 0, "NAME,schedules"); }

  std::vector<std::string_view> parts() const override { return {}; }

  void answer(const Request&, AnswerDocument& answer) override {
    std::vector<const ScheduleSpec*> rows;
    for (const std::string& name : names_) rows.push_back(&schedule_named(name));
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      if (names_.empty()) rows.push_back(&spec);
    }
    answer.add_json("schedules", schedules_json(rows));
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

AskedQuestionPtr asked_schedule() { return std::make_unique<AskedSchedule>(); }
AskedQuestionPtr asked_validate() { return std::make_unique<AskedValidate>(); }
AskedQuestionPtr asked_convert() { return std::make_unique<AskedConvert>(); }
AskedQuestionPtr asked_schedules() { return std::make_unique<AskedSchedules>(); }

}  // namespace plumb
