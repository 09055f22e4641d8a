// Sizes near the ends of int32 and int64: random steps on programs with huge extents, and the stages of lowering after them.
//
// No such program can be run completely. A few iterations of each loop are evaluated exactly, including the first and the last: no
// arithmetic of int32 or int64 may wrap, every index must be inside its buffer, every iter var inside its domain, and no loop may count further
// than its variable can. The loops around the stores of a result must have enough iterations to store each of its elements, which a wrapped
// extent would not.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <unordered_map>

#include "frontend/file.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/wrapped.h"
#include "schedule/schedule.h"
#include "syntax/document.h"
#include "tests/gate/random.h"
#include "tests/gate/steps.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using gate::Random;

namespace {

using Wide = __int128;

// Evaluates some iterations of a function. Unknown values (loads, calls) are not checked.
class Walk {
 public:
  explicit Walk(Random& random) : random_(random) {}
  std::string problem;

  auto run(const PrimFunc& func) -> std::string {
    for (const auto& [param, buffer] : func->buffer_map) { (void)buffer; }
    visit(func->body);
    return problem;
  }

 private:
  void fail(const std::string& what) {
    if (problem.empty()) { problem = what; }
  }

  // The least and the largest lane of an integer expression.
  struct Lanes { Wide low, high; };
  auto value(const Expr& e) -> std::optional<Lanes> {
    if (!e || !e.dtype().is_integral()) {
      if (e) { visit_children(e, [&](const Expr& child) { (void)value(child); }); }
      return {};
    }
    auto out = raw(e);
    DataType t = e.dtype();
    if (!out || t.is_bool() || !t.is_int() || (t.bits != 32 && t.bits != 64)) { return out; }
    Wide most = t.bits == 32 ? Wide{std::numeric_limits<int32_t>::max()} : Wide{std::numeric_limits<int64_t>::max()};
    if (out->high > most || out->low < -most - 1) {
      fail(fmt::format("`{}` wraps: {}", print_script(e), decimal(out->high > most ? out->high : out->low)));
      return {};
    }
    return out;
  }
  static auto floor_div(Wide a, Wide b) -> Wide { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
  auto raw(const Expr& e) -> std::optional<Lanes> {
    if (const auto* i = e.as<IntImm>()) { return Lanes{i->value, i->value}; }
    if (const auto* v = e.as<VarNode>()) {
      auto found = values_.find(v);
      return found == values_.end() ? std::nullopt : std::optional<Lanes>(found->second);
    }
    if (const auto* c = e.as<Cast>()) { return c->value.dtype().is_integral() ? value(c->value) : std::nullopt; }
    if (const auto* b = e.as<Broadcast>()) { return value(b->value); }
    if (const auto* r = e.as<Ramp>()) {
      auto base = value(r->base), stride = value(r->stride);
      auto lanes = as_int(r->lanes);
      if (!base || !stride || !lanes) { return {}; }
      Wide reach = stride->low * (*lanes - 1);
      return Lanes{base->low + std::min<Wide>(0, reach), base->high + std::max<Wide>(0, reach)};
    }
    if (const auto* n = e.as<Not>()) {
      auto a = value(n->a);
      return a && a->low == a->high ? std::optional(Lanes{!a->low, !a->low}) : std::nullopt;
    }
    if (const auto* c = e.as<Call>()) {
      if (c->op == "likely" && c->args.size() == 1) { return value(c->args[0]); }
      if (c->op == "if_then_else" && c->args.size() == 3) {
        auto condition = value(c->args[0]);
        return condition && condition->low == condition->high ? value(c->args[condition->low != 0 ? 1 : 2]) : std::nullopt;
      }
      return {};
    }
    if (const auto* load = e.as<BufferLoad>()) {
      access(load->buffer, load->indices, load->predicate);
      return {};
    }
    if (const auto* s = e.as<Select>()) {
      auto condition = value(s->condition);
      auto t = value(s->true_value), f = value(s->false_value);
      if (!condition || condition->low != condition->high) { return {}; }
      return condition->low != 0 ? t : f;
    }
    return binary(e);
  }
  auto binary(const Expr& e) -> std::optional<Lanes> {
    switch (e.kind()) {
      case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Div: case NodeKind::Mod:
      case NodeKind::Min: case NodeKind::Max: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::EQ: case NodeKind::NE:
      case NodeKind::And: case NodeKind::Or: break;
      default: return {};
    }
    const auto& n = *static_cast<const BinaryNode*>(e.get());
    auto a = value(n.a);
    if (e.kind() == NodeKind::And && a && a->high == 0) { return Lanes{0, 0}; }
    auto b = value(n.b);
    if (!a || !b) { return {}; }
    bool is_scalar = a->low == a->high && b->low == b->high;
    switch (e.kind()) {
      case NodeKind::Add: return Lanes{a->low + b->low, a->high + b->high};
      case NodeKind::Sub: return Lanes{a->low - b->high, a->high - b->low};
      case NodeKind::Mul: {
        auto all = {a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high};
        return Lanes{std::min(all), std::max(all)};
      }
      case NodeKind::Min: return Lanes{std::min(a->low, b->low), std::min(a->high, b->high)};
      case NodeKind::Max: return Lanes{std::max(a->low, b->low), std::max(a->high, b->high)};
      default: break;
    }
    if (!is_scalar) { return {}; }
    Wide x = a->low, y = b->low;
    auto known = [](Wide v) { return Lanes{v, v}; };
    switch (e.kind()) {
      case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Div: case NodeKind::Mod:
        if (y == 0) {
          fail(fmt::format("`{}` divides by zero", print_script(e)));
          return {};
        }
        if (e.kind() == NodeKind::FloorDiv) { return known(floor_div(x, y)); }
        if (e.kind() == NodeKind::FloorMod) { return known(x - floor_div(x, y) * y); }
        return known(e.kind() == NodeKind::Div ? x / y : x % y);
      case NodeKind::LT: return known(x < y);
      case NodeKind::LE: return known(x <= y);
      case NodeKind::GT: return known(x > y);
      case NodeKind::GE: return known(x >= y);
      case NodeKind::EQ: return known(x == y);
      case NodeKind::NE: return known(x != y);
      case NodeKind::And: return known(x != 0 && y != 0);
      default: return known(x != 0 || y != 0);
    }
  }

  void access(const Buffer& buffer, const Array<Expr>& indices, const Expr& predicate) {
    for (size_t d = 0; d < indices.size(); ++d) {
      auto at = value(indices[d]);
      auto extent = d < buffer->shape.size() ? as_int(buffer->shape[d]) : std::nullopt;
      if (extent && *extent < 0) { fail(fmt::format("`{}` has a negative extent", buffer->name.view())); }
      // A vector may exceed the end of a row, and masked lanes may be anywhere.
      if (!at || !extent || predicate || indices[d].dtype().is_vector()) { continue; }
      if (at->low < 0 || at->high >= *extent) { fail(fmt::format("`{}[{}]`: {} is outside of {}", buffer->name.view(), print_script(indices[d]), decimal(at->low), *extent)); }
    }
  }

  void visit(const Stmt& s) {
    if (!s || !problem.empty() || left_ <= 0) { return; }
    --left_;
    if (const auto* n = s.as<SeqStmt>()) { for (const Stmt& item : n->seq) { visit(item); } return; }
    if (const auto* n = s.as<BufferStore>()) {
      (void)value(n->value);
      access(n->buffer, n->indices, n->predicate);
      return;
    }
    if (const auto* n = s.as<Evaluate>()) { (void)value(n->value); return; }
    if (const auto* n = s.as<LetStmt>()) {
      auto known = value(n->value);
      if (known) { values_[n->var.get()] = *known; } else { values_.erase(n->var.get()); }
      return visit(n->body);
    }
    if (const auto* n = s.as<IfThenElse>()) {
      auto condition = value(n->condition);
      if (condition && condition->low == condition->high) { visit(condition->low != 0 ? n->then_case : n->else_case); }
      return;
    }
    if (const auto* n = s.as<BlockRealize>()) { return visit(*n); }
    if (const auto* n = s.as<For>()) { return visit(*n); }
    if (const auto* n = s.as<Allocate>()) {
      for (const Expr& e : n->extents) {
        if (auto extent = value(e); extent && extent->low < 0) { fail(fmt::format("`{}` is allocated with a negative extent", n->data->name.view())); }
      }
      return visit(n->body);
    }
    if (const auto* n = s.as<AttrStmt>()) { return visit(n->body); }
    if (const auto* n = s.as<AssertStmt>()) { return visit(n->body); }
    if (const auto* n = s.as<DeclBuffer>()) { return visit(n->body); }
  }
  void visit(const BlockRealize& n) {
    auto holds = value(n.predicate);
    if (!holds || holds->low == 0) { return; }
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      const IterVar& iter = n.block->iter_vars[i];
      auto at = value(n.iter_values[i]);
      if (!at) { values_.erase(iter.var.get()); continue; }
      auto min = value(iter.dom.min), extent = value(iter.dom.extent);
      if (min && extent && (at->low < min->low || at->high >= min->low + extent->low)) {
        fail(fmt::format("`{}` of block `{}` is {}, outside of its domain of {}", iter.var->name.view(), n.block->name.view(), decimal(at->low), decimal(extent->low)));
      }
      values_[iter.var.get()] = *at;
    }
    for (const Buffer& b : n.block->alloc_buffers) {
      for (const Expr& e : b->shape) {
        if (auto extent = value(e); extent && extent->low < 0) { fail(fmt::format("`{}` is allocated with a negative extent", b->name.view())); }
      }
    }
    visit(n.block->init);
    visit(n.block->body);
  }
  void visit(const For& n) {
    auto min = value(n.min), extent = value(n.extent);
    if (!min || !extent) { values_.erase(n.var.get()); return; }
    if (extent->low <= 0) {
      if (extent->low < 0 && as_int(n.extent)) { fail(fmt::format("`{}` counts to {}", n.var->name.view(), decimal(extent->low))); }
      return;
    }
    Wide last = min->low + extent->low - 1;
    Wide most = n.var->dtype.bits >= 64 ? Wide{std::numeric_limits<int64_t>::max()} : Wide{std::numeric_limits<int32_t>::max()};
    if (last > most) { return fail(fmt::format("`{}` counts to {}, further than its type", n.var->name.view(), decimal(last))); }
    std::set<Wide> tried{min->low, last, min->low + extent->low / 2};
    if (random_.chance(30)) { tried.insert(last - std::min<Wide>(extent->low - 1, 1)); }
    if (random_.chance(30)) { tried.insert(min->low + static_cast<Wide>(random_.next() % static_cast<uint64_t>(extent->low))); }
    for (Wide i : tried) {
      values_[n.var.get()] = {i, i};
      visit(n.body);
      if (!problem.empty()) { problem += problem.find(" at ") == std::string::npos ? fmt::format(" at {}={}", n.var->name.view(), decimal(i)) : fmt::format(", {}={}", n.var->name.view(), decimal(i)); return; }
    }
  }

  Random& random_;
  std::unordered_map<const VarNode*, Lanes> values_;
  int64_t left_ = 4000;   // statements to visit
};

// The number of iterations of all stores to the memory of a buffer; none: a loop around one of them has a symbolic extent.
auto stores_of(const Stmt& s, const VarNode* data, double around) -> std::optional<double> {
  double total = 0;
  bool known = true;
  auto add = [&](const Stmt& inner, double times) {
    auto more = stores_of(inner, data, times);
    if (more) { total += *more; } else { known = false; }
  };
  if (const auto* n = s.as<BufferStore>()) { return n->buffer->data.get() == data ? around * (n->indices.empty() ? 1 : n->indices[n->indices.size() - 1].dtype().lanes) : 0.0; }
  if (const auto* n = s.as<For>()) {
    auto extent = as_int(n->extent);
    auto inner = stores_of(n->body, data, around * static_cast<double>(std::max<int64_t>(extent.value_or(1), 0)));
    if (!inner || (*inner > 0 && !extent)) { return {}; }
    return inner;
  }
  visit_children(s, [](const Expr&) {}, [&](const Stmt& child) { add(child, around); });
  return known ? std::optional(total) : std::nullopt;
}

auto parse(const std::string& text) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size(); ++i) {
    for (const Diagnostic& d : file.declaration(i).diagnostics) { INFO(d.message() << "\n" << text); CHECK(d.severity != Severity::Error); }
    if (file.declaration(i).is_program && file.declaration(i).module) { module = file.declaration(i).module; }
  }
  REQUIRE(module);
  return module;
}

struct Sized {
  std::string text;
  std::string result;      // the buffer whose elements are all written
  double elements = 1;
};

// A program whose extents are near the ends of types; its own indices do not wrap.
auto draw_program(Random& random) -> Sized {
  const bool wide = random.chance(35);
  auto n = [&](int64_t v) { return wide ? fmt::format("T.int64({})", v) : std::to_string(v); };
  const std::vector<int64_t> small{1, 2, 3, 7, 8, 64};
  const std::vector<int64_t> middle{32767, 46340, 46341, 60000, 65536, 65537, 70000, 1048576};
  const std::vector<int64_t> large{1073741823, 1073741824, 2147483640, 2147483646, 2147483647};
  const std::vector<int64_t> huge{2147483648, 4294967296, 4294967297, int64_t{1} << 40, (int64_t{1} << 62) - 1, int64_t{1} << 62, std::numeric_limits<int64_t>::max() - 8};
  auto extent = [&]() -> int64_t {
    int64_t which = random.below(10);
    if (which < 2) { return random.pick(small); }
    if (which < 7) { return random.pick(middle); }
    return wide && which == 9 ? random.pick(huge) : random.pick(large);
  };
  int64_t x = extent(), y = extent(), z = random.chance(50) ? random.pick(small) : extent();
  Sized out;
  switch (random.below(5)) {
    case 0:
      out.text = fmt::format("@T.prim_func\ndef main(A: T.Buffer(({0}, {1}), \"int8\"), B: T.Buffer(({0}, {1}), \"int8\")):\n    for i, j in T.grid({0}, {1}):\n"
                             "        with T.block(\"B\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = A[vi, vj]\n", n(x), n(y));
      out.elements = static_cast<double>(x) * static_cast<double>(y);
      break;
    case 1:
      out.text = fmt::format("@T.prim_func\ndef main(A: T.Buffer(({0}, {1}), \"int8\"), B: T.Buffer(({0}, {1}), \"int8\")):\n    M = T.alloc_buffer(({0}, {1}), \"int8\")\n"
                             "    for i, j in T.grid({0}, {1}):\n        with T.block(\"M\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            M[vi, vj] = A[vi, vj] * T.int8(2)\n"
                             "    for i, j in T.grid({0}, {1}):\n        with T.block(\"B\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = M[vi, vj] + T.int8(1)\n", n(x), n(y));
      out.elements = static_cast<double>(x) * static_cast<double>(y);
      break;
    case 2:
      out.text = fmt::format("@T.prim_func\ndef main(A: T.Buffer(({0}, {1}), \"int8\"), B: T.Buffer(({0},), \"int8\")):\n    for i, k in T.grid({0}, {1}):\n"
                             "        with T.block(\"B\"):\n            vi, vk = T.axis.remap(\"SR\", [i, k])\n            with T.init():\n                B[vi] = T.int8(0)\n            B[vi] = B[vi] + A[vi, vk]\n", n(x), n(y));
      out.elements = static_cast<double>(x);
      break;
    case 3:
      out.text = fmt::format("@T.prim_func\ndef main(A: T.Buffer(({0}, {1}), \"int8\"), B: T.Buffer(({1}, {2}), \"int8\"), C: T.Buffer(({0}, {2}), \"int8\")):\n    for i, j, k in T.grid({0}, {2}, {1}):\n"
                             "        with T.block(\"C\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                C[vi, vj] = T.int8(0)\n"
                             "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n", n(x), n(z), n(y));
      out.result = "C";
      out.elements = static_cast<double>(x) * static_cast<double>(y);
      break;
    default: {
      // A strided read: the last index is the last element.
      int64_t rows = wide ? x : std::min<int64_t>(x, 1073741823);
      if (rows > std::numeric_limits<int64_t>::max() / 2) { rows = std::numeric_limits<int64_t>::max() / 2; }
      out.text = fmt::format("@T.prim_func\ndef main(A: T.Buffer(({0},), \"int8\"), B: T.Buffer(({1},), \"int8\")):\n    for i in range({1}):\n"
                             "        with T.block(\"B\"):\n            vi = T.axis.spatial({1}, i)\n            B[vi] = A[vi * {2} + {3}]\n", n(2 * rows), n(rows), n(2), n(1));
      out.elements = static_cast<double>(rows);
    }
  }
  if (out.result.empty()) { out.result = "B"; }
  return out;
}

auto judge(const IRModule& module, const Sized& program, Random& random) -> std::string {
  PrimFunc func = module->find("main");
  if (std::string problem = Walk(random).run(func); !problem.empty()) { return problem; }
  for (const auto& [param, buffer] : func->buffer_map) {
    if (buffer->name.view() != program.result) { continue; }
    auto stores = stores_of(func->body, buffer->data.get(), 1);
    if (stores && *stores < program.elements * 0.999) { return fmt::format("{} stores of {} elements", *stores, program.elements); }
  }
  return {};
}

}  // namespace

TEST_CASE("sizes beyond 32 and 64 bits are computed right or refused") {
  const auto programs = tests::size_of_test<uint64_t>(400, 60000, 40);
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    Random random{seed * 7919};
    Sized program = draw_program(random);
    IRModule module = parse(program.text);
    std::string steps;
    std::string before = judge(module, program, random);
    INFO("seed " << seed << "\n" << program.text);
    REQUIRE(before == "");
    schedule::Schedule sch(module, 1);
    gate::StepCounts counts;
    const int64_t wanted = random.between(0, 5);
    for (int64_t tries = 0, done = 0; tries < 30 && done < wanted; ++tries) {
      auto step = gate::random_step(sch, random, counts);
      if (!step) { continue; }
      steps += step->text() + "\n";
      auto start = std::chrono::steady_clock::now();
      gate::Applied applied = gate::apply_step(sch, *step);
      std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      INFO(steps);
      if (tests::is_soak()) { CHECK(spent.count() < 5); }
      if (applied != gate::Applied::Accepted) {
        steps.resize(steps.size() - step->text().size() - 1);
        continue;
      }
      ++done;
      INFO(print_script(sch.module()));
      REQUIRE(judge(sch.module(), program, random) == "");
    }
    INFO(steps);
    std::string stage, problem;
    transform::LowerRequest request;
    request.on_stage = [&](const transform::StageReport& r) {
      if (r.is_unchanged() || !problem.empty()) { return; }
      problem = judge(r.after, program, random);
      if (!problem.empty()) { problem = std::string(r.stage->name) + ": " + problem + "\n" + print_script(r.after); }
    };
    (void)transform::lower(sch.module(), {}, request);
    REQUIRE(problem == "");
  }
}
