// Lowering: every stage keeps the program's results and produces its documented form.
#include <fstream>
#include <set>

#include "interp/compare.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "tests/support/paths.h"
#include "tests/unit/transform/programs.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using namespace loopsmith::test;

namespace {

auto messages(const Diagnostics& ds) -> std::string {
  std::string out;
  for (const Diagnostic& d : ds) { out += d.message() + "\n"; }
  return out;
}

// Lowers and compares the module after every stage with the one at the start.
auto lower_checked(const IRModule& module, const transform::LowerOptions& options = {}) -> IRModule {
  transform::LowerRequest request;
  request.on_stage = [&](const transform::StageReport& r) {
    if (r.is_unchanged()) { return; }
    auto result = interp::compare_modules(module, r.after, "main");
    INFO("after " << r.stage->name << ":\n" << print_script(r.after));
    if (!result.ok()) { FAIL(messages(result.diagnostics())); }
    INFO(result->difference);
    REQUIRE(result->equal);
  };
  auto out = transform::lower(module, {options, {}}, request);
  REQUIRE(out.ok());
  REQUIRE(transform::is_lowered((*out)->functions[0].second));
  return *out;
}

auto text(const IRModule& m) -> std::string { return print_script(m); }
auto count(const std::string& text, const std::string& what) -> int {
  int n = 0;
  for (size_t p = text.find(what); p != std::string::npos; p = text.find(what, p + 1)) { ++n; }
  return n;
}

auto allocation_sizes(const IRModule& m) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  post_order(
      m->functions[0].second->body,
      [&](const Stmt& s) {
        if (const auto* a = s.as<Allocate>()) { out.push_back(as_int(a->extents[0]).value_or(-1)); }
      },
      [](const Expr&) {});
  return out;
}

}  // namespace

TEST_CASE("a tiled matmul becomes vector code over a small tile") {
  IRModule out = lower_checked(tiled_matmul(16, 32, 8));
  CHECK(allocation_sizes(out) == std::vector<int64_t>{64});
  std::string script = text(out);
  INFO(script);
  CHECK(count(script, "T.vectorized") == 0);
  CHECK(count(script, "T.unroll") == 0);
  CHECK(count(script, "T.parallel") == 1);
  CHECK(script.find("\"stack\"") != std::string::npos);
}

TEST_CASE("tails that the tile does not divide keep their values") {
  for (auto [m, n, k] : {std::tuple{13, 31, 5}, {7, 17, 3}, {4, 3, 2}, {5, 16, 1}}) {
    lower_checked(tiled_matmul(m, n, k));
    transform::LowerOptions no_masks;
    no_masks.masked_memory = false;
    lower_checked(tiled_matmul(m, n, k), no_masks);
    transform::LowerOptions scalar;
    scalar.vectorize = false;
    lower_checked(tiled_matmul(m, n, k, 4, 12), scalar);
  }
}

TEST_CASE("vectors of odd extents are taken apart into powers of two") {
  Buffer a = buffer("A", {23}), b = buffer("B", {23});
  Var i = var("i"), v = var("v");
  IRModule m = program({a, b}, loop(i, 23, block({.iters = {spatial(v, 23)}, .values = {i}, .reads = {region(a, {v})}, .writes = {region(b, {v})},
                                                   .body = put(b, {v}, mul(at(a, {v}), float_imm(2)))}), ForKind::Vectorized));
  std::string script = text(lower_checked(m));
  INFO(script);
  CHECK(script.find("B[0:16] = A[0:16] * T.Broadcast(T.float32(2.0), 16)") != std::string::npos);
  CHECK(script.find("B[16:20] = A[16:20]") != std::string::npos);
  CHECK(script.find("B[22] = A[22]") != std::string::npos);
}

TEST_CASE("a padded read becomes a masked load, not a read outside") {
  Buffer a = buffer("A", {14}), p = buffer("P", {16}), b = buffer("B", {14});
  Var i = var("i"), j = var("j"), r = var("r"), v = var("v"), w = var("w"), x = var("x");
  Expr padded = if_then_else(logical_and(less_equal(int_imm(1), Expr(v)), less(Expr(v), int_imm(15))), at(a, {sub(Expr(v), int_imm(1))}), float_imm(0));
  Stmt pad = loop(i, 16, block({.iters = {spatial(v, 16)}, .values = {i}, .writes = {region(p, {v})}, .body = put(p, {v}, padded)}), ForKind::Vectorized);
  Stmt sum = loop(j, 14, loop(r, 3, block({.iters = {spatial(w, 14), reduction(x, 3)}, .values = {j, r}, .writes = {region(b, {w})},
                                           .body = put(b, {w}, add(at(b, {w}), at(p, {add(Expr(w), Expr(x))}))), .init = put(b, {w}, float_imm(0))})));
  std::string script = text(lower_checked(program({a, b}, seq({pad, sum}), {p})));
  INFO(script);
  CHECK(script.find("predicate=") != std::string::npos);
}

TEST_CASE("views of regions, nested blocks and reductions inside them") {
  Buffer a = buffer("A", {16, 16}), b = buffer("B", {16});
  Buffer view = make_buffer("V", f32, ints({4, 16}));
  Var i = var("i"), r = var("r"), c = var("c"), vi = var("vi"), vr = var("vr"), vc = var("vc");
  Stmt inner = loop(r, 4, loop(c, 16, block({.name = "inner", .iters = {spatial(vr, 4), reduction(vc, 16)}, .values = {r, c},
                                             .writes = {region(b, {add(mul(Expr(vi), int_imm(4)), Expr(vr))})},
                                             .body = put(b, {add(mul(Expr(vi), int_imm(4)), Expr(vr))},
                                                         add(at(b, {add(mul(Expr(vi), int_imm(4)), Expr(vr))}), at(view, {vr, vc}))),
                                             .init = put(b, {add(mul(Expr(vi), int_imm(4)), Expr(vr))}, float_imm(0))})));
  BufferRegion rows{a, Array<Range>{Range{mul(Expr(vi), int_imm(4)), int_imm(4)}, Range{int_imm(0), int_imm(16)}}, {}};
  BufferRegion out{b, Array<Range>{Range{mul(Expr(vi), int_imm(4)), int_imm(4)}}, {}};
  Stmt outer = loop(i, 4, block({.name = "outer", .iters = {spatial(vi, 4)}, .values = {i}, .reads = {rows}, .writes = {out}, .body = inner,
                                 .views = {MatchBufferRegion{view, rows}}}));
  lower_checked(program({a, b}, outer));
}

TEST_CASE("a producer inside its consumer's loop shrinks to the size of one iteration") {
  Buffer a = buffer("A", {64, 64}), t = buffer("T", {64, 64}), b = buffer("B", {62, 64});
  Var i = var("i"), j = var("j"), y = var("y"), x = var("x"), vy = var("vy"), vx = var("vx"), vi = var("vi"), vj = var("vj");
  Stmt produce = loop(y, 3, loop(x, 64, block({.iters = {spatial(vy, 64), spatial(vx, 64)}, .values = {add(Expr(i), Expr(y)), x}, .writes = {region(t, {vy, vx})},
                                               .body = put(t, {vy, vx}, mul(at(a, {vy, vx}), at(a, {vy, vx})))})));
  Expr sum = add(add(at(t, {vi, vj}), at(t, {add(Expr(vi), int_imm(1)), vj})), at(t, {add(Expr(vi), int_imm(2)), vj}));
  BufferRegion rows{t, Array<Range>{Range{vi, int_imm(3)}, Range{vj, int_imm(1)}}, {}};
  Stmt consume = loop(j, 64, block({.iters = {spatial(vi, 62), spatial(vj, 64)}, .values = {i, j}, .reads = {rows}, .writes = {region(b, {vi, vj})}, .body = put(b, {vi, vj}, sum)}));
  IRModule out = lower_checked(program({a, b}, loop(i, 62, seq({produce, consume})), {t}));
  CHECK(allocation_sizes(out) == std::vector<int64_t>{192});
}

TEST_CASE("an accumulator lives outside the loop that accumulates") {
  // The temporary is written under a reduction iter var: it must not be allocated anew in every iteration.
  Buffer a = buffer("A", {8, 8}), t = buffer("T", {8}), b = buffer("B", {8});
  Var i = var("i"), k = var("k"), vi = var("vi"), vk = var("vk"), vj = var("vj");
  Stmt add_up = loop(k, 8, block({.iters = {spatial(vi, 8), reduction(vk, 8)}, .values = {i, k}, .writes = {region(t, {vi})},
                                  .body = put(t, {vi}, add(at(t, {vi}), at(a, {vi, vk}))), .init = put(t, {vi}, float_imm(0))}));
  Stmt copy = block({.iters = {spatial(vj, 8)}, .values = {i}, .reads = {region(t, {vj})}, .writes = {region(b, {vj})}, .body = put(b, {vj}, at(t, {vj}))});
  IRModule out = lower_checked(program({a, b}, loop(i, 8, seq({add_up, copy})), {t}));
  CHECK(allocation_sizes(out) == std::vector<int64_t>{1});
}

TEST_CASE("pragmas unroll the innermost loops up to their number of steps") {
  Buffer a = buffer("A", {8, 4}), b = buffer("B", {8, 4});
  Var i = var("i"), j = var("j");
  AttrMap pragma = with_attr(AttrMap(), "pragma_auto_unroll_max_step", int_imm(4));
  Stmt body = loop(i, 8, loop(j, 4, put(b, {i, j}, at(a, {i, j}))), ForKind::Serial, pragma);
  std::string script = text(lower_checked(program({a, b}, body)));
  INFO(script);
  CHECK(count(script, "for ") == 1);
  CHECK(script.find("i * 4 + 3") != std::string::npos);
  CHECK(script.find("pragma") == std::string::npos);
}

TEST_CASE("a store of all lanes to one element stays a loop") {
  Buffer a = buffer("A", {16}), b = buffer("B", {1});
  Var i = var("i");
  Stmt body = loop(i, 16, put(b, {int_imm(0)}, add(at(b, {int_imm(0)}), at(a, {i}))), ForKind::Vectorized);
  lower_checked(program({a, b}, body));
}

TEST_CASE("stages can be asked for by name, and an unknown one names them all") {
  IRModule m = tiled_matmul(8, 16, 4);
  auto early = transform::lower(m, {}, {.until = "lower_init_block"});
  REQUIRE(early.ok());
  CHECK(text(*early).find("T.init") == std::string::npos);
  CHECK(text(*early).find("T.block") != std::string::npos);
  auto wrong = transform::lower(m, {}, {.until = "no_such"});
  REQUIRE(!wrong.ok());
  CHECK(wrong.diagnostics()[0].code == Code::UnknownStage);
  CHECK(wrong.diagnostics()[0].remedies[0].find("flatten_buffer") != std::string::npos);
}

TEST_CASE("docs/gpu.md has a row for each stage that runs for devices only") {
  auto names_for = [](std::string_view target_kind) {
    std::set<std::string> names;
    for (const transform::Stage& stage : transform::pipeline(target_kind)) { names.insert(stage.name); }
    return names;
  };
  std::set<std::string> of_devices = names_for("cuda");
  of_devices.merge(names_for("opencl"));
  for (const std::string& name : names_for("llvm")) { of_devices.erase(name); }
  std::set<std::string> documented;
  std::ifstream page(tests::source_folder() + "/docs/gpu.md");
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| stage |")) { is_table = true; }
    if (!line.starts_with("|")) { is_table = false; }
    if (is_table && line.starts_with("| `")) { documented.insert(line.substr(3, line.find('`', 3) - 3)); }
  }
  CHECK(documented == of_devices);
}

TEST_CASE("lowering a lowered module is legal and changes nothing") {
  IRModule once = lower_checked(tiled_matmul(13, 31, 5));
  auto twice = transform::lower(once);
  REQUIRE(twice.ok());
  CHECK(structural_equal(once, *twice));
}
