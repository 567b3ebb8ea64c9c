#include "models/launches/shell_tokens.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// The tokens, one per line of the script: words as they are, the others in the brackets of their kind.
std::string tokens_of(const std::string& script, std::size_t first_line = 1) {
  std::string text;
  for (const ShellToken& token : shell_tokens(script, "x.sh", first_line)) {
    text += (text.empty() ? "" : " ") + std::to_string(token.line) + ":";
    std::string shown = token.text;
    for (std::size_t at = shown.find('\n'); at != std::string::npos; at = shown.find('\n')) shown.replace(at, 1, "\\n");
    switch (token.kind) {
      case ShellToken::Kind::kWord:
        text += shown;
        break;
      case ShellToken::Kind::kOperator:
        text += "<" + shown + ">";
        break;
      case ShellToken::Kind::kArray:
        text += "array(" + shown;
        break;
      case ShellToken::Kind::kArrayEnd:
        text += "end" + shown;
        break;
      case ShellToken::Kind::kHereText:
        text += (token.quoted ? "quoted[" : "here[") + shown + "]";
        break;
    }
  }
  return text;
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t k = 0; k < count; ++k) all += text;
  return all;
}

}  // namespace

TEST_CASE("a script falls into words and operators with their lines") {
  CHECK(tokens_of("a b\tc\rd") == "1:a 1:b 1:c 1:d");
  CHECK(tokens_of("a\n\nb", 7) == "7:a 7:<\\n> 8:<\\n> 9:b");
  CHECK(tokens_of("a\\\nb") == "1:a\\\\nb");
  CHECK(tokens_of("a \\\nb \\\r\nc d") == "1:a 2:b 3:c 3:d");
  CHECK(tokens_of("a # b ; c\nd") == "1:a 1:<\\n> 2:d");
  CHECK(tokens_of("a#b") == "1:a#b");
  CHECK(tokens_of("# only") == "");
  CHECK(tokens_of("a;b&c|d(e)f<g>h") == "1:a 1:<;> 1:b 1:<&> 1:c 1:<|> 1:d 1:<(> 1:e 1:<)> 1:f 1:<<> 1:g 1:<>> 1:h");
  CHECK(tokens_of("a&&b||c;;d>>e>&f<&g&>h&>>i<<<j") ==
        "1:a 1:<&&> 1:b 1:<||> 1:c 1:<;;> 1:d 1:<>>> 1:e 1:<>&> 1:f 1:<<&> 1:g 1:<&>> 1:h 1:<&>>> 1:i 1:<<<<> 1:j");
  CHECK(tokens_of("'a b'\"c ;d\"`e f`$(g ; h)${i j}k") == "1:'a b'\"c ;d\"`e f`$(g ; h)${i j}k");
  CHECK(tokens_of("'a\nb' c\nd") == "1:'a\\nb' 2:c 2:<\\n> 3:d");
  CHECK(tokens_of("a\\ b\\;c d\\") == "1:a\\ b\\;c 1:d\\");
  CHECK(tokens_of("$a $ $'x y' \\") == "1:$a 1:$ 1:$'x y' 1:\\");
}

TEST_CASE("an array is its beginning, its words and its end, over lines and past comments") {
  CHECK(tokens_of("A=(a 'b c')d") == "1:array(A= 1:a 1:'b c' 1:end) 1:d");
  CHECK(tokens_of("A+=(\n a # )\n b\n)\nc") == "1:array(A+= 2:a 3:b 4:end) 4:<\\n> 5:c");
  CHECK(tokens_of("A=()") == "1:array(A= 1:end)");
  CHECK(tokens_of("A=(b=(c))") == "1:array(A= 1:b= 1:<(> 1:c 1:end) 1:<)>");
  CHECK(tokens_of("A= (b)") == "1:A= 1:<(> 1:b 1:<)>");
  CHECK_THROWS_WITH_AS(shell_tokens("a\nA=(b\n", "x.sh", 5), "x.sh:7: expected ) at the end of an array", Error);
}

TEST_CASE("the text of a here-document ends at its word, and its lines count") {
  CHECK(tokens_of("cat <<E a\nx y\n\nz\nE\nb") == "1:cat 1:<<<> 1:here[x y\\n\\nz\\n] 1:a 1:<\\n> 6:b");
  CHECK(tokens_of("cat <<\"E\"\nx\nE\nb") == "1:cat 1:<<<> 1:quoted[x\\n] 1:<\\n> 4:b");
  CHECK(tokens_of("cat <<\\E\nx\nE\nb") == "1:cat 1:<<<> 1:quoted[x\\n] 1:<\\n> 4:b");
  CHECK(tokens_of("cat <<-E\n\t\tx\n\t y\n\t\n\tE\nb") == "1:cat 1:<<<-> 1:here[x\\n y\\n\\n] 1:<\\n> 6:b");
  CHECK(tokens_of("cat <<E\n\tE\nE") == "1:cat 1:<<<> 1:here[\tE\\n] 1:<\\n>");
  CHECK(tokens_of("cat <<E <<F;b\n1\nE\n2\nF\nc") ==
        "1:cat 1:<<<> 1:here[1\\n] 1:<<<> 1:here[2\\n] 1:<;> 1:b 1:<\\n> 6:c");
  CHECK(tokens_of("cat <<E\r\nx\r\nE\r\nb") == "1:cat 1:<<<> 1:here[x\\n] 1:<\\n> 4:b");
  CHECK(tokens_of("cat <<E\nx") == "1:cat 1:<<<> 1:here[x\\n] 1:<\\n>");
  CHECK(tokens_of("cat <<E") == "1:cat 1:<<<> 1:here[]");
}

TEST_CASE("what begins with a quote or a bracket ends behind the one that closes it") {
  const auto end = [](const std::string& text, std::size_t at = 0) { return shell_unit_end(text, at); };
  constexpr std::size_t kNone = std::string::npos;
  CHECK(end("'a'b") == 3);
  CHECK(end("''b") == 2);
  CHECK(end("'a\\'b") == 4);
  CHECK(end("'a") == kNone);
  CHECK(end("'") == kNone);
  CHECK(end("`a`b") == 3);
  CHECK(end("`a") == kNone);
  CHECK(end("\"a\"b") == 3);
  CHECK(end("\"\"b") == 2);
  CHECK(end("\"a\\\"b\"c") == 6);
  CHECK(end("\"a'b\"c") == 5);
  CHECK(end("\"`\"`\"c") == 5);
  CHECK(end("\"$(\")\")\"c") == 8);
  CHECK(end("\"a") == kNone);
  CHECK(end("\"a\\\"") == kNone);
  CHECK(end("\"$(\"") == kNone);
  CHECK(end("${a}b") == 4);
  CHECK(end("${a:-${b}}c") == 10);
  CHECK(end("${a\\}}c") == 6);
  CHECK(end("${'}'}c") == 6);
  CHECK(end("${\"}\"}c") == 6);
  CHECK(end("${(}c") == 4);
  CHECK(end("${a") == kNone);
  CHECK(end("${'") == kNone);
  CHECK(end("$(a)b") == 4);
  CHECK(end("$((1+(2)))b") == 10);
  CHECK(end("$(a (b) c)d") == 10);
  CHECK(end("$(a ')' b)c") == 10);
  CHECK(end("$(a \\) b)c") == 9);
  CHECK(end("$(a") == kNone);
  CHECK(end("$a") == 0);
  CHECK(end("$") == 0);
  CHECK(end("a'b'") == 0);
  CHECK(end("a'b'", 1) == 4);
  CHECK(end("", 0) == 0);
  CHECK(end("ab", 2) == 2);
}

TEST_CASE("64 units inside of each other are read, and not one more") {
  const auto nested = [](std::size_t count) { return repeated("${a:-", count) + repeated("}", count); };
  CHECK(shell_unit_end(nested(64), 0) == 64 * 6);
  CHECK(shell_unit_end(nested(65), 0) == std::string::npos);
  const auto quoted = [](std::size_t count) {
    return "\"" + repeated("$(", count) + "a" + repeated(")", count) + "\"";
  };
  CHECK(shell_unit_end(quoted(63), 0) == 3 + 3 * 63);
  CHECK(shell_unit_end(quoted(64), 0) == std::string::npos);
}

TEST_CASE("what does not end is told with its line") {
  CHECK_THROWS_WITH_AS(shell_tokens("a\nb 'c\nd", "x.sh", 1), "x.sh:2: expected the end of what begins with '", Error);
  CHECK_THROWS_WITH_AS(shell_tokens("a \"b\nc\"\n${d", "x.sh", 3), "x.sh:5: expected the end of what begins with $",
                       Error);
  CHECK_THROWS_WITH_AS(shell_tokens("a\\\nb `c", "x.sh", 3), "x.sh:4: expected the end of what begins with `", Error);
}

TEST_CASE("a value begins behind the sign of its assignment") {
  const auto assigned = [](std::string_view word) { return assigned_name(word); };
  using Name = std::pair<std::string_view, std::size_t>;
  CHECK(assigned("a=") == Name("a", 2));
  CHECK(assigned("a==") == Name("a", 2));
  CHECK(assigned("ab+=c=d") == Name("ab", 4));
  CHECK(assigned("a[10]+=c") == Name("a", 7));
  CHECK(assigned("a-=c") == std::nullopt);
  CHECK(assigned("1=c") == std::nullopt);
  CHECK(assigned("+=c") == std::nullopt);
  CHECK(assigned("") == std::nullopt);
  CHECK(assigned("[1]=2") == std::nullopt);
}

}  // namespace plumb

TEST_SUITE_END();
