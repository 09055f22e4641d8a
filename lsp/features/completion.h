// Completion and signature help: what can be written at a place, by the state of the schedule there, the names in reach,
// and the language's own namespaces. Works on texts that are not finished.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/legality.h"
#include "script/partway.h"
#include "support/cancel.h"
#include "support/process.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

enum class CompletionKind : uint8_t { Primitive, Function, Variable, Loop, Block, Buffer, Namespace, Class, Constant, Keyword, Value, Snippet };

struct CompletionItem {
  std::string label;
  CompletionKind kind{};
  std::string detail;         // one line: "loop `i_0`, extent 64"
  std::string documentation;  // markdown; may be empty
  std::string insert;         // empty: the label
  bool is_snippet = false;    // `insert` has LSP's placeholders
  int rank = 0;               // less is offered first; then by label
  std::string note = {};      // behind the label, short: "not here"
  std::string primitive = {}; // of a primitive that is legal: what `preview` takes
  std::string call = {};      // of a primitive: with its arguments as LSP's placeholders, for who takes snippets; empty: the label stands alone
  std::string found_by = {};  // what is typed is compared with it, too; empty: with the label alone
};

struct Completion {
  Span replaced;              // what the items stand for: the part of a word before the cursor
  std::vector<CompletionItem> items;
  bool is_complete = true;    // else: not all was judged in the time there was, asking again goes on
};

/// What was judged legal or not in one state of a schedule. The next key asks mostly the same of the same state.
struct JudgedState {
  std::shared_ptr<const schedule::Schedule> state;
  IRModule program;           // that `state` is the plain schedule of; none: it is one of a run
  std::unordered_map<std::string, schedule::Legality> found;
  /// Of each primitive the call that should pay most, and how many times as fast the program is with it by the estimate (1: the same).
  std::unordered_map<std::string, std::pair<schedule::Move, double>> best = {};
  /// What a schedule is inside a statement, and the text, program and target that make it that.
  std::string inside_of = {};
  IRModule inside_program = {};
  std::shared_ptr<const script::Partway> inside = {};
};

/// Judging every primitive of a large state takes longer than anybody waits for a list.
struct Patience {
  CancelToken cancel = {};            // the next key makes the answer useless
  Deadline until = never();
  JudgedState* judged = nullptr;      // null: nothing is remembered
};

/// Sorted, best first; only what begins with what is typed.
[[nodiscard]] auto completion(const workspace::Snapshot& snapshot, uint32_t at, const Patience& patience = {}) -> Completion;

/// What the first legal call of a primitive would do to the program at a place, in markdown: the call and a diff. Empty: nothing is known
/// of it there. Made for one item at a time.
[[nodiscard]] auto preview(const workspace::Snapshot& snapshot, uint32_t at, std::string_view primitive) -> std::string;

struct Signature {
  std::string label;                                    // "split(loop, factors, preserve_unit_iters=True)"
  std::string documentation;
  std::vector<std::pair<uint32_t, uint32_t>> parameters; // bytes of the label
  std::vector<std::string> parameter_notes;             // for each; what is legal there now, markdown
  std::optional<size_t> active;
};

/// The file that binds what the name at an offset stands for, where that is another one, and the name there.
using FindElsewhere = std::function<std::optional<std::pair<const workspace::Snapshot*, Name>>(uint32_t offset)>;

/// Of the innermost call that is open at the cursor; none where it is of nothing known. `elsewhere`: finds functions of other files; null: nobody does.
[[nodiscard]] auto signature_help(const workspace::Snapshot& snapshot, uint32_t at, const Patience& patience = {}, const FindElsewhere& elsewhere = {}) -> std::optional<Signature>;

}  // namespace loopsmith::lsp
