// The script printer: TIR as the text of TVMScript. In the `block` dialect the text equals that of Apache TVM 0.19,
// byte for byte; in the `sblock` dialect blocks are spelled as in later versions. Parsing the text of
// a module gives a structurally equal module.
//
// Names are unique only among those that are visible at the same time, so two sibling loops may both be `i`.
// A variable or buffer without a definition (a free variable of a fragment, a buffer that only aliases another's
// memory) is declared in front of the innermost statement that contains all of its uses, as in TVM.
//
// Other rooms have the layout of the user's own text (format); highlight.h has colours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// The place of a statement in the printed text, in bytes from the beginning of the text. A statement's range goes
/// from its first letter to the end of its last line, without the line end.
struct PrintedRange {
  const StmtNode* node = nullptr;
  NodeId id = 0;             // of loops and blocks, else 0
  uint32_t begin = 0;        // for a loop inside `T.grid`: that of the whole statement
  uint32_t end = 0;
  uint32_t name_begin = 0;   // loops: the variable in the header; blocks: the name between the quotes; else 0
  uint32_t name_end = 0;
};

struct PrintOptions {
  Dialect dialect = Dialect::Block;    // for everything except modules, which have a dialect ...
  bool override_dialect = false;       // ... that is used unless this is set
  bool header = true;                  // "# from tvm.script import ..." before modules and functions
  /// Declares free variables and buffers of a statement in front of it; those of functions are always declared.
  bool declare_free = false;
  Name function_name = "main";         // the name of a function that is printed alone
  /// If given, filled in the order of the text.
  std::vector<PrintedRange>* ranges = nullptr;
};

/// Marks a target among attributes, `T.target(...)`: a dictionary with this as its only key. Its value is a name, a dictionary, or a
/// list of a target and its host.
[[nodiscard]] auto target_key() -> Name;
/// The value of a target; null: the attribute is no target.
[[nodiscard]] auto target_attr(const Attr& attr) -> const Attr*;

[[nodiscard]] auto print_script(const IRModule& module, const PrintOptions& options = {}) -> std::string;
[[nodiscard]] auto print_script(const PrimFunc& func, const PrintOptions& options = {}) -> std::string;
[[nodiscard]] auto print_script(const Stmt& stmt, const PrintOptions& options = {}) -> std::string;
[[nodiscard]] auto print_script(const Expr& expr, const PrintOptions& options = {}) -> std::string;
[[nodiscard]] auto print_script(const Buffer& buffer, const PrintOptions& options = {}) -> std::string;        // T.Buffer(...)
[[nodiscard]] auto print_script(const BufferRegion& region, const PrintOptions& options = {}) -> std::string;  // A[0:4, i]
[[nodiscard]] auto print_script(const Range& range, const PrintOptions& options = {}) -> std::string;          // 0:4
[[nodiscard]] auto print_script(const Attr& attr, const PrintOptions& options = {}) -> std::string;
[[nodiscard]] auto print_script(const AttrMap& attrs, const PrintOptions& options = {}) -> std::string;
[[nodiscard]] auto print_script(const IndexMap& map, const PrintOptions& options = {}) -> std::string;

/// One line for diagnostics and debuggers, at most `limit` bytes ("..." where it was cut).
[[nodiscard]] auto print_debug(const Expr& expr, size_t limit = 120) -> std::string;
/// The first line of a statement: `for i, j in T.grid(4, 4):`, `with T.block("C"):`, `A[i] = ...`.
[[nodiscard]] auto print_debug(const Stmt& stmt, size_t limit = 120) -> std::string;

/// A constant as scripts write it: `1.0`, `0.10000000000000001`, `"inf"` (with its quotes).
[[nodiscard]] auto float_text(double value) -> std::string;
/// In double quotes, escaped.
[[nodiscard]] auto string_text(std::string_view text) -> std::string;

}  // namespace loopsmith
