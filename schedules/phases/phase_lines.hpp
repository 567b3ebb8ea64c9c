#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/document/action.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// An action of a pattern: what, of which chunk and copy of the model. All but `op` and the flags are expressions.
struct PhasePass {
  Op op{};
  std::string count{};     ///< how often in a row; empty: once
  std::string copy{};      ///< of the model; empty: the first
  std::string chunk{};     ///< empty: that of `stream`, or for W any
  std::string stream{};    ///< a name
  std::string where{};     ///< of LOAD and EVICT: "host" or a device
  std::string merged{};    ///< microbatches that it takes at once; empty: one
  bool newest = false;     ///< the newest microbatch in place of the oldest
  bool with_next = false;  ///< overlapped with the next pass
};

/// A part of a stream of chunks: a chunk `count` times, or each of all of them, up or down.
struct StreamPart {
  enum class Kind : std::uint8_t { kChunk, kUp, kDown };
  Kind kind = Kind::kChunk;
  std::int32_t chunk = 0;
  std::string count;
  std::string all{};  ///< how many of each chunk there are; the last round may be shorter. Empty: whole rounds
};

/// An expression and where it stands ("file:line"); without text there is none.
struct PlacedText {
  std::string where{};
  std::string text{};
  std::string only_if{};  ///< an expression; empty: always

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
    kPhase,   ///< `value` times `passes`; `name`: turns after which they come again, empty: each is like the others
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
  std::string value{};
  std::vector<PhasePass> passes{};
  std::vector<StreamPart> parts{};
  std::size_t end = 0;
};

/// An option and its value where none is given.
struct PhaseOption {
  std::string name{};
  PlacedText otherwise{};            ///< a whole number
  std::vector<std::string> words{};  ///< its values, the first one where none is given; empty: whole numbers
  std::string form = "N";            ///< what stands for the number
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
  PhaseCard card{};
  PlacedText same_as{};                                        ///< a schedule of the catalogue
  std::vector<std::pair<std::string, std::string>> set_in_it;  ///< its options: a word, or an expression
  std::int32_t chunks = 0;                                     ///< 0: as asked for, or one
  bool chunks_vary = false;                                    ///< `chunks` is only what holds where none are asked for
  std::string chunks_remark{};
  bool in_v = false;  ///< stages go down the devices and come back
  bool forward_only = false;
  std::vector<PhaseOffer> offers{};
  std::vector<PhaseOption> options{};
  std::vector<PhaseRecord> records{};
  std::vector<PhaseStatement> needs{};  ///< those that come before the lines of devices
  PlacedText copies{};                  ///< of the model
  PlacedText stage{};                   ///< of chunk c of copy r on device d; -1: it holds none
  PlacedText share{};                   ///< microbatches of copy r
  PlacedText share_item{};              ///< the i-th of them
  PlacedText padded{};                  ///< microbatches (of a copy) that lists are written for
  PlacedText updates{};                 ///< that lists cover where none are asked for
  PlacedText update_every{};            ///< backwards of a stage, behind which it is updated
  PlacedText flushed{};                 ///< first updates that are flushed
  PlacedText slices{};                  ///< of every microbatch
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

}  // namespace plumb
