// Reads C functions: see c_source.h. The text is cut into tokens once; the body of a function is read again at each call, with the arguments of the
// call for its parameters.
#include "frontend/c_source.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <unordered_map>
#include <variant>

#include "frontend/ir_builder.h"
#include "frontend/lowerer.h"
#include "ir/externals.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::frontend {
namespace {

using Token = CSource::Token;
using Kind = Token::Kind;

auto is_word(char c) -> bool { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Signs of several characters, the longest first.
constexpr std::string_view long_signs[] = {"<<=", ">>=", "...", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "->", "::"};

auto cut(std::string_view text) -> std::vector<Token> {
  std::vector<Token> out;
  int line = 1;
  size_t i = 0;
  auto skip_line = [&] {
    while (i < text.size() && text[i] != '\n') { ++i; }
  };
  while (i < text.size()) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    if (c == '\n') { ++line; }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) { ++i; continue; }
    if (rest.starts_with("//") || c == '#') { skip_line(); continue; }
    if (rest.starts_with("/*")) {
      const size_t end = std::min(text.find("*/", i + 2), text.size() - 2);
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end + 2;
      continue;
    }
    const size_t begin = i;
    Kind kind = Kind::Sign;
    const bool is_number = std::isdigit(static_cast<unsigned char>(c)) != 0 || (c == '.' && rest.size() > 1 && std::isdigit(static_cast<unsigned char>(rest[1])) != 0);
    if (is_number) {
      kind = Kind::Number;
      while (i < text.size() && (is_word(text[i]) || text[i] == '.' || ((text[i] == '+' || text[i] == '-') && (text[i - 1] == 'e' || text[i - 1] == 'E') && !rest.starts_with("0x")))) { ++i; }
    } else if (is_word(c)) {
      kind = Kind::Name;
      while (i < text.size() && is_word(text[i])) { ++i; }
    } else if (c == '"' || c == '\'') {
      kind = Kind::Text;
      for (++i; i < text.size() && text[i] != c && text[i] != '\n'; ++i) { i += text[i] == '\\' ? 1 : 0; }
      i = std::min(i + 1, text.size());
    } else {
      const auto* sign = std::find_if(std::begin(long_signs), std::end(long_signs), [&](std::string_view one) { return rest.starts_with(one); });
      i += sign != std::end(long_signs) ? sign->size() : 1;
    }
    out.push_back({kind, text.substr(begin, i - begin), line});
  }
  out.push_back({Kind::End, {}, line});
  return out;
}

// ---- types ---------------------------------------------------------------------------------------------------------

auto named_type(std::string_view name) -> std::optional<DataType> {
  static constexpr std::pair<std::string_view, int> integers[] = {{"int8_t", -8}, {"int16_t", -16}, {"int32_t", -32}, {"int64_t", -64}, {"uint8_t", 8}, {"uint16_t", 16}, {"uint32_t", 32}, {"uint64_t", 64}, {"size_t", 64}};
  for (const auto& [known, bits] : integers) {
    if (known == name) { return bits < 0 ? DataType::int_(-bits) : DataType::uint(bits); }
  }
  if (name == "float") { return DataType::float_(32); }
  if (name == "bool" || name == "_Bool") { return DataType::bool_(); }
  return std::nullopt;
}
auto is_qualifier(std::string_view name) -> bool {
  static constexpr std::string_view words[] = {"const", "volatile", "restrict", "__restrict__", "__restrict", "register", "static", "inline", "__inline__", "extern", "constexpr"};
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

// The type of a declaration at a token, which is moved behind it; none: there is no type that is read. `void` is a type, too.
auto read_type(const std::vector<Token>& tokens, size_t& at) -> std::optional<DataType> {
  bool is_unsigned = false, is_any = false;
  int longs = 0, bits = 0;
  std::optional<DataType> out;
  for (; tokens[at].kind == Kind::Name; ++at) {
    const std::string_view word = tokens[at].text;
    if (is_qualifier(word)) { continue; }
    if (out) { break; }
    if (word == "unsigned" || word == "signed") { is_unsigned = word == "unsigned"; is_any = true; continue; }
    if (word == "long") { ++longs; is_any = true; continue; }
    if (word == "short") { bits = 16; is_any = true; continue; }
    if (word == "char") { bits = 8; is_any = true; continue; }
    if (word == "int") { is_any = true; continue; }
    if (word == "double" && !is_any) { out = DataType::float_(64); continue; }
    if (word == "void" && !is_any) { out = DataType::void_(); continue; }
    if (is_any) { break; }
    out = named_type(word);
    if (!out) { break; }
  }
  if (out || !is_any) { return out; }
  const int width = longs > 0 ? 64 : bits > 0 ? bits : 32;
  return is_unsigned ? DataType::uint(width) : DataType::int_(width);
}

// ---- the body of a call --------------------------------------------------------------------------------------------

struct Pointer { Buffer buffer; Expr offset; };                      // a place in memory, in elements
using Binding = std::variant<Expr, Pointer, Buffer>;                 // a number; a pointer; a variable, in memory of one element
struct Operand {
  Expr value;                           // null: a pointer
  std::optional<Pointer> pointer = {};
  bool is_place = false;                // `value` is a load, to which a store is possible
};

constexpr int deepest_call = 16;
constexpr int deepest_expression = 200;

class Reader {
 public:
  Reader(const CSource& source, const IrBuilder& builder, std::optional<CProblem>& problem, int depth)
      : source_(source), tokens_(source.tokens()), builder_(builder), problem_(problem), depth_(depth) {}

  // The statements of a call, added to the builder. False: there is a problem.
  auto call(const CSource::Function& function, std::vector<Binding> arguments, Origin where) -> bool {
    where_ = where;
    if (function.problem) {
      problem_ = function.problem;
      return false;
    }
    if (depth_ > deepest_call) { return no("calls that are nested deeply"); }
    at_ = function.begin;
    end_ = function.end;
    names_.emplace_back();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (std::holds_alternative<Expr>(arguments[i]) && is_assigned(function.params[i].name, at_)) {
        return no("an assignment to the parameter `" + std::string(function.params[i].name) + "`");
      }
      names_.back().emplace(function.params[i].name, std::move(arguments[i]));
    }
    while (at_ < end_) {
      if (!statement()) { return false; }
    }
    return true;
  }

 private:
  auto no(std::string what) -> bool {
    if (!problem_) { problem_ = CProblem{tokens_[at_].line, std::move(what)}; }
    return false;
  }
  [[nodiscard]] auto text() const -> std::string_view { return at_ < end_ ? tokens_[at_].text : std::string_view(); }
  [[nodiscard]] auto next_is(std::string_view sign) const -> bool { return at_ < end_ && tokens_[at_].kind != Kind::Text && tokens_[at_].text == sign; }
  auto take(std::string_view sign) -> bool {
    if (!next_is(sign)) { return false; }
    ++at_;
    return true;
  }
  auto expect(std::string_view sign) -> bool { return take(sign) || no("`" + std::string(text()) + "` where `" + std::string(sign) + "` is expected"); }
  auto take_name() -> std::string_view { return at_ < end_ && tokens_[at_].kind == Kind::Name ? tokens_[at_++].text : std::string_view(); }

  auto find(std::string_view name) -> Binding* {
    for (auto scope = names_.rbegin(); scope != names_.rend(); ++scope) {
      if (auto found = scope->find(name); found != scope->end()) { return &found->second; }
    }
    return nullptr;
  }
  // True where the body assigns to the name from a token on.
  [[nodiscard]] auto is_assigned(std::string_view name, size_t from) const -> bool {
    static constexpr std::string_view assigning[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"};
    auto assigns = [](std::string_view sign) { return std::find(std::begin(assigning), std::end(assigning), sign) != std::end(assigning); };
    for (size_t i = from; i < end_; ++i) {
      if (tokens_[i].kind != Kind::Name || tokens_[i].text != name) { continue; }
      const std::string_view before = i > 0 ? tokens_[i - 1].text : std::string_view();
      if (assigns(tokens_[i + 1].text) || before == "++" || before == "--" || before == "&") { return true; }
    }
    return false;
  }

  // ---- statements

  auto statement() -> bool {
    if (take(";")) { return true; }
    if (next_is("{")) { return block(); }
    const std::string_view word = text();
    if (word == "for") { return loop(); }
    if (word == "if") { return condition(); }
    if (word == "return") { return end_of_function(); }
    for (std::string_view other : {"while", "do", "switch", "goto", "break", "continue", "asm", "__asm__"}) {
      if (word == other) { return no("`" + std::string(word) + "`"); }
    }
    size_t behind = at_;
    if (tokens_[at_].kind == Kind::Name && !find(word) && read_type(tokens_, behind)) { return declaration(); }
    return assignment() && expect(";");
  }
  auto block() -> bool {
    ++at_;
    names_.emplace_back();
    builder_.open("block", where_);
    bool is_good = true;
    while (is_good && at_ < end_ && !next_is("}")) { is_good = statement(); }
    Stmt body = builder_.close();
    builder_.add(std::move(body));
    names_.pop_back();
    return is_good && expect("}");
  }
  // The statement of a loop or a condition.
  auto body() -> std::optional<Stmt> {
    names_.emplace_back();
    builder_.open("body", where_);
    const bool is_good = statement();
    Stmt out = builder_.close();
    names_.pop_back();
    return is_good ? std::optional(std::move(out)) : std::nullopt;
  }

  auto loop() -> bool {
    const size_t begin_of_loop = at_;
    auto other = [&] {
      at_ = begin_of_loop;
      return no("a loop that is not `for (int i = a; i < b; ++i)`");
    };
    ++at_;
    if (!expect("(")) { return false; }
    const size_t before_type = at_;
    auto type = read_type(tokens_, at_);
    if (!type) { at_ = before_type; }
    const std::string_view name = take_name();
    if (name.empty() || !type || !type->is_integral()) { return other(); }
    if (!expect("=")) { return false; }
    Operand begin = expression();
    if (problem_ || !expect(";")) { return false; }
    if (take_name() != name) { return other(); }
    const bool is_inclusive = next_is("<=");
    if (!take("<") && !take("<=")) { return other(); }
    Operand end = expression();
    if (problem_ || !expect(";")) { return false; }
    auto step = read_step(name);
    if (!step) { return problem_ ? false : other(); }
    if (!expect(")")) { return false; }
    if (!begin.value || !end.value) { return other(); }
    bool reads_memory = false;
    post_order(end.value, [&](const Expr& x) { reads_memory |= x.as<BufferLoad>() != nullptr; });
    if (reads_memory) { return other(); }
    Expr low = cast(*type, begin.value), high = cast(*type, end.value);
    if (is_inclusive) { high = add(high, one(*type)); }
    Expr extent = sub(high, low);
    if (*step > 1) { extent = floordiv(add(extent, constant_int(*type, *step - 1)), constant_int(*type, *step)); }
    Var var = make<VarNode>(Name(std::string(name)), *type, where_);
    Expr value = *step > 1 ? add(low, mul(var, constant_int(*type, *step))) : add(low, var);
    names_.emplace_back();
    names_.back().emplace(name, simplified(value));
    auto inner = body();
    names_.pop_back();
    if (!inner) { return false; }
    builder_.add(make<For>(var, zero(*type), simplified(extent), ForKind::Serial, std::move(*inner), std::nullopt, AttrMap(), where_));
    return true;
  }
  // `++i`, `i++`, `i += 4`; none: another form.
  auto read_step(std::string_view name) -> std::optional<int64_t> {
    if (take("++")) { return take_name() == name ? std::optional<int64_t>(1) : std::nullopt; }
    if (take_name() != name) { return std::nullopt; }
    if (take("++")) { return 1; }
    if (!take("+=")) { return std::nullopt; }
    Operand given = expression();
    auto step = given.value ? as_int(given.value) : std::nullopt;
    return step && *step > 0 ? step : std::nullopt;
  }

  auto condition() -> bool {
    ++at_;
    if (!expect("(")) { return false; }
    Operand given = expression();
    if (problem_ || !expect(")")) { return false; }
    Expr holds = truth(given);
    if (!holds) { return false; }
    auto then = body();
    if (!then) { return false; }
    Stmt otherwise;
    if (take("else")) {
      auto rest = body();
      if (!rest) { return false; }
      otherwise = std::move(*rest);
    }
    builder_.add(make<IfThenElse>(holds, std::move(*then), std::move(otherwise), where_));
    return true;
  }

  auto end_of_function() -> bool {
    ++at_;
    if (!next_is(";")) { (void)expression(); }
    if (problem_ || !expect(";")) { return false; }
    return at_ >= end_ || no("a `return` before the end of the function");
  }

  auto declaration() -> bool {
    auto type = read_type(tokens_, at_);
    do {
      const bool is_pointer = take("*");
      while (at_ < end_ && is_qualifier(text())) { ++at_; }
      const std::string_view name = take_name();
      if (name.empty() || type->is_void()) { return no("`" + std::string(text()) + "` in a declaration"); }
      if (is_pointer ? !pointer(name) : take("[") ? !array(name, *type) : !variable(name, *type)) { return false; }
    } while (take(","));
    return expect(";");
  }
  auto pointer(std::string_view name) -> bool {
    if (is_assigned_behind_declaration(name)) { return no("an assignment to the pointer `" + std::string(name) + "`"); }
    if (!expect("=")) { return false; }
    Operand value = expression_without_comma();
    if (problem_) { return false; }
    if (!value.pointer) { return no("a pointer to no array of a parameter"); }
    names_.back()[name] = *value.pointer;
    return true;
  }
  auto array(std::string_view name, DataType type) -> bool {
    Operand extent = expression();
    if (problem_ || !expect("]")) { return false; }
    if (!extent.value || !as_int(extent.value)) { return no("an array of a variable size"); }
    if (next_is("[") || next_is("=")) { return no("an array of several dimensions, or with values"); }
    Buffer buffer = local(name, type, extent.value);
    names_.back()[name] = Pointer{buffer, int_imm(0)};
    return true;
  }
  [[nodiscard]] auto is_assigned_behind_declaration(std::string_view name) const -> bool {
    size_t behind = at_;
    int depth = 0;
    while (behind < end_ && (depth > 0 || (tokens_[behind].text != "," && tokens_[behind].text != ";"))) {
      depth += tokens_[behind].text == "(" ? 1 : tokens_[behind].text == ")" ? -1 : 0;
      ++behind;
    }
    return is_assigned(name, behind);
  }
  auto variable(std::string_view name, DataType type) -> bool {
    const bool changes = is_assigned_behind_declaration(name);
    Expr value;
    if (take("=")) {
      Operand given = expression_without_comma();
      if (problem_) { return false; }
      if (!given.value) { return no("a pointer where a number is expected"); }
      value = simplified(cast(type, given.value));
    }
    if (!changes && value) {
      bool reads_memory = false;
      post_order(value, [&](const Expr& x) { reads_memory |= x.as<BufferLoad>() != nullptr || x.as<Call>() != nullptr; });
      if (!reads_memory) {
        names_.back()[name] = value;
        return true;
      }
      Var var = make<VarNode>(Name(std::string(name)), type, where_);
      builder_.add_around([var, value, where = where_](Stmt inner) -> Stmt { return make<LetStmt>(var, value, std::move(inner), where); });
      names_.back()[name] = Expr(var);
      return true;
    }
    Buffer cell = local(name, type, int_imm(1));
    names_.back()[name] = cell;
    if (value) { builder_.add(make<BufferStore>(cell, std::move(value), std::vector<Expr>{int_imm(0)}, where_)); }
    return true;
  }
  auto local(std::string_view name, DataType type, Expr extent) -> Buffer {
    Buffer buffer = make_buffer(Name(std::string(name)), type, Array<Expr>{std::move(extent)}, "local", where_);
    builder_.add_around([buffer, where = where_](Stmt inner) -> Stmt {
      Stmt declared = make<DeclBuffer>(buffer, std::move(inner), where);
      return make<Allocate>(buffer->data, buffer->dtype, buffer->shape, bool_imm(true), std::move(declared), AttrMap(), where);
    });
    return buffer;
  }

  // An assignment, `++x`, or a call of a function of the source.
  auto assignment() -> bool {
    const size_t begin = at_;
    const std::string_view name = text();
    if (const CSource::Function* function = tokens_[at_].kind == Kind::Name && tokens_[at_ + 1].text == "(" ? source_.find(name) : nullptr) { return call_of(*function); }
    const bool counts = next_is("++") || next_is("--");
    const std::string_view before = counts ? tokens_[at_++].text : std::string_view();
    Operand target = unary();
    if (problem_) { return false; }
    if (!target.is_place) {
      at_ = begin;
      return no("a statement that begins with `" + std::string(name) + "`");
    }
    std::string_view sign = before.empty() ? text() : before;
    Operand value;
    if (sign == "++" || sign == "--") {
      if (before.empty()) { ++at_; }
      sign = sign == "++" ? "+=" : "-=";
      value.value = int_imm(1);
    } else {
      static constexpr std::string_view assigning[] = {"=", "+=", "-=", "*=", "/=", "%="};
      if (std::find(std::begin(assigning), std::end(assigning), sign) == std::end(assigning)) { return no("`" + std::string(sign) + "` behind `" + std::string(name) + "`"); }
      ++at_;
      value = expression();
    }
    if (problem_) { return false; }
    if (!value.value) { return no("a pointer where a number is expected"); }
    const auto* place = target.value.as<BufferLoad>();
    Expr stored = sign == "=" ? value.value : arithmetic(sign.substr(0, 1), target.value, value.value);
    if (!stored) { return false; }
    builder_.add(make<BufferStore>(place->buffer, simplified(cast(place->buffer->dtype, std::move(stored))), place->indices, where_));
    return true;
  }

  auto call_of(const CSource::Function& function) -> bool {
    at_ += 2;
    std::vector<Binding> arguments;
    while (!next_is(")")) {
      Operand given = expression_without_comma();
      if (problem_) { return false; }
      const size_t i = arguments.size();
      if (i < function.params.size() && function.params[i].is_pointer == bool(given.value)) { return no("an argument of `" + std::string(function.name) + "` that does not fit its parameter"); }
      if (given.value) { arguments.emplace_back(i < function.params.size() ? cast(function.params[i].type, given.value) : given.value); } else { arguments.emplace_back(*given.pointer); }
      if (!take(",")) { break; }
    }
    if (!expect(")")) { return false; }
    if (arguments.size() != function.params.size()) { return no("a call of `" + std::string(function.name) + "` with another number of arguments"); }
    Reader inside(source_, builder_, problem_, depth_ + 1);
    builder_.open("call", where_);
    const bool is_good = inside.call(function, std::move(arguments), where_);
    Stmt body = builder_.close();
    builder_.add(std::move(body));
    return is_good;
  }

  // ---- expressions

  auto truth(const Operand& given) -> Expr {
    if (!given.value) { no("a pointer as a condition"); return {}; }
    return given.value.dtype().is_bool() ? given.value : not_equal(given.value, zero(given.value.dtype()));
  }
  // Converts the operands to the type in which C computes.
  static void convert(Expr& a, Expr& b) {
    const DataType x = promoted(a.dtype()), y = promoted(b.dtype());
    DataType type = x;
    if (x.is_float() || y.is_float()) { type = !x.is_float() ? y : !y.is_float() ? x : x.bits >= y.bits ? x : y; }
    else if (x.bits != y.bits) { type = x.bits > y.bits ? x : y; }
    else if (y.is_uint()) { type = y; }
    a = cast(type, std::move(a));
    b = cast(type, std::move(b));
  }
  static auto promoted(DataType type) -> DataType { return type.is_float() || type.bits >= 32 ? type : DataType::int_(32); }

  auto arithmetic(std::string_view sign, Expr a, Expr b) -> Expr {
    convert(a, b);
    if (sign == "+") { return add(a, b); }
    if (sign == "-") { return sub(a, b); }
    if (sign == "*") { return mul(a, b); }
    if (sign == "/" && (a.dtype().is_float() || !is_zero(b))) { return div(a, b); }
    if (sign == "%" && !a.dtype().is_float() && !is_zero(b)) { return truncmod(a, b); }
    if (sign == "<") { return less(a, b); }
    if (sign == "<=") { return less_equal(a, b); }
    if (sign == ">") { return greater(a, b); }
    if (sign == ">=") { return greater_equal(a, b); }
    if (sign == "==") { return equal(a, b); }
    if (sign == "!=") { return not_equal(a, b); }
    no("the operator `" + std::string(sign) + "`");
    return {};
  }

  auto expression() -> Operand {
    Operand out = expression_without_comma();
    if (!problem_ && next_is(",")) { no("the operator `,`"); }
    return out;
  }
  auto expression_without_comma() -> Operand {
    if (++nested_ > deepest_expression) { no("an expression that is nested deeply"); }
    Operand condition = problem_ ? Operand{} : operators(0);
    if (!problem_ && take("?")) {
      Expr holds = truth(condition);
      Operand then = problem_ ? Operand{} : expression_without_comma();
      if (!problem_ && expect(":")) {
        Operand otherwise = expression_without_comma();
        if (!problem_ && then.value && otherwise.value) {
          convert(then.value, otherwise.value);
          condition = Operand{if_then_else(holds, then.value, otherwise.value)};
        } else if (!problem_) {
          no("a choice between pointers");
        }
      }
    }
    --nested_;
    return condition;
  }

  // Operators with two operands, by levels: those of a later level bind more tightly.
  auto operators(size_t level) -> Operand {
    static constexpr std::string_view levels[][4] = {{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">="}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
    if (level == std::size(levels)) { return unary(); }
    Operand left = operators(level + 1);
    for (;;) {
      const auto* sign = problem_ || text().empty() ? nullptr : std::find(std::begin(levels[level]), std::end(levels[level]), text());
      if (!sign || sign == std::end(levels[level])) { return left; }
      ++at_;
      Operand right = operators(level + 1);
      if (problem_) { return {}; }
      left = apply(*sign, left, right);
      if (problem_) { return {}; }
    }
  }
  auto apply(std::string_view sign, const Operand& left, const Operand& right) -> Operand {
    if (sign == "&&" || sign == "||") {
      Expr a = truth(left), b = problem_ ? Expr() : truth(right);
      return problem_ ? Operand{} : Operand{sign == "&&" ? logical_and(a, b) : logical_or(a, b)};
    }
    const Operand& pointer = left.pointer ? left : right;
    if (!pointer.pointer) { return Operand{arithmetic(sign, left.value, right.value)}; }
    const Operand& steps = left.pointer ? right : left;
    if (!steps.value || !(sign == "+" || (sign == "-" && left.pointer))) { no("arithmetic of pointers"); return {}; }
    Expr moved = pointer.pointer->offset, by = steps.value;
    convert(moved, by);
    return Operand{{}, Pointer{pointer.pointer->buffer, simplified(sign == "+" ? add(moved, by) : sub(moved, by))}};
  }

  auto unary() -> Operand {
    if (++nested_ > deepest_expression) { no("an expression that is nested deeply"); }
    Operand out = problem_ ? Operand{} : prefix();
    --nested_;
    return out;
  }
  auto prefix() -> Operand {
    if (take("+")) { return unary(); }
    if (take("-")) {
      Operand out = unary();
      if (!problem_ && !out.value) { no("arithmetic of pointers"); }
      return problem_ ? Operand{} : Operand{sub(zero(promoted(out.value.dtype())), cast(promoted(out.value.dtype()), out.value))};
    }
    if (take("!")) {
      Operand out = unary();
      Expr holds = problem_ ? Expr() : truth(out);
      return holds ? Operand{logical_not(holds)} : Operand{};
    }
    if (take("*")) {
      Operand out = unary();
      if (!problem_ && !out.pointer) { no("`*` in front of a number"); }
      return problem_ ? Operand{} : element(*out.pointer, int_imm(0));
    }
    if (take("&")) {
      Operand out = unary();
      const auto* place = !problem_ && out.is_place ? out.value.as<BufferLoad>() : nullptr;
      if (!place) { if (!problem_) { no("`&`"); } return {}; }
      return Operand{{}, Pointer{place->buffer, place->indices[0]}};
    }
    if (next_is("(")) {
      size_t behind = at_ + 1;
      auto type = tokens_[behind].kind == Kind::Name && !find(tokens_[behind].text) ? read_type(tokens_, behind) : std::nullopt;
      if (type && tokens_[behind].text == ")") {
        at_ = behind + 1;
        Operand out = unary();
        if (!problem_ && !out.value) { no("a conversion of a pointer"); }
        return problem_ ? Operand{} : Operand{cast(*type, out.value)};
      }
    }
    return postfix();
  }
  auto element(const Pointer& from, Expr index) -> Operand {
    Expr at = from.offset;
    convert(at, index);
    return Operand{make<BufferLoad>(from.buffer, std::vector<Expr>{simplified(add(at, index))}, where_), {}, true};
  }
  auto postfix() -> Operand {
    Operand out = primary();
    while (!problem_ && take("[")) {
      Operand index = expression();
      if (problem_ || !expect("]")) { return {}; }
      if (!out.pointer || !index.value) { no("an index of a number"); return {}; }
      out = element(*out.pointer, index.value);
    }
    return problem_ ? Operand{} : out;
  }
  auto primary() -> Operand {
    if (take("(")) {
      Operand out = expression();
      return !problem_ && expect(")") ? out : Operand{};
    }
    if (at_ < end_ && tokens_[at_].kind == Kind::Number) { return number(tokens_[at_++].text); }
    const std::string_view name = take_name();
    if (name.empty()) { no("`" + std::string(text()) + "`"); return {}; }
    if (next_is("(")) { return maths(name); }
    const Binding* known = find(name);
    if (!known) {
      --at_;
      no("the name `" + std::string(name) + "`");
      return {};
    }
    if (const auto* pointer = std::get_if<Pointer>(known)) { return Operand{{}, *pointer}; }
    if (const auto* cell = std::get_if<Buffer>(known)) { return Operand{make<BufferLoad>(*cell, std::vector<Expr>{int_imm(0)}, where_), {}, true}; }
    return Operand{std::get<Expr>(*known)};
  }
  auto number(std::string_view text) -> Operand {
    const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
    if (!is_hex && text.find_first_of(".eEfF") != std::string_view::npos) {
      const bool is_single = text.ends_with('f') || text.ends_with('F');
      return Operand{float_imm(std::strtod(std::string(text).c_str(), nullptr), DataType::float_(is_single ? 32 : 64))};
    }
    const std::string_view digits = text.substr(is_hex ? 2 : 0);
    int64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
    const std::string_view suffix(read.ptr, static_cast<size_t>(digits.data() + digits.size() - read.ptr));
    if (read.ec != std::errc() || suffix.find_first_not_of("uUlL") != std::string_view::npos || (text.size() > 1 && text[0] == '0' && !is_hex)) {
      --at_;
      no("the number `" + std::string(text) + "`");
      return {};
    }
    const bool is_long = suffix.find_first_of("lL") != std::string_view::npos || value > 0x7fffffff;
    const bool is_unsigned = suffix.find_first_of("uU") != std::string_view::npos;
    const int bits = is_long ? 64 : 32;
    return Operand{int_imm(value, is_unsigned ? DataType::uint(bits) : DataType::int_(bits))};
  }
  auto maths(std::string_view name) -> Operand {
    static const Name call_pure_extern("call_pure_extern");
    const External known = external(name);
    if (known.kind != ExternalKind::Maths) { no("a call of `" + std::string(name) + "`"); return {}; }
    ++at_;
    std::vector<Expr> args{make<StringImm>(std::string(name), where_)};
    while (!problem_ && !next_is(")")) {
      Operand given = expression_without_comma();
      if (problem_ || !given.value) { no("an argument of `" + std::string(name) + "`"); return {}; }
      args.push_back(cast(known.type, given.value));
      if (!take(",")) { break; }
    }
    if (problem_ || !expect(")")) { return {}; }
    if (args.size() != static_cast<size_t>(known.arguments) + 1) { no("a call of `" + std::string(name) + "` with another number of arguments"); return {}; }
    return Operand{make<Call>(known.type, call_pure_extern, Array<Expr>(std::move(args)), where_)};
  }

  const CSource& source_;
  const std::vector<Token>& tokens_;
  const IrBuilder& builder_;
  std::optional<CProblem>& problem_;
  const int depth_;
  Origin where_;
  size_t at_ = 0, end_ = 0;
  int nested_ = 0;
  std::vector<std::unordered_map<std::string_view, Binding>> names_;
};

// ---- calls in statements -------------------------------------------------------------------------------------------

class Expand final : public Mutator {
 public:
  using Mutator::on;
  Expand(const CSource& source, std::optional<CProblem>& problem) : source_(source), problem_(problem) {}

  auto on(const Evaluate& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
    const CSource::Function* function = call ? source_.find(external_name(*call)) : nullptr;
    if (!function) { return self(n); }
    const Ref<IrBuilder> builder = eval::make_object<IrBuilder>();
    std::optional<CProblem> problem;
    std::vector<Binding> arguments;
    const bool is_bound = bind(*function, *call, *builder, arguments, problem);
    if (is_bound && Reader(source_, *builder, problem, 0).call(*function, std::move(arguments), n.origin) && !problem) { return builder->close(); }
    if (!problem_) { problem_ = problem; }
    return self(n);
  }

 private:
  // The arguments of a call. A pointer becomes a view of the elements behind it.
  static auto bind(const CSource::Function& function, const Call& call, const IrBuilder& builder, std::vector<Binding>& out, std::optional<CProblem>& problem) -> bool {
    auto no = [&](std::string what) {
      problem = CProblem{0, "the call of `" + std::string(function.name) + "`: " + std::move(what)};
      return false;
    };
    if (function.problem) { problem = function.problem; return false; }
    if (call.args.size() != function.params.size() + 1) { return no("its number of arguments"); }
    for (size_t i = 0; i < function.params.size(); ++i) {
      const CSource::Param& param = function.params[i];
      const Expr& given = call.args[i + 1];
      if (!param.is_pointer) {
        if (given.dtype().is_handle() || !given.dtype().is_scalar()) { return no("argument " + std::to_string(i + 1) + " is no number"); }
        out.emplace_back(cast(param.type, given));
        continue;
      }
      const auto* access = given.as<Call>();
      const auto* data = access && access->op == "tvm_access_ptr" && access->args.size() == 5 ? access->args[1].as<VarNode>() : nullptr;
      if (!data) { return no("argument " + std::to_string(i + 1) + " is no `access_ptr`"); }
      if (!(access->args[0].dtype() == param.type)) { return no("argument " + std::to_string(i + 1) + " points to elements of type `" + access->args[0].dtype().str() + "`, and the parameter to `" + param.type.str() + "`"); }
      BufferNode view;
      view.name = Name(std::string(param.name));
      view.data = Var(data);
      view.dtype = param.type;
      view.shape = Array<Expr>{access->args[3]};
      if (!is_zero(access->args[2])) { view.elem_offset = access->args[2]; }
      view.origin = call.origin;
      Buffer buffer = make_buffer(std::move(view));
      builder.add_around([buffer, where = call.origin](Stmt inner) -> Stmt { return make<DeclBuffer>(buffer, std::move(inner), where); });
      out.emplace_back(Pointer{buffer, int_imm(0)});
    }
    return true;
  }

  const CSource& source_;
  std::optional<CProblem>& problem_;
};

}  // namespace

CSource::CSource(std::string text) : text_(std::move(text)), tokens_(cut(text_)) { read_functions(); }

auto CSource::find(std::string_view name) const -> const Function* {
  auto found = std::find_if(functions_.begin(), functions_.end(), [&](const Function& one) { return one.name == name; });
  return name.empty() || found == functions_.end() ? nullptr : &*found;
}

auto CSource::problem() const -> std::optional<CProblem> {
  for (const Function& function : functions_) {
    // Reads the function for arguments of which nothing is known.
    std::vector<Binding> arguments;
    for (const Param& param : function.params) {
      const Name name(std::string(param.name));
      if (param.is_pointer) { arguments.emplace_back(Pointer{make_buffer(name, param.type, Array<Expr>{int_imm(1)}), int_imm(0)}); }
      else { arguments.emplace_back(Expr(make<VarNode>(name, param.type))); }
    }
    const Ref<IrBuilder> builder = eval::make_object<IrBuilder>();
    std::optional<CProblem> problem;
    if (!Reader(*this, *builder, problem, 0).call(function, std::move(arguments), {}) || problem) {
      CProblem out = problem.value_or(CProblem{});
      out.function = function.name;
      return out;
    }
  }
  return std::nullopt;
}

auto CSource::expand(const Stmt& stmt, std::optional<CProblem>& problem) const -> Stmt { return Expand(*this, problem).mutate(stmt); }

namespace {

// The index behind the closing bracket of the one at `at`.
auto behind_brackets(const std::vector<Token>& tokens, size_t at, std::string_view open, std::string_view close) -> size_t {
  int depth = 0;
  for (; tokens[at].kind != Kind::End; ++at) {
    if (tokens[at].kind == Kind::Text) { continue; }
    depth += tokens[at].text == open ? 1 : tokens[at].text == close ? -1 : 0;
    if (depth == 0) { return at + 1; }
  }
  return at;
}

auto read_params(const std::vector<Token>& tokens, size_t at, size_t end, CSource::Function& out) -> void {
  while (at < end && !out.problem) {
    const int line = tokens[at].line;
    auto type = read_type(tokens, at);
    if (type && type->is_void() && at == end) { return; }
    CSource::Param param{type.value_or(DataType()), false, {}};
    for (; at < end && tokens[at].text != ","; ++at) {
      if (tokens[at].text == "*") {
        if (param.is_pointer) { type.reset(); }
        param.is_pointer = true;
      } else if (tokens[at].text == "[") {
        param.is_pointer = true;
        while (at < end && tokens[at].text != "]") { ++at; }
      } else if (tokens[at].kind == Kind::Name && !is_qualifier(tokens[at].text)) {
        if (!param.name.empty()) { type.reset(); }
        param.name = tokens[at].text;
      }
    }
    ++at;
    if (!type || type->is_void() || param.name.empty()) { out.problem = CProblem{line, "a parameter of `" + std::string(out.name) + "`"}; }
    out.params.push_back(param);
  }
}

}  // namespace

void CSource::read_functions() {
  for (size_t at = 0; tokens_[at].kind != Kind::End;) {
    const Token& token = tokens_[at];
    // `extern "C" {`
    const bool is_linkage = token.kind == Kind::Sign && token.text == "{" && at > 0 && tokens_[at - 1].kind == Kind::Text;
    if (token.text == "{" && !is_linkage) { at = behind_brackets(tokens_, at, "{", "}"); continue; }
    if (token.kind != Kind::Name || tokens_[at + 1].text != "(") { ++at; continue; }
    const size_t behind = behind_brackets(tokens_, at + 1, "(", ")");
    if (tokens_[behind].text != "{") { at = behind; continue; }
    Function function{token.text, {}, behind + 1, behind_brackets(tokens_, behind, "{", "}") - 1, {}};
    read_params(tokens_, at + 2, behind - 1, function);
    at = function.end + 1;
    functions_.push_back(std::move(function));
  }
}

}  // namespace loopsmith::frontend
