#include "tools/claims/claims.hpp"

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/claims/claims_report.hpp"
#include "tools/claims/expression.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

Claim makespan_claim(double published) {
  Claim claim;
  claim.id = "x";
  claim.system = "X";
  claim.source = "a paper";
  claim.what = "makespan";
  claim.command = "simulate 1f1b -p 4 -m 8 --cost F=1,B=2";
  claim.metric = "makespan";
  claim.published = published;
  return claim;
}

std::string claims_document(const std::string& claim) {
  return "{\"format\":\"plumbline-claims\",\"version\":1,\"claims\":[" + claim + "]}";
}

std::string message(const std::string& claim) {
  return error_message([&] { claims_from_json(claims_document(claim), "c.json"); });
}

}  // namespace

TEST_CASE("expressions follow the rules of arithmetic") {
  const auto value = [](const char* text) { return evaluate_expression(text, "f"); };
  CHECK(value("1 + 2 * 3") == 7);
  CHECK(value("(1 + 2) * 3") == 9);
  CHECK(value("8 / 2 / 2") == 2);
  CHECK(value("10 - 3 - 2") == 5);
  CHECK(value("2 ^ 3 ^ 2") == 512);
  CHECK(value("-2 ^ 2") == -4);
  CHECK(value("2 ^ -1") == 0.5);
  CHECK(value("max(1, min(7, 3)) + ceil(0.2) + floor(1.9) + log2(8)") == 8);
}

TEST_CASE("broken expressions are refused at their column") {
  const auto refusal = [](const char* text) { return error_message([&] { evaluate_expression(text, "f"); }); };
  CHECK(refusal("1 +") == "f: column 4: expected a number, found the end");
  CHECK(refusal("(1") == "f: column 3: expected ')', found the end");
  CHECK(refusal("1 2") == "f: column 3: expected an operator, found '2'");
  CHECK(refusal("sin(1)") == "f: column 1: expected min, max, ceil, floor or log2, found 's'");
  CHECK(refusal("1 / 0") == "f: expected a finite value");
  CHECK(refusal(std::string(1000, '(').c_str()).find("expected fewer parentheses") != std::string::npos);
}

TEST_CASE("a claim is reached within its tolerance and not beyond") {
  Claim claim = makespan_claim(33);
  CHECK(run_claim(claim).reached);
  claim.published = 33.2;
  CHECK_FALSE(run_claim(claim).reached);
  claim.tolerance = 0.2;
  CHECK(run_claim(claim).reached);
  claim.tolerance = 0.19;
  CHECK_FALSE(run_claim(claim).reached);
}

TEST_CASE("a claim with a baseline is the ratio of two simulations") {
  Claim claim = makespan_claim(33.0 / 30.0);
  claim.baseline = "simulate 1f1b -p 4 -m 7 --cost F=1,B=2";
  CHECK(run_claim(claim).reached);
}

TEST_CASE("a formula is the answer, and a simulation stands beside it") {
  Claim claim = makespan_claim(0.5);
  claim.kind = ClaimKind::kFormula;
  claim.formula = "1 / 2";
  const ClaimResult result = run_claim(claim);
  CHECK(result.reached);
  CHECK(result.ours == 0.5);
  CHECK(result.simulated == 33);
}

TEST_CASE("a claim that cannot be run says why and is a surprise") {
  Claim claim = makespan_claim(33);
  claim.command = "simulate 1f1c -p 4 -m 8 --cost F=1,B=2";
  const ClaimResult result = run_claim(claim);
  CHECK(result.error == "unknown schedule '1f1c' (did you mean '1f1b'?)");
  CHECK(result.is_surprise(claim));
  claim.expect_differs = true;
  CHECK(result.is_surprise(claim));
}

TEST_CASE("what is known to differ is a surprise when it does not") {
  Claim claim = makespan_claim(33);
  claim.expect_differs = true;
  CHECK(run_claim(claim).is_surprise(claim));
  claim.published = 40;
  CHECK_FALSE(run_claim(claim).is_surprise(claim));
}

TEST_CASE("a trained claim trains: losses, and weights that are the same or not") {
  Claim claim = makespan_claim(1);
  claim.kind = ClaimKind::kTrained;
  claim.command = "train zb-h1 -p 2 -m 2 --network gpt-tiny --executor serial --steps 1";
  claim.baseline = "train 1f1b -p 2 -m 2 --network gpt-tiny --executor serial --steps 1";
  claim.metric = "same_weights";
  CHECK(run_claim(claim).reached);
  claim.baseline += " --seed 7";
  CHECK(run_claim(claim).ours == 0);
  claim.baseline.clear();
  CHECK(run_claim(claim).error.find("expected a baseline") != std::string::npos);
  claim.metric = "final_loss";
  claim.published = 5.545;  // ln 256
  claim.tolerance = 0.2;
  CHECK(run_claim(claim).reached);
}

TEST_CASE("documents of claims are checked where they stand") {
  const std::string good =
      R"("id":"a","system":"S","source":"s","what":"w","published":1,"tolerance":0,"command":"simulate 1f1b")";
  const auto refused = [&](const std::string& rest, const char* expected) {
    return message("{" + good + rest + "}").find(expected) != std::string::npos;
  };
  CHECK(refused(R"(,"kind":"exact","metric":"makespam")", "did you mean 'makespan'?"));
  CHECK(refused(R"(,"kind":"exakt","metric":"makespan")", "expected exact, formula"));
  CHECK(refused(R"(,"kind":"formula","metric":"makespan")", "expected a formula where"));
  CHECK(refused(R"(,"kind":"exact","metric":"makespan","differs":true)", "why it differs"));
  const std::string one = "{" + good + R"(,"kind":"exact","metric":"makespan"})";
  CHECK(message(one).empty());
  CHECK(message(one + "," + one).find("is taken") != std::string::npos);
}

TEST_CASE("every system has a page with its claims, and the index links to it and counts what is reproduced") {
  CheckedClaim good{makespan_claim(33), {}};
  CheckedClaim bad{makespan_claim(40), {}};
  good.claim.system = bad.claim.system = "Zero Bubble";
  bad.claim.note = "their clock";
  good.result = run_claim(good.claim);
  bad.result = run_claim(bad.claim);
  const std::vector<CheckedClaim> claims{good, bad};
  CHECK(claims_index_markdown(claims).find("| [Zero Bubble](claims/zero-bubble.md) | 2 | 1 |\n") != std::string::npos);
  const std::vector<ClaimsPage> pages = claims_pages(claims);
  REQUIRE(pages.size() == 1);
  CHECK(pages[0].file == "claims/zero-bubble.md");
  CHECK(pages[0].markdown.starts_with("# Zero Bubble\n\na paper\n\n1 of 2 published numbers are reproduced"));
  CHECK(pages[0].markdown.find("| makespan | 40 | 33 | -17.50 % | exact |") != std::string::npos);
  CHECK(pages[0].markdown.find("| **not reproduced**: their clock |\n") != std::string::npos);
}

TEST_CASE("only what stands between the marks of a page is replaced") {
  CHECK(page_with_claims("a\n<!-- claims -->\nold\n<!-- end of claims -->\nb\n", "new\n", "p") ==
        "a\n<!-- claims -->\nnew\n<!-- end of claims -->\nb\n");
  CHECK(error_message([] { page_with_claims("a", "b", "page.md"); }).starts_with("page.md: expected the lines"));
}

TEST_CASE("results/claims.json is read, and every claim names a command or a formula that makes sense") {
  const std::string path = plumb::testing::in_source("results/claims.json");
  CHECK(claims_from_json(read_text_file(path), path).size() > 0);
}

}  // namespace plumb::testing

TEST_SUITE_END();
