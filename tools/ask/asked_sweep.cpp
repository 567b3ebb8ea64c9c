#include <utility>

#include "models/ground/error.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/sweep/sweep_table.hpp"
#include "tools/sweep/sweep_text.hpp"

namespace plumb {
namespace {

class AskedSweep final : public AskedQuestion {
 public:
  AskedSweep() : AskedQuestion(SweepQuestion::kUsage) {
    question_.add_points_to(options_);
    question_.add_costs_to(options_);
  }

  std::vector<std::string_view> parts() const override { return {"csv", "text"}; }

  void answer(const Request& request, AnswerDocument& answer) override {
    for (const std::string& name : question_.schedules) {
      if (is_schedule_program(name)) throw Error(name + ": a request runs no programs, expected a name or a file");
    }
    const std::vector<SweepPoint> points = question_.points();
    std::vector<SweepResult> results;
    sweep_points(points, question_.plan(points, false),
                 [&](SweepResult result) { results.push_back(std::move(result)); });
    check_sweep(results);
    std::string csv(sweep_csv_header());
    for (const SweepResult& result : results) csv += sweep_csv_row(result);
    if (request.wants("csv")) answer.add_text("csv", csv);
    if (request.wants("text")) answer.add_text("text", sweep_text(results));
  }

 private:
  SweepQuestion question_;
};

}  // namespace

AskedQuestionPtr asked_sweep() { return std::make_unique<AskedSweep>(); }

}  // namespace plumb
