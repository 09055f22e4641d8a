// Schedules as values: failures change nothing, copies share memory, traces survive JSON and print as TVM's, variables refer
// to the right places, cached facts equal a recomputation, seeds give TVM's draws.
#include "schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "schedule/draws.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::schedule;

namespace {

// C = A x B, `m` by `n` by `k`.
auto matmul(int64_t m = 64, int64_t n = 48, int64_t k = 80) -> IRModule {
  DataType f32 = DataType::float_(32);
  auto tensor = [&](const char* name, int64_t rows, int64_t columns) { return make_buffer(name, f32, Array<Expr>{int_imm(rows), int_imm(columns)}); };
  Buffer a = tensor("A", m, k), b = tensor("B", k, n), c = tensor("C", m, n);
  Var i = var("i"), j = var("j"), r = var("k"), vi = var("vi"), vj = var("vj"), vk = var("vk");
  auto at = [](const Buffer& x, Expr p, Expr q) { return Expr(make<BufferLoad>(x, Array<Expr>{p, q})); };
  auto region = [](const Buffer& x, Expr p, Expr q) { return BufferRegion{x, Array<Range>{point(p), point(q)}, {}}; };
  Block::Fields f;
  f.name = "C";
  f.iter_vars = {IterVar{vi, from_zero(int_imm(m)), IterKind::Spatial, {}, {}}, IterVar{vj, from_zero(int_imm(n)), IterKind::Spatial, {}, {}},
                 IterVar{vk, from_zero(int_imm(k)), IterKind::Reduction, {}, {}}};
  f.reads = {region(a, vi, vk), region(b, vk, vj)};
  f.writes = {region(c, vi, vj)};
  f.init = make<BufferStore>(c, float_imm(0), Array<Expr>{Expr(vi), Expr(vj)});
  f.body = make<BufferStore>(c, at(c, vi, vj) + at(a, vi, vk) * at(b, vk, vj), Array<Expr>{Expr(vi), Expr(vj)});
  Stmt body = make<BlockRealize>(Array<Expr>{Expr(i), Expr(j), Expr(r)}, bool_imm(true), make<Block>(std::move(f)));
  body = make<For>(r, int_imm(0), int_imm(k), ForKind::Serial, body);
  body = make<For>(j, int_imm(0), int_imm(n), ForKind::Serial, body);
  body = make<For>(i, int_imm(0), int_imm(m), ForKind::Serial, body);
  Block::Fields root;
  root.name = "root";
  root.body = body;
  PrimFuncNode func;
  for (const Buffer& x : {a, b, c}) {
    Var param = make<VarNode>(x->name, DataType::handle());
    func.params = [&] { auto v = func.params.to_vector(); v.push_back(param); return v; }();
    func.buffer_map = [&] { auto v = func.buffer_map.to_vector(); v.emplace_back(param, x); return v; }();
  }
  func.body = make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(root)));
  return module_of(make_func(std::move(func)));
}

// T0 = A + 1, T1 = T0 + 1, ...; every seventh block also reads the result of the seventh block before it.
auto long_chain(int count) -> IRModule {
  DataType f32 = DataType::float_(32);
  std::vector<Buffer> buffers;
  for (int b = 0; b <= count; ++b) { buffers.push_back(make_buffer(Name("T" + std::to_string(b)), f32, Array<Expr>{int_imm(16)})); }
  auto region = [](const Buffer& x, const Var& at) { return BufferRegion{x, Array<Range>{point(at)}, {}}; };
  std::vector<Stmt> nests;
  Block::Fields root;
  root.name = "root";
  std::vector<Buffer> own;
  for (int b = 0; b < count; ++b) {
    Var i = var("i"), vi = var("vi");
    auto load = [&](int from) { return Expr(make<BufferLoad>(buffers[static_cast<size_t>(from)], Array<Expr>{Expr(vi)})); };
    const Buffer& to = buffers[static_cast<size_t>(b) + 1];
    Block::Fields f;
    f.name = Name("B" + std::to_string(b));
    f.iter_vars = {IterVar{vi, from_zero(int_imm(16)), IterKind::Spatial, {}, {}}};
    std::vector<BufferRegion> reads = {region(buffers[static_cast<size_t>(b)], vi)};
    Expr value = load(b) + float_imm(1);
    if (b % 7 == 6) {
      reads.push_back(region(buffers[static_cast<size_t>(b) - 5], vi));
      value = value + load(b - 5);
    }
    f.reads = std::move(reads);
    f.writes = {region(to, vi)};
    f.body = make<BufferStore>(to, value, Array<Expr>{Expr(vi)});
    nests.push_back(make<For>(i, int_imm(0), int_imm(16), ForKind::Serial, make<BlockRealize>(Array<Expr>{Expr(i)}, bool_imm(true), make<Block>(std::move(f)))));
    if (b + 1 < count) { own.push_back(to); }
  }
  root.alloc_buffers = std::move(own);
  root.body = seq(std::move(nests), {});
  PrimFuncNode func;
  for (const Buffer& x : {buffers.front(), buffers.back()}) {
    Var param = make<VarNode>(x->name, DataType::handle());
    func.params = [&] { auto v = func.params.to_vector(); v.push_back(param); return v; }();
    func.buffer_map = [&] { auto v = func.buffer_map.to_vector(); v.emplace_back(param, x); return v; }();
  }
  func.body = make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(root)));
  return module_of(make_func(std::move(func)));
}

auto must(Result<Value> value) -> Value {
  if (!value.ok()) { FAIL(value.diagnostics()[0].message()); }
  return std::move(value).value();
}
auto code_of(const Result<Value>& value) -> Code {
  REQUIRE_FALSE(value.ok());
  return value.diagnostics()[0].code;
}

}  // namespace

TEST_CASE("a failed primitive leaves the module, the trace and the random state as they were") {
  Schedule sch(matmul(), 7);
  Value loops = must(sch.call("get_loops", {"C"}));
  auto l = loops_of(loops);
  IRModule before = sch.module();
  size_t steps = sch.trace().size();
  auto failed = sch.call("parallel", {l[2]});
  CHECK(code_of(failed) == Code::LoopCarried);
  CHECK(sch.module().same_as(before));
  CHECK(sch.trace().size() == steps);
  // The name was looked up before the failure, and this is undone, too.
  CHECK(code_of(sch.apply("cache_write", Arguments{{"C", 0, "nowhere"}, {}})) == Code::StorageScope);
  CHECK(sch.trace().size() == steps);
  // The diagnostic names the loop and the block at fault, for views of the current IR.
  const Diagnostic& d = failed.diagnostics()[0];
  CHECK(d.message() == "cannot apply `parallel` to `k`: it feeds `vk` of block `C`, which is not spatial");
  REQUIRE(d.node_ids.size() == 2);
  CHECK(sch.state().find(d.node_ids[0]).place->name() == "k");
  CHECK(sch.state().find(d.node_ids[1]).place->name() == "C");

  auto draw = [&] { return must(sch.call("sample_perfect_tile", {l[0], 4, 16})); };
  Schedule copy = sch;
  Value first = draw();
  CHECK_FALSE(copy.call("sample_perfect_tile", {l[0], 0, 16}).ok());
  auto numbers = [](Schedule& s, const Value& v) {
    std::vector<int64_t> out;
    for (ExprRV rv : exprs_of(v)) { out.push_back(s.get(rv).value()); }
    return out;
  };
  CHECK(numbers(copy, must(copy.call("sample_perfect_tile", {l[0], 4, 16}))) == numbers(sch, first));
}

TEST_CASE("a copy is an undo, and shares the unchanged parts") {
  Schedule sch(matmul());
  auto l = loops_of(must(sch.call("get_loops", {"C"})));
  Schedule before = sch;
  must(sch.call("split", {l[0], Value::List{nullptr, 8}}));
  CHECK_FALSE(sch.module().same_as(before.module()));
  CHECK(loops_of(must(before.call("get_loops", {"C"}))).size() == 3);
  CHECK(loops_of(must(sch.call("get_loops", {"C"}))).size() == 4);
  // The block below the new loops is a new node only if it uses the loop; its reads are the same array.
  const Place* a = before.get(blocks_of(must(before.call("get_block", {"C"})))[0]).value();
  const Place* b = sch.get(blocks_of(must(sch.call("get_block", {"C"})))[0]).value();
  CHECK(a->id == b->id);
  CHECK(a->block() == b->block());
}

TEST_CASE("variables stand for loops and blocks through rewrites, until they are gone") {
  Schedule sch(matmul());
  Value c = must(sch.call("get_block", {"C"}));
  auto l = loops_of(must(sch.call("get_loops", {c})));
  must(sch.call("reorder", {l[2], l[0]}));
  CHECK(sch.get(l[0]).value()->name() == "i");
  must(sch.call("split", {l[0], Value::List{nullptr, 8}}));
  CHECK(code_of(sch.call("unroll", {l[0]})) == Code::VariableGone);
  must(sch.call("unroll", {l[1]}));
  CHECK(sch.get(blocks_of(c)[0]).value()->name() == "C");
  Value init = must(sch.call("decompose_reduction", {c, loops_of(must(sch.call("get_loops", {c})))[0]}));
  CHECK(sch.get(blocks_of(init)[0]).value()->name() == "C_init");
  CHECK(sch.get(blocks_of(c)[0]).value()->name() == "C_update");
}

TEST_CASE("arguments are matched by name, defaults filled in, and mistakes reported") {
  Schedule sch(matmul());
  auto l = loops_of(must(sch.call("get_loops", {"C"})));
  must(sch.apply("split", Arguments{{l[0]}, {{"factors", Value::List{4, nullptr}}, {"disable_predication", true}}}));
  CHECK(code_of(sch.apply("split", Arguments{{l[1]}, {}})) == Code::MissingArgument);
  CHECK(code_of(sch.apply("split", Arguments{{l[1]}, {{"factor", 4}}})) == Code::UnexpectedArgument);
  CHECK(code_of(sch.apply("split", Arguments{{l[1], Value::List{4}}, {{"loop", l[1]}}})) == Code::DuplicateArgument);
  CHECK(code_of(sch.apply("split", Arguments{{"C", Value::List{4}}, {}})) == Code::ParameterKind);
  CHECK(code_of(sch.apply("spilt", Arguments{})) == Code::NoSuchPrimitive);
  CHECK(code_of(sch.call("get_block", {"D"})) == Code::NoSuchBlock);
  CHECK(find_primitive("split")->signature() == "split(loop, factors, preserve_unit_iters=True, disable_predication=False) -> loops");
  CHECK(find_primitive("reorder")->signature() == "reorder(*ordered_loops)");
}

TEST_CASE("a trace prints as TVM prints it and comes back from its JSON") {
  Schedule sch(matmul(), 1);
  Value c = must(sch.apply("get_block", Arguments{{"C"}, {{"func_name", "main"}}}));
  auto l = loops_of(must(sch.call("get_loops", {c})));
  auto v = exprs_of(must(sch.apply("sample_perfect_tile", Arguments{{l[0]}, {{"n", 2}, {"max_innermost_factor", 16}, {"decision", Value::List{8, 8}}}})));
  auto s = loops_of(must(sch.call("split", {l[0], Value::List{v[0], v[1]}})));
  must(sch.call("reorder", {s[0], l[1], s[1]}));
  must(sch.call("fuse", {s[0], l[1]}));
  must(sch.call("cache_read", {c, 0, "shared"}));
  must(sch.apply("sample_categorical", Arguments{{Value::List{0, 16}, Value::List{0.2, 0.8}}, {{"decision", 1}}}));
  must(sch.call("annotate", {c, "note", "x"}));
  must(sch.call("enter_postproc", {}));
  CHECK(sch.trace().python() ==
        "# from tvm import tir\n"
        "def apply_trace(sch: tir.Schedule) -> None:\n"
        "  b0 = sch.get_block(name=\"C\", func_name=\"main\")\n"
        "  l1, l2, l3 = sch.get_loops(block=b0)\n"
        "  v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[8, 8])\n"
        "  l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)\n"
        "  sch.reorder(l6, l2, l7)\n"
        "  l8 = sch.fuse(l6, l2, preserve_unit_iters=True)\n"
        "  b9 = sch.cache_read(block=b0, read_buffer_index=0, storage_scope=\"shared\")\n"
        "  v10 = sch.sample_categorical(candidates=[0, 16], probs=[0.20000000000000001, 0.80000000000000004], decision=1)\n"
        "  sch.annotate(block_or_loop=b0, ann_key=\"note\", ann_val=\"x\")\n"
        "  sch.enter_postproc()\n");
  std::string json = trace_to_json(sch.trace());
  CHECK(json ==
        R"([[["GetBlock",[],["C","main"],["b0"]],["GetLoops",["b0"],[],["l1","l2","l3"]],["SamplePerfectTile",["l1"],[2,16],["v4","v5"]],)"
        R"(["Split",["l1","v4","v5"],[1,0],["l6","l7"]],["Reorder",["l6","l2","l7"],[],[]],["Fuse",["l6","l2"],[1],["l8"]],)"
        R"(["CacheRead",["b0",[]],[0,"shared"],["b9"]],["SampleCategorical",[],[[0,16],[0.2,0.8]],["v10"]],)"
        R"(["Annotate",["b0","\"x\""],["note"],[]],["EnterPostproc",[],[],[]]],[[2,[8,8]],[7,1]]])");
  auto trace = trace_from_json(json);
  REQUIRE(trace.ok());
  Schedule again(matmul(), 2);
  REQUIRE(again.replay(*trace).ok());
  CHECK(structural_equal(again.module(), sch.module()));
  CHECK(print_script(again.module()) == print_script(sch.module()));
  CHECK(trace_to_json(again.trace()) == json);
  // Instructions without effect whose results are unused go away; so do all instructions behind the postprocessors' mark.
  CHECK(trace->simplified(true).size() == trace->size() - 2);
}

TEST_CASE("traces of other versions are read: missing attributes get their defaults, GetSBlock is GetBlock") {
  auto trace = trace_from_json(R"([[["GetSBlock",[],["C"],["b0"]],["GetLoops",["b0"],[],["l1","l2","l3"]],["Split",["l1","None",4],[],["l4","l5"]]],[]])");
  REQUIRE(trace.ok());
  Schedule sch(matmul());
  CHECK(sch.replay(*trace).ok());
  CHECK(loops_of(must(sch.call("get_loops", {"C"}))).size() == 4);
  CHECK(trace_to_json(sch.trace(), Dialect::SBlock).find("\"GetSBlock\"") != std::string::npos);
}

TEST_CASE("a text that is no trace is refused with a reason") {
  for (const char* text : {"", "{", "[]", "[[],[],[]]", "[[1],[]]", R"([[["Nothing",[],[],[]]],[]])", R"([[["GetLoops",[],[],[]]],[]])",
                           R"([[["GetBlock",[],["C","main",3],["b0"]]],[]])", R"([[],[[0,1]]])", R"([[["GetBlock",[],["C"],["x0"]]],[]])"}) {
    auto trace = trace_from_json(text);
    CHECK_FALSE(trace.ok());
  }
  auto used_early = trace_from_json(R"([[["GetLoops",["b0"],[],["l1"]]],[]])");
  REQUIRE_FALSE(used_early.ok());
  CHECK(used_early.diagnostics()[0].message().find("`b0` is used, and no instruction before gives it") != std::string::npos);
}

TEST_CASE("the stored facts of a state equal recomputed ones, through rewrites of all kinds") {
  Schedule sch(matmul());
  Value c = must(sch.call("get_block", {"C"}));
  Value out = must(sch.call("cache_write", {c, 0, "local"}));
  Value a = must(sch.call("cache_read", {c, 0, "global"}));
  auto check = [&] {
    const FuncState* func = sch.state().func("main");
    (void)func->stage_pipeline(func->root());
    for (const Place* block : func->child_blocks(func->root())) { (void)func->is_affine_binding(*block); }
    auto difference = func->verify_cached();
    INFO((difference ? *difference : std::string()));
    CHECK_FALSE(difference);
  };
  check();
  auto l = loops_of(must(sch.call("get_loops", {c})));
  auto i = loops_of(must(sch.call("split", {l[0], Value::List{nullptr, 8}})));
  check();
  must(sch.call("reverse_compute_at", {out, i[0]}));
  check();
  must(sch.call("compute_at", {a, i[0]}));
  check();
  must(sch.call("parallel", {i[0]}));
  check();
  CHECK(sch.state().func("main")->stage_pipeline(sch.state().func("main")->root()));
}

TEST_CASE("the stored facts of a scope of many blocks equal recomputed ones, wherever blocks move") {
  Schedule sch(long_chain(60));
  int accepted = 0, refused = 0;
  auto step = [&](const char* name, std::vector<Value> args) {
    Schedule before = sch;
    bool done = sch.call(name, std::move(args)).ok();
    ++(done ? accepted : refused);
    for (const Schedule* each : {&sch, &before}) {
      const FuncState* func = each->state().func("main");
      (void)func->stage_pipeline(func->root());
      auto difference = func->verify_cached();
      INFO(name << (difference ? ": " + *difference : std::string()));
      CHECK_FALSE(difference);
    }
  };
  auto loop = [&](const std::string& block) -> Value {
    auto loops = sch.call("get_loops", {block.c_str()});
    return loops.ok() && !loops_of(*loops).empty() ? Value(loops_of(*loops)[0]) : Value(int64_t{0});
  };
  for (int i = 0; i < 60; i += 7) {
    auto name = [&](int at) { return "B" + std::to_string(i + at); };
    step("cache_read", {name(1).c_str(), 0, "local"});
    step("compute_at", {name(0).c_str(), loop(name(1))});
    step("compute_inline", {name(2).c_str()});
    step("reverse_compute_at", {name(6).c_str(), loop(name(3))});   // reads results of blocks in between: refused
    step("split", {loop(name(4)), Value::List{nullptr, 4}});
    step("cache_write", {name(4).c_str(), 0, "global"});
    step("reverse_compute_inline", {name(5).c_str()});
    step("parallel", {loop(name(3))});
  }
  CHECK(accepted > 30);
  CHECK(refused > 5);
}

TEST_CASE("the stored facts of many dependent blocks equal recomputed ones, after any change of their statements") {
  std::mt19937 random(3);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<Buffer> buffers;
  for (int b = 0; b < 40; ++b) { buffers.push_back(make_buffer(Name("T" + std::to_string(b)), DataType::float_(32), Array<Expr>{int_imm(16)})); }
  // A block that reads anything, or declares no accesses, or reads undeclared elements.
  auto new_block = [&](NodeId id) {
    Var vi = var("vi");
    auto region = [&](const Buffer& x) { return BufferRegion{x, Array<Range>{point(vi)}, {}}; };
    Block::Fields f;
    f.name = Name("B");
    f.iter_vars = {IterVar{vi, from_zero(int_imm(16)), IterKind::Spatial, {}, {}}};
    std::vector<BufferRegion> reads;
    Expr value = float_imm(1);
    for (size_t k = below(3); k > 0; --k) {
      const Buffer& from = buffers[below(buffers.size())];
      value = value + Expr(make<BufferLoad>(from, Array<Expr>{Expr(vi)}));
      if (below(6) != 0) { reads.push_back(region(from)); }
    }
    const Buffer& to = buffers[below(buffers.size())];
    bool is_silent = below(10) == 0;
    if (!is_silent) {
      f.reads = std::move(reads);
      f.writes = {region(to)};
    }
    f.body = make<BufferStore>(to, value, Array<Expr>{Expr(vi)});
    return make<Block>(std::move(f), Origin(), id);
  };
  auto realized = [&](Ref<Block> block, const Var& i) { return Stmt(make<BlockRealize>(Array<Expr>{Expr(i)}, bool_imm(true), std::move(block))); };
  auto strand = [&](NodeId loop_id = 0, NodeId block_id = 0) {
    Var i = var("i");
    Stmt body = realized(new_block(block_id), i);
    if (below(5) == 0) { body = seq({body, realized(new_block(0), i)}, {}); }
    return Stmt(make<For>(i, int_imm(0), int_imm(16), ForKind::Serial, std::move(body), std::optional<IterVar>(), AttrMap(), Origin(), loop_id));
  };
  auto changed = [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    const auto* block = loop ? loop->body.as<BlockRealize>() : nullptr;
    if (!block) { return strand(); }
    switch (below(3)) {
      case 0: return strand(loop->id, block->block->id);      // the same iter vars access other elements
      case 1: return strand(0, block->block->id);
      default:                                                 // only the loop
        return Stmt(make<For>(loop->var, loop->min, loop->extent, ForKind::Parallel, loop->body, std::optional<IterVar>(), AttrMap(), Origin(), loop->id));
    }
  };
  std::vector<Stmt> all;
  for (int s = 0; s < 150; ++s) { all.push_back(strand()); }
  Block::Fields root;
  root.name = Name("root");
  root.alloc_buffers = std::vector<Buffer>(buffers.begin(), buffers.begin() + 30);
  root.body = make<SeqStmt>(Sequence<Stmt>(all));
  PrimFuncNode func;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> mapped;
  for (size_t b = 30; b < buffers.size(); ++b) {
    params.push_back(make<VarNode>(buffers[b]->name, DataType::handle()));
    mapped.emplace_back(params.back(), buffers[b]);
  }
  func.params = std::move(params);
  func.buffer_map = std::move(mapped);
  func.body = make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(root)));
  State state(module_of(make_func(std::move(func))));
  for (size_t step = 0; step < 400 / tests::stride(4); ++step) {
    const FuncState& before = *state.func("main");
    const Block& old = *before.root().block();
    auto fields = old.fields();
    Sequence<Stmt> list = fields.body.as<SeqStmt>()->seq;
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      size_t at = below(list.size());
      switch (below(6)) {
        case 0: { Stmt one = strand(); list = list.spliced(at, at, std::span(&one, 1)); break; }
        case 1: if (list.size() > 100) { list = list.spliced(at, at + 1, {}); } break;
        case 2: {                                              // moves to another place
          Stmt one = list[at];
          list = list.spliced(at, at + 1, {});
          size_t there = below(2) == 0 ? below(list.size()) : std::min(list.size(), at + below(4));
          list = list.spliced(there, there, std::span(&one, 1));
          break;
        }
        default: { Stmt one = changed(list[at]); list = list.spliced(at, at + 1, std::span(&one, 1)); }
      }
    }
    if (below(8) == 0 && fields.alloc_buffers.size() > 26) { size_t at = below(fields.alloc_buffers.size()); fields.alloc_buffers = fields.alloc_buffers.spliced(at, at + 1, {}); }
    if (below(8) == 0) {
      const Buffer& one = buffers[below(30)];
      if (std::find(fields.alloc_buffers.begin(), fields.alloc_buffers.end(), one) == fields.alloc_buffers.end()) { fields.alloc_buffers = fields.alloc_buffers.spliced(0, 0, std::span(&one, 1)); }
    }
    fields.body = make<SeqStmt>(list);
    Rewrite rewrite;
    rewrite.changes.push_back({old.id, make<Block>(std::move(fields), Origin(), old.id)});
    state = state.after("main", rewrite);
    if (below(3) == 0) { continue; }                           // this state gets no queries
    const FuncState& now = *state.func("main");
    const Place& scope = now.root();
    (void)now.stage_pipeline(scope);
    (void)now.output_blocks(scope);
    const Scope info = now.scope_info(scope);
    const Buffer& one = buffers[below(buffers.size())];
    std::vector<NodeId> mentioning, writers;
    for (const Place* place : now.mentioning(scope, one)) { mentioning.push_back(place->id); }
    for (const Place* block : now.child_blocks(scope)) {
      for (const BufferRegion& write : block->block()->writes) { if (write.buffer == one) { writers.push_back(block->id); } }
    }
    REQUIRE(info.writers(one.get()) == writers);
    REQUIRE(info.is_written(one.get()) == !writers.empty());
    REQUIRE(std::is_sorted(mentioning.begin(), mentioning.end(), [&](NodeId a, NodeId b) { return now.find(a)->index < now.find(b)->index; }));
    std::vector<const Place*> blocks = now.child_blocks(scope);
    NodeId src = blocks[below(blocks.size())]->id;
    std::vector<Dependence> expected;
    for (const Place* block : blocks) {
      for (const Dependence& d : info.of_dst(block->id)) { if (d.src == src) { expected.push_back(d); } }
    }
    REQUIRE(info.of_src(src) == expected);
    auto difference = now.verify_cached();
    INFO((difference ? *difference : std::string()));
    REQUIRE_FALSE(difference);
  }
}

TEST_CASE("a trace of hundreds of thousands of instructions goes away in no more stack than one of two") {
  const int count = tests::is_sanitized ? 100'000 : 500'000;
  Trace trace;
  for (int i = 0; i < count; ++i) { trace.append({find_primitive("enter_postproc"), {}, {}, {}, {}}); }
  Trace copy = trace;
  trace = {};
  CHECK(copy.size() == static_cast<size_t>(count));
}

TEST_CASE("every row has the fields that scripts, traces and help need") {
  std::set<std::string_view> names, kinds;
  for (const Primitive* row : all_primitives()) {
    INFO(std::string(row->name));
    CHECK_FALSE(row->help.empty());
    CHECK(names.insert(row->name).second);
    CHECK(kinds.insert(row->kind).second);
    CHECK(find_primitive(row->name) == row);
    CHECK(find_instruction(row->kind) == row);
    CHECK(bool(row->run));
  }
}

TEST_CASE("a block of a module of many functions is found in the one worked on") {
  IRModule one = matmul();
  IRModule module = with_function(one, "other", matmul(8, 8, 8)->find("main"));
  Schedule sch(module);
  CHECK(sch.func_working_on() == "main");
  must(sch.call("split", {loops_of(must(sch.call("get_loops", {"C"})))[0], Value::List{nullptr, 8}}));
  CHECK(sch.module()->find("other").same_as(module->find("other")));
  REQUIRE(sch.work_on("other").ok());
  auto l = loops_of(must(sch.call("get_loops", {"C"})));
  REQUIRE(l.size() == 3);
  must(sch.call("vectorize", {l[1]}));
  CHECK_FALSE(sch.module()->find("other").same_as(module->find("other")));
  CHECK_FALSE(sch.work_on("nobody").ok());
}

TEST_CASE("a draw is found again in other traces: drawn, decided, or written as the factors of a split") {
  auto with_split = [](int64_t outer, int64_t inner, int loop, bool draws) {
    Schedule sch(matmul(), 7);
    Value block = *sch.call("get_block", {Value("C")});
    if (loop < 0) { (void)sch.call("cache_write", {block, Value(int64_t{0}), Value("local")}); }
    std::vector<LoopRV> loops = loops_of(*sch.call("get_loops", {block}));
    Value of(loops[static_cast<size_t>(std::abs(loop))]);
    Value factors = draws ? *sch.apply("sample_perfect_tile", {{of, Value(int64_t{2}), Value(int64_t{64})}, {{"decision", Value(Value::List{outer, inner})}}}) : Value(Value::List{outer, inner});
    REQUIRE(sch.call("split", {of, factors}).ok());
    return sch.trace();
  };
  Trace here = with_split(8, 8, 0, true);
  const Instruction* drawn = nullptr;
  for (const Instruction* one : here.instructions()) { if (one->primitive->is_sampling) { drawn = one; } }
  REQUIRE(drawn != nullptr);
  auto draw = draw_of(here, *drawn);
  REQUIRE(draw);
  CHECK(draw->kind == "SamplePerfectTile");
  CHECK(draw->parts == 2);
  using Numbers = std::vector<int64_t>;
  CHECK(value_of(here, *draw) == Numbers{8, 8});
  CHECK(value_of(with_split(4, 16, 0, true), *draw) == Numbers{4, 16});
  CHECK(value_of(with_split(2, 32, 0, false), *draw) == Numbers{2, 32});
  // The draw does not apply to another loop, and survives JSON.
  CHECK(value_of(with_split(6, 8, 1, false), *draw).empty());
  auto read = trace_from_json(trace_to_json(with_split(2, 32, 0, false)));
  REQUIRE(read.ok());
  CHECK(value_of(*read, *draw) == Numbers{2, 32});
  // A planted optimum is found among a hundred trials: time grows with the distance from it.
  std::map<Numbers, double> best;
  for (int64_t trial = 0; trial < 100; ++trial) {
    int64_t inner = int64_t{1} << (trial % 7);
    auto value = value_of(with_split(64 / inner, inner, 0, trial % 2 == 0), *draw);
    double seconds = 1e-3 * (1 + std::abs(std::log2(static_cast<double>(inner)) - 4)) * (1 + 0.01 * static_cast<double>(trial % 5));
    best[value] = best.contains(value) ? std::min(best[value], seconds) : seconds;
  }
  CHECK(best.size() == 7);
  CHECK(std::min_element(best.begin(), best.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first == Numbers{4, 16});
}
