// The lowered parts of long programs (syntax/document.h), kept for the next version of the text. A part is not lowered again while its text
// and the values of its names are unchanged. Its statements, variables and buffers keep their nodes, so results that depend on them remain
// valid.
//
// A part is kept only if LoweredPart records all its effects: parts that report diagnostics, call functions of the script, expand macros or
// use mutable values are lowered each time. One thread, as for File.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/objects.h"
#include "syntax/ast.h"

namespace loopsmith::frontend {

/// A lowered part: its effects on the builder, and the values that they depend on.
struct LoweredPart {
  std::vector<std::pair<Name, std::optional<Value>>> needs;    // the names in it, with their values in front of it; none: undefined
  std::vector<Stmt> stmts;
  std::vector<BuildFrame> frames;                              // frames that stay open: they contain the parts below
  std::vector<std::pair<Name, Value>> binds;
  std::vector<std::pair<Name, Origin>> assigned;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> buffer_map;
  std::vector<Buffer> root_allocs;
  std::vector<std::pair<Name, Var>> symbols;
  std::vector<Var> bound;
  std::optional<AttrMap> attrs;                                // set by the part; the function had none before
  DataType ret_type = DataType::void_();
  bool uses_sblock = false;
  bool rebinds_names = false;                                  // as in its program (FunctionOptions)
  uint64_t words = 0;                                          // a hash of the words of its program that determine its meaning
  uint64_t steps = 0;
};

/// A statement of a part after lowering, with the results of completing and checking it.
struct KnownStmt {
  Stmt raw;                                                    // owned, like `completed`: both are found by address
  Stmt completed;                                              // null: not completed yet
  std::vector<std::pair<const VarNode*, Buffer>> memory;       // variables in it with the buffers to which they point; null: no buffer

  // The check of the completed statement alone (well_formed.h).
  bool is_checked = false;
  bool is_sound = false;
  std::vector<const VarNode*> uses;                            // variables that the statement uses and does not define
  std::vector<const VarNode*> defines;                         // variables that it defines, which must be undefined before
  std::vector<const VarNode*> leaves;                          // variables that stay defined behind it
  std::vector<const VarNode*> lets;
  std::vector<std::pair<Name, const VarNode*>> threads;        // thread indices that it launches, by tag
};

class PartCache {
 public:
  /// Null: the part is not kept.
  [[nodiscard]] auto find(DeclId part) const -> const LoweredPart*;
  void keep(DeclId part, LoweredPart lowered);
  /// Null: the statement belongs to no kept part.
  [[nodiscard]] auto known(const Stmt& raw) -> KnownStmt*;
  [[nodiscard]] auto known_completed(const Stmt& completed) -> KnownStmt*;
  void complete(KnownStmt& known, Stmt completed);
  /// Forgets all other parts. `parts` may contain ids of any declarations.
  void keep_only(const std::unordered_set<DeclId>& parts);

  /// The numbers of parts reused and lowered anew since the last update; for tests.
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

/// True when the two values are interchangeable in a program. False for mutable values, and if this is unknown.
[[nodiscard]] auto is_same_meaning(const Value& a, const Value& b) -> bool;
/// True for values that may be kept with a part: they never change.
[[nodiscard]] auto is_lasting(const Value& value) -> bool;
/// The names in statements, each once; none if a statement cannot be kept (definitions, imports, `del`).
[[nodiscard]] auto names_in(const std::vector<const syntax::Node*>& nodes) -> std::optional<std::vector<Name>>;

}  // namespace loopsmith::frontend
