// Functions in C source that a script passes along, as in `s[C].pragma(x, "import_c", code)`: their calls become statements of TIR, so that programs
// with such calls can be interpreted, compiled and compared as any other.
//
// The reader takes the part of C, and of C++ that looks the same, in which micro-kernels are written: loops that count upwards, conditions, numbers, elements
// of arrays, functions of the maths library and of the source itself. It has no preprocessor. A call of a function with another construct stays as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::frontend {

/// A construct that is not read.
struct CProblem {
  int line = 0;
  std::string what;
  std::string function = {};   // that has the construct; set by `CSource::problem`
};

class CSource {
 public:
  struct Token {
    enum class Kind : uint8_t { Name, Number, Text, Sign, End };
    Kind kind = Kind::End;
    std::string_view text;
    int line = 0;
  };
  struct Param {
    DataType type;
    bool is_pointer = false;
    std::string_view name;
  };
  struct Function {
    std::string_view name;
    std::vector<Param> params;
    size_t begin = 0, end = 0;               // the tokens between the braces of the body
    std::optional<CProblem> problem = {};    // of its parameters
  };

  /// Keeps a copy of the text.
  explicit CSource(std::string text);
  CSource(const CSource&) = delete;
  auto operator=(const CSource&) -> CSource& = delete;

  [[nodiscard]] auto text() const -> const std::string& { return text_; }
  /// The function with a name; null: the source does not define it.
  [[nodiscard]] auto find(std::string_view name) const -> const Function*;
  [[nodiscard]] auto functions() const -> const std::vector<Function>& { return functions_; }
  /// The first construct of any function that is not read; none: all calls whose arguments fit can be replaced.
  [[nodiscard]] auto problem() const -> std::optional<CProblem>;
  [[nodiscard]] auto tokens() const -> const std::vector<Token>& { return tokens_; }
  /// Replaces calls of its functions that are statements, `T.evaluate(T.call_extern(...))`, by their statements. `problem`: the first construct that is not
  /// read, whose call stays.
  [[nodiscard]] auto expand(const Stmt& stmt, std::optional<CProblem>& problem) const -> Stmt;

 private:
  void read_functions();
  const std::string text_;
  std::vector<Token> tokens_;                // the last one is End
  std::vector<Function> functions_;
};

}  // namespace loopsmith::frontend
