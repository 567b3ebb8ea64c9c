#include "sim/comparison/compare.hpp"
#include "sim/comparison/ranking.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/compare_question.hpp"
#include "tools/tables/ranking_text.hpp"

namespace plumb {
namespace {

constexpr std::string_view kComparisonPart = "comparison";
constexpr std::string_view kComparisonTextPart = "text";
constexpr std::string_view kComparisonPagePart = "html";

class AskedCompare final : public AskedQuestion {
 public:
  AskedCompare() : AskedQuestion(CompareQuestion::kUsage) {
    question_.add_runs_to(options_);
    question_.add_bounds_to(options_);
  }

  std::vector<std::string_view> parts() const override {
    return {kComparisonPart, kComparisonTextPart, kComparisonPagePart};
  }

  void answer(const Request& request, AnswerDocument& answer) override {
    if (question_.ranking) {
      answer_ranking(request, answer);
      return;
    }
    const CompareOptions options = question_.options();
    const ComparedRuns runs = question_.read();
    const Comparison comparison = compare(runs.first, runs.others.runs, options);
    answer.findings = comparison.findings;
    answer.status = status_of(comparison);
    if (request.wants(kComparisonPart)) answer.add_json(kComparisonPart, comparison_to_json(comparison));
    if (request.wants(kComparisonTextPart)) answer.add_text(kComparisonTextPart, comparison_tables(runs, comparison));
    if (request.wants(kComparisonPagePart)) answer.add_text(kComparisonPagePart, comparison_page(runs, options));
  }

 private:
  void answer_ranking(const Request& request, AnswerDocument& answer) const {
    const RankingOptions options = question_.ranking_options(request.wants(kComparisonPagePart));
    const Ranking ranking = rank_runs(question_.read_pairs(), options);
    answer.findings = ranking.findings;
    if (!ranking.findings.empty()) answer.status = ExitStatus::kNo;
    if (request.wants(kComparisonPart)) answer.add_json(kComparisonPart, ranking_to_json(ranking));
    if (request.wants(kComparisonTextPart)) answer.add_text(kComparisonTextPart, ranking_text(ranking));
  }

  CompareQuestion question_;
};

}  // namespace

AskedQuestionPtr asked_compare() { return std::make_unique<AskedCompare>(); }

}  // namespace plumb
