#include "tools/tables/character_row.hpp"

namespace plumb {
namespace {

constexpr std::string_view kPlain = "\033[0m";

std::string_view colour_of(Op op) {
  switch (op) {
    case Op::kF:
      return "\033[30;46m";
    case Op::kB:
      return "\033[30;42m";
    case Op::kI:
      return "\033[30;104m";
    case Op::kW:
      return "\033[30;43m";
    case Op::kR:
      return "\033[30;47m";
    case Op::kU:
      return "\033[30;45m";
    default:
      return "\033[30;100m";
  }
}

}  // namespace

void CharacterRow::write(std::size_t begin, std::string_view text, Op op) {
  for (std::size_t i = 0; i < text.size() && begin + i < text_.size(); ++i) {
    text_[begin + i] = text[i];
    ops_[begin + i] = text[i] == ' ' ? kNone : static_cast<int>(op);
  }
}

std::string CharacterRow::to_string(bool colour, std::size_t begin, std::size_t end) const {
  if (!colour) return text_.substr(begin, end - begin);
  std::string out;
  int current = kNone;
  for (std::size_t i = begin; i < end; ++i) {
    if (ops_[i] != current) {
      if (current != kNone) out += kPlain;
      if (ops_[i] != kNone) out += colour_of(static_cast<Op>(ops_[i]));
      current = ops_[i];
    }
    out += text_[i];
  }
  if (current != kNone) out += kPlain;
  return out;
}

}  // namespace plumb
