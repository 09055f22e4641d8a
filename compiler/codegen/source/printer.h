// The printer of kernels; its parts: expressions.cpp, calls.cpp, device_calls.cpp, statements.cpp.
//
// A vector is printed lane by lane: `lane(e, k)` is the text of lane k of an expression. Statements with vectors first load all lanes, then compute and store
// them. Two or four elements of 32 or 64 bits are loaded and stored at once where the address is aligned (`wide_lanes`). Elements of 8 and 16 bits are
// loaded one by one, since they are converted; only copies, which do not convert, move up to 16 bytes at once (`copy`).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/source/dialect.h"
#include "codegen/source/source.h"
#include "ir/ir.h"
#include "support/reason.h"

namespace loopsmith::codegen {

/// A construct that the dialect cannot express, with the reason.
struct NoText {
  std::string what;
  Reason why;
  Origin origin;
};

class SourcePrinter {
 public:
  SourcePrinter(SourceDialect dialect, const SourceOptions& options) : kind_(dialect), dialect_(dialect_of(dialect)), options_(options) {}

  /// Adds text in front of all kernels: functions that the user supplies. `origin`: the statement that contains the text.
  void add_source(const std::string& text, const Origin& origin);
  /// Appends a kernel. The failure, if any, is in `failure`.
  void print(const PrimFunc& kernel, const std::string& name);
  /// The whole text: prelude, constants, kernels.
  [[nodiscard]] auto text() const -> std::string;
  [[nodiscard]] auto failure() const -> const std::optional<NoText>& { return failure_; }

 private:
  /// Precedence of C's operators; a child with lower precedence is printed in parentheses.
  enum Level : int { ternary = 1, either, both, bit_or, bit_xor, bit_and, equality, comparison, shift, sum, product, prefix, primary };

  // -- statements (statements.cpp)
  void statement(const Stmt& stmt);
  void store(const BufferStore& node);
  void loop(const For& node);
  void allocate(const Allocate& node);
  void constant(const AllocateConst& node);
  void evaluate(const Evaluate& node);
  void launch(const AttrStmt& node);
  void line(const std::string& text);
  void place(const Origin& origin);
  /// Variables for the vectors that an expression loads.
  void load_vectors(const Expr& e);

  // -- expressions (expressions.cpp)
  auto scalar(const Expr& e, int level = ternary) -> std::string { return lane(e, 0, level); }
  auto lane(const Expr& e, int k, int level = ternary) -> std::string;
  auto binary(const BinaryNode& node, int k, int level) -> std::string;
  auto divide(const BinaryNode& node, int k, int level) -> std::string;
  auto compare(const BinaryNode& node, int k, int level) -> std::string;
  auto cast_to(DataType to, DataType from, std::string value, int level) -> std::string;
  auto load(const BufferLoad& node, int k, int level) -> std::string;
  auto integer(int64_t value, DataType dtype, int level) -> std::string;
  auto real(double value, DataType dtype, int level, Origin origin) -> std::string;
  auto is_nonnegative(const Expr& e) const -> bool;
  /// The result of an operation in its type: short integers wrap, short reals are rounded.
  auto rounded(std::string value, DataType dtype, int at, int level) -> std::string;

  // -- calls (calls.cpp)
  auto call(const Call& node, int k, int level) -> std::string;
  auto maths(const Call& node, std::string_view op, int k) -> std::optional<std::string>;

  // -- calls that only devices have (device_calls.cpp)
  auto device_call(const Call& node, std::string_view op) -> std::optional<std::string>;
  auto matrix_call(const Call& node) -> std::string;
  auto copy_call(const Call& node) -> std::string;
  auto atomic_add(const Expr& place, const Expr& value, DataType type) -> std::string;
  auto atomic_of_cuda(const Call& node, std::string_view op) -> std::optional<std::string>;
  auto dot_of_bytes(const Expr& a, const Expr& b, const Expr& c, const Call& node) -> std::string;
  /// Shapes and layouts of the fragments of matrix units, by their calls.
  void find_fragments(const Stmt& kernel);
  /// Declares the registers of fragments; false if the memory is not a fragment.
  auto fragment_array(const Allocate& node, int64_t count) -> bool;
  auto pointer_argument(const Expr& e, const Expr& offset) -> std::string;
  auto at_offset(const VarNode& data, DataType element, const Expr& offset, Origin origin) -> std::string;
  /// A function of the prelude that is generated on demand.
  auto made(std::string name, const std::string& text) -> std::string;
  /// True for reals of at most 8 bits for which kernels have code.
  static auto has_short_real(DataType dtype) -> bool;
  /// The functions that convert such a real from its bits to float, and back.
  auto load_short(DataType dtype) -> std::string;
  auto store_short(DataType dtype) -> std::string;

  // -- names and types
  auto name_of(const VarNode& v) -> std::string;
  auto fresh(std::string_view wanted) -> std::string;
  /// The type of a value in a register.
  auto value_type(DataType dtype, Origin origin) -> std::string;
  /// The type of an element in memory.
  auto memory_type(DataType dtype, Origin origin) -> std::string;
  /// A vector of elements of 32 or 64 bits, as `wide_lanes` chooses.
  auto vector_type(DataType dtype, int lanes, Origin origin) -> std::string;
  /// Converts a stored element to a value, or a value to a stored element.
  auto from_memory(DataType dtype, std::string element) -> std::string;
  auto to_memory(DataType dtype, std::string value) -> std::string;
  /// A pointer to the elements of a buffer.
  auto pointer(const Buffer& buffer) -> std::string;
  auto address_space(const VarNode& data) const -> std::string;
  auto need(std::string function) -> std::string;
  auto fail(std::string what, const Reason& why, Origin origin) -> std::string;
  static auto wrap(std::string text, int own, int level) -> std::string { return own < level ? "(" + text + ")" : text; }
  /// The number of lanes that one load or store moves; 1: one by one.
  auto wide_lanes(const Buffer& buffer, const Expr& index) const -> int;
  /// Prints a store that moves elements of 8 or 16 bits unchanged, as words of up to 16 bytes where it moves several. False: it is another store.
  auto copy(const BufferStore& node) -> bool;
  /// True where an index begins at a multiple of `lanes`, and names as many elements of memory of blocks or of the device in their order.
  auto is_row(const Buffer& buffer, const Expr& index, int lanes) const -> bool;

  const SourceDialect kind_;
  const Dialect& dialect_;
  const SourceOptions& options_;
  std::optional<NoText> failure_;
  std::set<std::string> needed_;                                     // functions of the prelude
  std::set<std::string> made_names_;                                 // functions that were generated on demand, and their text
  std::string made_;
  std::string constants_, kernels_;
  bool needs_double_ = false;
  // For the current kernel.
  std::string body_, shared_;
  int64_t shared_offset_ = -1;   // offset of the next array in the memory that the launch requests; -1: the kernel declares its arrays
  int depth_ = 0;
  SourcePlace last_place_;
  std::unordered_map<const VarNode*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<const VarNode*, DataType> elements_;            // the element type of memory, by data variable
  std::unordered_map<const VarNode*, std::string> spaces_;           // its address space in OpenCL
  std::unordered_set<const VarNode*> nonnegative_;
  std::unordered_map<const VarNode*, Expr> lets_;                    // variables of `Let`, with their values
  std::unordered_map<const BufferLoad*, std::vector<std::string>> loaded_;   // the lanes of vector loads
  std::unordered_map<std::string, std::string> extents_;             // launch extents by tag
  std::vector<std::pair<std::string, std::optional<int64_t>>> threads_;
  struct Fragment {
    DataType dtype;
    int64_t elements = 0;          // of one fragment
    std::string shape;             // "m16n16k16"
    bool is_column_major = false;  // in the order in which it was loaded
  };
  std::unordered_map<const VarNode*, Fragment> fragments_;
  std::unordered_set<const VarNode*> passed_;                        // memory whose pointer is passed to calls
};

}  // namespace loopsmith::codegen
