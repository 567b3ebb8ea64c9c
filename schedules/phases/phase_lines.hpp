#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/document/action.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/phases/whole_expression.hpp"

namespace plumb {

/// Numbers of the names that all rules know, in the table of their names.
enum class RuleName : std::size_t { kP, kM, kV, kU, kD, kR, kC, kI, kSlices };
constexpr std::size_t index(RuleName name) { return static_cast<std::size_t>(name); }

/// An action of a pattern: what, of which chunk and copy of the model.
struct PhasePass {
  static constexpr std::size_t kNoStream = static_cast<std::size_t>(-1);

  Op op{};
  WholeExpression count{};         ///< how often in a row; empty: once
  WholeExpression copy{};          ///< of the model; empty: the first
  WholeExpression chunk{};         ///< empty: that of `stream`, or for W any
  std::size_t stream = kNoStream;  ///< its number in `PhaseRules::streams`
  WholeExpression where{};         ///< the device of LOAD and EVICT; empty: the host, or nowhere
  WholeExpression merged{};        ///< microbatches that it takes at once; empty: one
  bool from_host = false;
  bool newest = false;     ///< the newest microbatch in place of the oldest
  bool with_next = false;  ///< overlapped with the next pass

  bool has_stream() const { return stream != kNoStream; }
};

/// A part of a stream of chunks: a chunk `count` times, or each of all of them, up or down.
struct StreamPart {
  enum class Kind : std::uint8_t { kChunk, kUp, kDown };
  Kind kind = Kind::kChunk;
  std::int32_t chunk = 0;
  WholeExpression count{};
  WholeExpression all{};  ///< how many of each chunk there are; the last round may be shorter. Empty: whole rounds
};

/// An expression and where it stands ("file:line"), or none.
struct PlacedExpression {
  std::string where{};
  WholeExpression expression{};

  explicit operator bool() const { return !expression.empty(); }
};

/// A text and where it stands; without text there is none.
struct PlacedText {
  std::string where{};
  std::string text{};
  WholeExpression only_if{};  ///< empty: always

  explicit operator bool() const { return !text.empty(); }
};

/// A line that may be written several times: the last one whose condition holds counts.
using PlacedTexts = std::vector<PlacedText>;

/// One line that devices go through in order.
struct PhaseStatement {
  enum class Kind : std::uint8_t {
    kLet,     ///< `name` = `value`
    kNeed,    ///< `value` must not be 0; `name`: what is said otherwise
    kStream,  ///< `name` = `parts`
    kPhase,   ///< `value` times `passes`; `period`: turns after which they come again, empty: each is like the others
    kAt,      ///< `passes` at slot `value`
    kFor,     ///< the lines up to `end` with `name` from 0 to `value` - 1
    kRepeat,  ///< the lines up to `end`, `value` times
    kIf,      ///< the lines up to `end` where `value` is not 0
    kElse,    ///< the lines up to `end`, behind an `if` that was left out
    kSorted,  ///< the passes of the lines up to `end`, by slot
    kEnd,     ///< of one of these
  };
  Kind kind{};
  std::string where;
  std::string name{};
  std::size_t number = 0;  ///< of the name, in the table of names or streams
  WholeExpression value{};
  WholeExpression period{};
  std::vector<PhasePass> passes{};
  std::vector<StreamPart> parts{};
  std::size_t end = 0;
};

/// An option and its value where none is given.
struct PhaseOption {
  std::string name{};
  std::size_t number = 0;             ///< of the name
  PlacedExpression otherwise{};       ///< a whole number
  std::vector<std::string> words{};   ///< its values, the first one where none is given; empty: whole numbers
  std::vector<std::size_t> chosen{};  ///< the numbers of "NAME is WORD", by word
  std::string form = "N";             ///< what stands for the number
  std::int64_t least = 1;
  std::string told{};  ///< the value where none is given, as it is told
  std::string meaning{};
};

/// What a schedule writes into its parameters beside the options that are given.
struct PhaseRecord {
  std::string name;
  std::string text;  ///< empty: the option of this name
  bool never = false;
};

/// An option that any schedule may have, and the options of these rules that are told before it.
struct PhaseOffer {
  std::string name;
  std::size_t behind = 0;
};

/// What the catalogue says of a schedule.
struct PhaseCard {
  std::string name{};
  std::string summary{};
  std::int32_t year = 0;
  std::string source{};
  std::string needs{};
  std::string placement{};
  std::string after{};  ///< the schedule before it in lists; empty: it is the last one of its group
  bool copies = true;   ///< takes the option `shares`
};

/// Rules as they were written. What is said once for the whole schedule, then the lines of devices.
struct PhaseRules {
  std::shared_ptr<const NameTable> names{};  ///< of their expressions
  NameTable streams{};                       ///< of chunks
  PhaseCard card{};
  PlacedText same_as{};                                        ///< a schedule of the catalogue
  std::vector<std::pair<std::string, std::string>> set_in_it;  ///< its options: a word, or = and an expression
  std::int32_t chunks = 0;                                     ///< 0: as asked for, or one
  bool chunks_vary = false;                                    ///< `chunks` is only what holds where none are asked for
  std::string chunks_remark{};
  bool in_v = false;  ///< stages go down the devices and come back
  bool forward_only = false;
  std::vector<PhaseOffer> offers{};
  std::vector<PhaseOption> options{};
  std::vector<PhaseRecord> records{};
  std::vector<PhaseStatement> needs{};  ///< those that come before the lines of devices
  PlacedExpression copies{};            ///< of the model
  PlacedExpression stage{};             ///< of chunk c of copy r on device d; -1: it holds none
  PlacedExpression share{};             ///< microbatches of copy r
  PlacedExpression share_item{};        ///< the i-th of them
  PlacedExpression padded{};            ///< microbatches (of a copy) that lists are written for
  PlacedExpression updates{};           ///< that lists cover where none are asked for
  PlacedExpression update_every{};      ///< backwards of a stage, behind which it is updated
  PlacedExpression flushed{};           ///< first updates that are flushed
  PlacedExpression slices{};            ///< of every microbatch
  Slices::Axis axis{};
  bool slices_vary = false;    ///< `slices` is only what holds where nothing is said (slice_lengths.hpp)
  bool only_backward = false;  ///< the option `recompute` that is offered has no choices with passes of their own
  PlacedTexts weights{};       ///< policies
  PlacedTexts methods{};       ///< as `--method` names them
  PlacedTexts recompute{};     ///< "FIRST..LAST" stage, or "segments of N"
  std::vector<PhaseStatement> statements{};
};

/// Whether the rules offer such an option.
bool offers_option(const PhaseRules& rules, std::string_view name);

/// Throws `Error` with file and line.
PhaseRules phase_rules_from_text(std::string_view text, std::string_view file_name);

/// Without the lines that devices follow, which are not read, and without what is needed.
PhaseRules rules_said_once(std::string_view text);

}  // namespace plumb
