#include "tools/claims/claims.hpp"

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/claims/claims_report.hpp"
#include "tools/claims/claims_summary.hpp"
#include "tools/claims/expression.hpp"
#include "tools/claims/printed_number.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

Claim makespan_claim(double expected) {
  Claim claim;
  claim.id = "x";
  claim.system = "X";
  claim.source = "a paper";
  claim.what = "makespan";
  claim.command = "simulate 1f1b -p 4 -m 8 --cost F=1,B=2";
  claim.metric = "makespan";
  claim.provenance = ClaimProvenance::kReplay;
  claim.expected = expected;
  return claim;
}

std::string claims_document(const std::string& claim) {
  return "{\"format\":\"plumbline-claims\",\"version\":2,\"claims\":[" + claim + "]}";
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
  CHECK(run_claim(claim).agrees);
  claim.expected = 33.2;
  CHECK_FALSE(run_claim(claim).agrees);
  claim.tolerance = 0.2;
  CHECK(run_claim(claim).agrees);
  claim.tolerance = 0.19;
  CHECK_FALSE(run_claim(claim).agrees);
}

TEST_CASE("a claim with a baseline is the ratio of two simulations") {
  Claim claim = makespan_claim(33.0 / 30.0);
  claim.baseline = "simulate 1f1b -p 4 -m 7 --cost F=1,B=2";
  CHECK(run_claim(claim).agrees);
}

TEST_CASE("a bare formula is never reached, even when it agrees") {
  CheckedClaim checked{makespan_claim(0.5), {}};
  checked.claim.kind = ClaimKind::kFormula;
  checked.claim.command.clear();
  checked.claim.formula = "1 / 2";
  checked.result = run_claim(checked.claim);
  CHECK(checked.result.formula == 0.5);
  CHECK_FALSE(checked.result.ours.has_value());
  CHECK_FALSE(checked.reached());
  CHECK_FALSE(checked.result.is_surprise(checked.claim));
  checked.claim.expected = 0.6;
  CHECK(run_claim(checked.claim).is_surprise(checked.claim));
}

TEST_CASE("where a simulation stands beside a formula, the simulation is compared") {
  Claim claim = makespan_claim(33);
  claim.formula = "(8 + 4 - 1) * 3";
  CHECK(run_claim(claim).agrees);
  CHECK(run_claim(claim).ours == 33);
  claim.expected = 30;
  claim.formula = "30";
  CHECK_FALSE(run_claim(claim).agrees);
  claim.expected = 33;
  CHECK(run_claim(claim).error == "x: formula: gives 30, expected 33");
}

TEST_CASE("a bound is met on its side, whatever the distance") {
  Claim claim = makespan_claim(30);
  claim.bound = ClaimBound::kAtLeast;
  CHECK(run_claim(claim).agrees);
  claim.bound = ClaimBound::kAtMost;
  CHECK_FALSE(run_claim(claim).agrees);
  claim.expected = 33;
  CHECK(run_claim(claim).agrees);
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
  claim.expected = 40;
  CHECK_FALSE(run_claim(claim).is_surprise(claim));
}

TEST_CASE("a trained claim trains: losses, and weights that are the same or not") {
  Claim claim = makespan_claim(1);
  claim.kind = ClaimKind::kTrained;
  claim.command = "train zb-h1 -p 2 -m 2 --network gpt-tiny --executor serial --steps 1";
  claim.baseline = "train 1f1b -p 2 -m 2 --network gpt-tiny --executor serial --steps 1";
  claim.metric = "same_weights";
  CHECK(run_claim(claim).agrees);
  claim.baseline += " --seed 7";
  CHECK(run_claim(claim).ours == 0);
  claim.baseline.clear();
  CHECK(run_claim(claim).error.find("expected a baseline") != std::string::npos);
  claim.metric = "final_loss";
  claim.expected = 5.545;  // ln 256
  claim.tolerance = 0.2;
  CHECK(run_claim(claim).agrees);
}

TEST_CASE("documents of claims are checked where they stand") {
  const std::string good = R"("id":"a","system":"S","source":"s","what":"w","command":"simulate 1f1b")";
  const std::string replay = R"(,"provenance":"replay","expected":1)";
  const std::string printed = R"(,"provenance":"printed","printed":"0.10")";
  const auto refused = [&](const std::string& rest, const char* expected) {
    return message("{" + good + rest + "}").find(expected) != std::string::npos;
  };
  const std::string exact = R"(,"kind":"exact","metric":"makespan")";
  CHECK(refused(replay + R"(,"kind":"exact","metric":"makespam")", "did you mean 'makespan'?"));
  CHECK(refused(replay + R"(,"kind":"exakt","metric":"makespan")", "expected exact, formula"));
  CHECK(refused(replay + R"(,"kind":"formula","metric":"makespan")", "expected a formula where"));
  CHECK(refused(replay + R"(,"kind":"formula","metric":"makespan","formula":"1")", "expected a command, except"));
  CHECK(refused(replay + exact + R"(,"differs":true)", "why it differs"));
  CHECK(refused(replay + exact + R"(,"tolerance":0.1)", "a tolerance and a tolerance_reason together"));
  CHECK(refused(replay + exact + R"(,"tolerance_reason":"r")", "a tolerance and a tolerance_reason together"));
  CHECK(refused(replay + exact + R"(,"bound":"about")", "expected at_least or at_most"));
  CHECK(refused(printed + exact + R"(,"expected":0.1)", "expected the number as 'printed' where"));
  CHECK(refused(R"(,"provenance":"closed_form","formula":"1+1","expected":2)" + exact, "expected the number as"));
  CHECK(refused(R"(,"provenance":"closed_form","expected":2)" + exact, "formula"));
  CHECK(refused(R"(,"provenance":"closed_form","formula":"1+")" + exact, "column 3: expected a number"));
  CHECK(refused(R"(,"provenance":"printed","printed":"10 %")" + exact, "expected digits as they were printed"));
  CHECK(refused(R"(,"provenance":"replay","printed":"0.1","expected":1)" + exact, "expected the number as 'printed'"));
  for (const std::string& rest : {replay, printed}) {
    const std::string one = "{" + good + rest + exact + "}";
    CHECK(message(one).empty());
    CHECK(message(one + "," + one).find("is taken") != std::string::npos);
  }
}

TEST_CASE("a claim without provenance, or with one that nobody defined, is refused") {
  const std::string rest =
      R"("id":"a","system":"S","source":"s","what":"w","kind":"exact","command":"simulate 1f1b","metric":"makespan")";
  CHECK(message("{" + rest + R"(,"expected":1})").find("provenance") != std::string::npos);
  CHECK(message("{" + rest + R"(,"expected":1,"provenance":"published"})")
            .find("expected printed, closed_form, released_code or replay") != std::string::npos);
}

TEST_CASE("the number of a closed form is its formula's value") {
  const std::vector<Claim> claims = claims_from_json(
      claims_document(R"({"id":"a","system":"S","source":"s","what":"w","provenance":"closed_form","kind":"exact",)"
                      R"j("command":"simulate 1f1b","metric":"makespan","formula":"(8-1)/(8+8-1)"})j"),
      "c.json");
  CHECK(claims.at(0).expected == 7.0 / 15);
  CHECK(claims.at(0).tolerance == 0);
}

TEST_CASE("a printed number is met by what rounds to its digits") {
  const std::vector<Claim> claims = claims_from_json(
      claims_document(R"({"id":"a","system":"S","source":"s","what":"w","provenance":"printed","kind":"exact",)"
                      R"("command":"simulate 1f1b -p 4 -m 8 --cost F=1,B=2","metric":"makespan","printed":"33.0"})"),
      "c.json");
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].expected == 33);
  CHECK(claims[0].tolerance == 0.05);
  CHECK(run_claim(claims[0]).agrees);
}

TEST_CASE("the digits decide the tolerance: half a unit of the last, and both roundings of a ratio") {
  const auto tolerance = [](const char* text) { return printed_number(text).value().tolerance; };
  CHECK(tolerance("14") == 0.5);
  CHECK(tolerance("0.0490") == doctest::Approx(0.00005).epsilon(1e-12));
  CHECK(printed_number("0.0490")->value == 0.049);
  CHECK(printed_number("3/4")->value == 0.75);
  CHECK(tolerance("3/4") == doctest::Approx(3.5 / 3.5 - 0.75).epsilon(1e-12));
  for (const char* text : {"", ".5", "5.", "-1", "1e3", "1/0", "1/0.4/2", "0.5/", "12 %", "1,5", "1234567890123456"}) {
    CHECK_FALSE(printed_number(text).has_value());
  }
}

TEST_CASE("a claim may be about a planner's answer") {
  Claim claim;
  claim.id = "planned";
  claim.command = "plan --method oobleck --network results/planners/inputs/made/even.txt --devices 2 --bandwidth 1e9";
  claim.metric = "plan_cost";
  claim.expected = 108;
  CHECK(run_claim(claim).ours == 108);
  CHECK(run_claim(claim).agrees);
  claim.expected = 111;
  CHECK(!run_claim(claim).agrees);
  claim.metric = "plan_last_start";
  CHECK(run_claim(claim).error == "plan_last_start: the last device has no layers");
  claim.metric = "plan_costs";
  CHECK(run_claim(claim).error.find("did you mean 'plan_cost'?") != std::string::npos);
}

TEST_CASE("every system has a page with its claims, and the index links to it and counts what is reached") {
  CheckedClaim good{makespan_claim(33), {}};
  CheckedClaim bad{makespan_claim(40), {}};
  good.claim.system = bad.claim.system = "Zero Bubble";
  bad.claim.note = "Their clock differs.";
  good.result = run_claim(good.claim);
  bad.result = run_claim(bad.claim);
  const std::vector<CheckedClaim> claims{good, bad};
  CHECK(claims_index_markdown(claims).find("| [Zero Bubble](claims/zero-bubble.md) | - | - | - | - | 1 of 2 |\n") !=
        std::string::npos);
  const std::vector<ClaimsPage> pages = claims_pages(claims);
  REQUIRE(pages.size() == 1);
  CHECK(pages[0].file == "claims/zero-bubble.md");
  CHECK(pages[0].markdown.starts_with("# Zero Bubble\n\na paper\n\nReached: replay 1 of 2."));
  CHECK(pages[0].markdown.find("| makespan | replay | 40 | 33 | -17.50 % | exact | **not reached** |") !=
        std::string::npos);
  CHECK(pages[0].markdown.find("| Their clock differs. |\n") != std::string::npos);
}

TEST_CASE("the headline is computed from the rows: printed numbers by simulation first, everything else apart") {
  std::vector<CheckedClaim> claims;
  const auto add = [&](ClaimProvenance provenance, ClaimKind kind, double expected, double ours, bool agrees) {
    CheckedClaim checked{makespan_claim(expected), {}};
    checked.claim.id = "row-" + std::to_string(claims.size());
    checked.claim.provenance = provenance;
    checked.claim.kind = kind;
    checked.result.ours = ours;
    checked.result.agrees = agrees;
    claims.push_back(checked);
  };
  add(ClaimProvenance::kPrinted, ClaimKind::kExact, 2, 2, true);
  add(ClaimProvenance::kPrinted, ClaimKind::kExact, 4, 5, false);       // +25 %
  add(ClaimProvenance::kPrinted, ClaimKind::kModelled, 10, 5, false);   // -50 %
  add(ClaimProvenance::kPrinted, ClaimKind::kFormula, 1, 1, true);      // never reached
  add(ClaimProvenance::kPrinted, ClaimKind::kTrained, 1, 1, true);      // apart
  add(ClaimProvenance::kClosedForm, ClaimKind::kExact, 1, 100, false);  // deviates, but is no printed number
  add(ClaimProvenance::kReleasedCode, ClaimKind::kExact, 7, 7, true);
  add(ClaimProvenance::kReplay, ClaimKind::kExact, 1, 1, true);
  claims[3].result.ours.reset();
  CHECK(claims_headline(claims) ==
        "1 of 3 printed numbers are met by a simulation, to the digits that were printed (1 of 2 exact, 0 of 1 "
        "modelled).\n"
        "Over all 3 the mean deviation is 25.00 % and the largest -50.00 % (row-2).\n"
        "Printed numbers with a formula only, which are never reached: 1.\n"
        "Printed numbers that were held against a training: 1.\n"
        "The other rows are tests, not printed numbers. Reached: 0 of 1 closed forms of a source, at sizes of our "
        "choice; 1 of 1 outputs of released programs; 1 of 1 derivations of our own.\n");
  claims[1].result.ours = 4;
  claims[1].result.agrees = true;
  CHECK(claims_headline(claims).starts_with("2 of 3 printed numbers"));
  CHECK(claims_headline({claims[7]}) ==
        "The other rows are tests, not printed numbers. Reached: 1 of 1 derivations of our own.\n");
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
