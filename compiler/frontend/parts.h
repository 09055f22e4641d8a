// What was made of the parts of long programs (syntax/document.h), kept for the next version of the text: a part whose text,
// and whose names' meanings, are as before is not lowered again. Its statements, variables and buffers stay the same
// nodes, so that what depends on them stays as well.
//
// Kept is only what leaves no other trace than is written down here: parts that report something, call functions of the
// script, expand macros or use values that can change are lowered each time. One thread, as the File.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/objects.h"
#include "syntax/ast.h"

namespace loopsmith::frontend {

/// What lowering a part did, and on what that depended.
struct LoweredPart {
  std::vector<std::pair<Name, std::optional<Value>>> needs;    // names in it, and what they meant before it; none: nothing
  std::vector<Stmt> stmts;
  std::vector<BuildFrame> frames;                              // left open: they cover what follows
  std::vector<std::pair<Name, Value>> binds;
  std::vector<std::pair<Name, Origin>> assigned;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> buffer_map;
  std::vector<Buffer> root_allocs;
  std::vector<std::pair<Name, Var>> symbols;
  std::vector<Var> bound;
  std::optional<AttrMap> attrs;                                // set by it; there were none before
  DataType ret_type = DataType::void_();
  bool uses_sblock = false;
  bool rebinds_names = false;                                  // as its program does (FunctionOptions)
  uint64_t steps = 0;
};

/// A statement of a part after lowering, and what is known of it.
struct KnownStmt {
  Stmt raw;                                                    // keep both: they are found by their addresses
  Stmt completed;                                              // none: not done
  std::vector<std::pair<const VarNode*, Buffer>> memory;       // what variables in it were the memory of; none: of nothing

  // Of the completed statement, taken alone, if it is well-formed.
  bool is_checked = false;
  bool is_sound = false;
  std::vector<const VarNode*> uses;                            // not defined in it
  std::vector<const VarNode*> defines;                         // in it, each where it was not defined
  std::vector<const VarNode*> leaves;                          // defined behind it
  std::vector<const VarNode*> lets;
  std::vector<std::pair<Name, const VarNode*>> threads;        // launched in it, by tag
};

class PartCache {
 public:
  /// Null: nothing is kept of it.
  [[nodiscard]] auto find(DeclId part) const -> const LoweredPart*;
  void keep(DeclId part, LoweredPart lowered);
  /// Null: no statement of a part.
  [[nodiscard]] auto known(const Stmt& raw) -> KnownStmt*;
  [[nodiscard]] auto known_completed(const Stmt& completed) -> KnownStmt*;
  void complete(KnownStmt& known, Stmt completed);
  /// Forgets all other parts. `parts` may hold ids of anything.
  void keep_only(const std::unordered_set<DeclId>& parts);

  /// What lowering the last programs took from here and what it did anew: for tests.
  struct Work { uint32_t reused = 0, lowered = 0; };
  Work work;

 private:
  struct Entry {
    LoweredPart lowered;
    std::vector<std::unique_ptr<KnownStmt>> stmts;
  };
  void forget(const Entry& entry);
  std::unordered_map<DeclId, Entry> entries_;
  std::unordered_map<const StmtNode*, KnownStmt*> raw_, completed_;
};

/// Do both mean the same wherever they are used? False for values that can change, and where it is not known.
[[nodiscard]] auto is_same_meaning(const Value& a, const Value& b) -> bool;
/// May it be handed out again: the meaning of a name that a part gives?
[[nodiscard]] auto is_lasting(const Value& value) -> bool;
/// The names that stand in statements, each once; none where what they do cannot be kept (definitions, imports, `del`).
[[nodiscard]] auto names_in(const std::vector<const syntax::Node*>& nodes) -> std::optional<std::vector<Name>>;

}  // namespace loopsmith::frontend
