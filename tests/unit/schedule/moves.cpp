// Legal moves are accepted when tried; repairs work; a reported pair of iterations really conflicts when the
// program is run. On random states of small programs; for a long run: LOOPSMITH_STATES=500 unit_schedule_moves.
#include "schedule/moves.h"

#include <cstdlib>

#include <fmt/format.h>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "schedule/examples.h"
#include "schedule/explain.h"
#include "schedule/extent_text.h"
#include "schedule/legality.h"
#include "support/codes.h"
#include "support/hash.h"
#include "syntax/document.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::schedule;

namespace {

// A primitive without legality rules of its own.
struct Planted {
  struct Args { PlaceArg place; };
  struct Plan {};
  static auto check(const Context&, const Args&) -> Result<Plan> { return Plan{}; }
  static auto apply(const Context&, const Args&, const Plan&) -> Outcome { return {}; }
};
template <class... Claims>
concept MakesRow = requires(Claims... claims) { primitive<Planted>("planted", "Planted", "does nothing", claims...); };
static_assert(!MakesRow<>, "a row without its effects must not compile: no program would refuse it");
static_assert(MakesRow<Effects>);

// The block `outer` does not declare the accesses of the block inside it; the last statement belongs to no block.
constexpr std::string_view hiding = R"(@T.prim_func
def main(A: T.Buffer((17,), "float32"), B: T.Buffer((17,), "float32")):
    for i in range(16):
        with T.block("outer"):
            vi = T.axis.spatial(16, i)
            T.reads()
            T.writes()
            with T.block("inner"):
                vj = T.axis.spatial(16, vi)
                A[vj + 1] = A[vj] * T.float32(2)
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            B[vj] = T.float32(1)
        B[j + 1] = T.float32(2)
)";

// Two stages in one loop; the second reads elements that an earlier iteration wrote.
constexpr std::string_view shifted = R"(@T.prim_func
def main(A: T.Buffer((16,), "float32"), D: T.Buffer((15,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)
        for j in range(1):
            with T.block("D"):
                vj = T.axis.spatial(15, i - 1)
                T.where(1 <= i)
                D[vj] = B[vj] * T.float32(2)
)";

auto parse(std::string_view text) -> IRModule {
  syntax::Document document{std::string(text)};
  frontend::File file;
  file.update(document);
  for (const Diagnostic& d : file.diagnostics()) { FAIL(d.message()); }
  for (size_t i = 0; i < file.size(); ++i) {
    if (file.declaration(i).module) { return file.declaration(i).module; }
  }
  FAIL("no program");
  return {};
}

struct Random {
  uint64_t state = 1;
  auto below(size_t n) -> size_t { return static_cast<size_t>((state = hash_combine(state, 0x51ed)) >> 8) % n; }
};

auto states_wanted() -> size_t {
  const char* text = std::getenv("LOOPSMITH_STATES");
  return text ? static_cast<size_t>(std::strtoul(text, nullptr, 10)) : 40 / tests::stride(4);
}

// Visits random states: `visit(schedule, func)`.
template <class F>
void each_state(const F& visit) {
  // First the program with the most conflicts, since sanitizers test few states.
  const std::string_view programs[] = {shifted, examples::two_stages, examples::matmul_relu, examples::matmul, examples::matmul_bias, examples::scale};
  const char* seed = std::getenv("LOOPSMITH_SEED");
  Random random{seed ? std::strtoull(seed, nullptr, 10) : 1};
  size_t seen = 0;
  for (size_t walk = 0; seen < states_wanted(); ++walk) {
    Schedule sch(parse(programs[walk % std::size(programs)]), 1);
    for (int step = 0; step < 6 && seen < states_wanted(); ++step) {
      const FuncState& func = *sch.state().func("main");
      visit(sch, func);
      ++seen;
      const Place& focus = func.places()[random.below(func.places().size())];
      std::vector<Move> legal;
      for (JudgedMove& judged : moves_at(sch.state(), func, focus)) {
        if (judged.is_legal() && !judged.move.primitive->name.starts_with("unsafe_")) { legal.push_back(std::move(judged.move)); }
      }
      if (legal.empty()) { continue; }
      (void)apply_move(sch, legal[random.below(legal.size())]);
    }
  }
}

}  // namespace

TEST_CASE("legal moves are those that are accepted when tried", "[moves]") {
  size_t accepted = 0, refused = 0;
  each_state([&](const Schedule& sch, const FuncState& func) {
    for (const Place& focus : func.places()) {
      for (const JudgedMove& judged : moves_at(sch.state(), func, focus)) {
        Schedule fork = sch;
        auto tried = apply_move(fork, judged.move);
        INFO(text_of(func, judged.move));
        INFO(print_script(sch.module()));
        INFO((tried.ok() ? std::string("accepted") : tried.diagnostics()[0].message()));
        REQUIRE(tried.ok() == judged.is_legal());
        (tried.ok() ? accepted : refused) += 1;
        if (!tried.ok()) { REQUIRE(fork.module().same_as(sch.module())); }
      }
    }
  });
  // The test found moves.
  CHECK(accepted > 500 / tests::stride(4));
  CHECK(refused > 200 / tests::stride(4));
}

TEST_CASE("a primitive is marked as legal where some call of it is accepted, and nowhere else", "[moves]") {
  size_t legal = 0, refused = 0;
  each_state([&](const Schedule& sch, const FuncState& func) {
    for (const Primitive* primitive : all_primitives()) {
      if (primitive->is_pure) { continue; }
      std::string accepted;
      size_t tried = 0;
      for (const Place& focus : func.places()) {
        if (focus.parent < 0) { continue; }
        for (const Move& move : candidate_moves(sch.state(), func, focus, *primitive)) {
          ++tried;
          Schedule fork = sch;
          if (accepted.empty() && apply_move(fork, move).ok()) { accepted = text_of(func, move); }
        }
      }
      Legality legality = legality_of(sch, *primitive, {});
      // More candidates than a list shows.
      if (legality.verdict == Legality::Verdict::Unknown && tried > 200) { continue; }
      INFO(primitive->name << ": " << accepted << "\n" << print_script(sch.module()));
      REQUIRE((legality.verdict == Legality::Verdict::Legal) == !accepted.empty());
      (accepted.empty() ? refused : legal) += 1;
    }
  });
  CHECK(legal > 200 / tests::stride(4));
  CHECK(refused > 100 / tests::stride(4));
}

TEST_CASE("repairs work, and pairs of iterations conflict", "[moves]") {
  size_t steps = 0, repairs = 0, conflicts = 0;
  each_state([&](const Schedule& sch, const FuncState& func) {
    size_t here = 0;
    for (const Place& focus : func.places()) {
      for (const JudgedMove& judged : moves_at(sch.state(), func, focus)) {
        if (judged.is_legal() || here++ > 12) { continue; }
        Schedule with_variables = sch;
        auto values = look_up(with_variables, func, judged.move.values);
        REQUIRE(values.ok());
        Explanation found = explain(with_variables, *judged.move.primitive, *values, judged.why);
        ++steps;
        INFO(text_of(func, judged.move) + "\n" + judged.why[0].message() + "\n" + print_script(sch.module()));
        CHECK(found.repairs.size() <= 3);
        for (const Repair& repair : found.repairs) {
          ++repairs;
          INFO(repair.text());
          Schedule fork = with_variables;
          REQUIRE(apply_move(fork, repair.move).ok());
          if (!repair.before.empty()) { REQUIRE(fork.apply_values(*judged.move.primitive, *values).ok()); }
        }
        if (!found.conflict) { continue; }
        ++conflicts;
        INFO(found.conflict->text);
        // Both instances run in that order, and both access the element.
        auto inputs = interp::make_inputs(sch.module()->functions[0].second, 1, interp::Contents::SmallIntegers);
        REQUIRE(inputs.ok());
        size_t order = 0, first_at = 0, second_at = 0;
        interp::Options options;
        options.only = [&](const Block& block, std::span<const int64_t> iters) {
          ++order;
          auto is = [&](const Conflict::Instance& x) { return block.id == x.block && std::equal(iters.begin(), iters.end(), x.iters.begin(), x.iters.end()); };
          if (is(found.conflict->first) && first_at == 0) { first_at = order; }
          if (is(found.conflict->second)) { second_at = order; }
          return true;
        };
        REQUIRE(interp::interpret(sch.module(), "main", inputs->arguments, options).ok());
        REQUIRE(first_at > 0);
        REQUIRE(second_at > first_at);
        for (const Conflict::Instance* x : {&found.conflict->first, &found.conflict->second}) {
          const Block& block = *func.find(x->block)->block();
          Valuation at;
          for (size_t i = 0; i < x->iters.size(); ++i) { at.emplace_back(block.iter_vars[i].var.get(), x->iters[i]); }
          bool touches = false;
          for (const BufferRegion& region : x->writes ? block.writes : block.reads) {
            if (region.buffer.get() != found.conflict->buffer) { continue; }
            bool inside = true;
            for (size_t d = 0; d < region.region.size(); ++d) {
              auto min = evaluate_integer(region.region[d].min, at);
              auto extent = evaluate_integer(region.region[d].extent, at);
              if (!min || !extent) { continue; }   // depends on an outer block
              inside &= *min <= found.conflict->element[d] && found.conflict->element[d] < *min + *extent;
            }
            touches |= inside;
          }
          REQUIRE(touches);
        }
      }
    }
  });
  CHECK(steps > 100 / tests::stride(4));
  CHECK(repairs > 25 / tests::stride(4));
  CHECK(conflicts > 5 / tests::stride(4));
}

TEST_CASE("the effects of a row decide about accesses that its check cannot see", "[moves]") {
  Schedule sch(parse(hiding), 1);
  auto first_loop = [&](const char* block) { return Value(loops_of(*sch.call("get_loops", {*sch.call("get_block", {block})}))[0]); };
  auto answer = [&](const Value& place, Effects effects) {
    const Primitive row = primitive<Planted>("planted", "Planted", "does nothing", effects).input("place", &Planted::Args::place);
    Schedule tried = sch.fork();
    auto done = tried.apply(row, Arguments{{place}, {}});
    return done.ok() ? std::string("ok") : std::string(code_id(done.diagnostics()[0].code));
  };
  const Value i = first_loop("outer"), j = first_loop("C"), outer = *sch.call("get_block", {"outer"});
  CHECK(answer(i, {Order::Changed, Hidden::Harmless}) == "ok");
  CHECK(answer(i, {Order::Changed, Hidden::ReordersIterations}) == "hidden-accesses");
  CHECK(answer(i, {Order::Changed, Hidden::GathersBelow}) == "hidden-accesses");
  CHECK(answer(outer, {Order::Changed, Hidden::Harmless}) == "ok");
  CHECK(answer(outer, {Order::Changed, Hidden::MovesBlock}) == "hidden-accesses");
  CHECK(answer(outer, {Order::Changed, Hidden::ReordersIterations}) == "hidden-accesses");
  CHECK(answer(j, no_effects) == "ok");
  CHECK(answer(j, {Order::Kept, Hidden::Harmless}) == "ok");
  CHECK(answer(j, {Order::Changed, Hidden::Harmless}) == "control-flow");
}

TEST_CASE("a dependence is shown by one pair of iterations", "[moves]") {
  Schedule sch(parse(shifted), 1);
  auto block = sch.call("get_block", {"D"});
  REQUIRE(block.ok());
  auto loops = sch.call("get_loops", {*block});
  REQUIRE(loops.ok());
  Value i = loops_of(*loops)[0];
  auto refused = sch.call("parallel", {i});
  REQUIRE_FALSE(refused.ok());
  Explanation found = explain(sch, *find_primitive("parallel"), {i}, refused.diagnostics());
  REQUIRE(found.conflict);
  CHECK(found.verdict == Verdict::Illegal);
  CHECK(found.conflict->text == "`D` at i=1 reads `B[0]`, which `B` writes at i=0");
}

TEST_CASE("repairs change a second argument, or do it by another primitive", "[moves]") {
  Schedule sch(parse(examples::matmul_relu), 1);
  auto repairs_of = [&](std::string_view primitive, std::vector<Value> values) {
    const Primitive& row = *find_primitive(primitive);
    for (size_t i = values.size(); i < row.params.size(); ++i) { values.push_back(row.params[i].otherwise.value_or(Value())); }
    auto refused = sch.apply_values(row, values);
    REQUIRE_FALSE(refused.ok());
    std::vector<std::string> out;
    for (const Repair& repair : explain(sch, row, values, refused.diagnostics()).repairs) {
      out.push_back(repair.before.empty() ? repair.instead : repair.before + " first");
      Schedule fork = sch;
      REQUIRE(apply_move(fork, repair.move).ok());
      if (!repair.before.empty()) { REQUIRE(fork.apply_values(row, values).ok()); }
    }
    return out;
  };
  auto has = [](const std::vector<std::string>& all, std::string_view wanted) { return std::find(all.begin(), all.end(), wanted) != all.end(); };
  Value root = *sch.call("get_block", {"root"}), c = *sch.call("get_block", {"C"}), d = *sch.call("get_block", {"D"});
  auto loops = loops_of(*sch.call("get_loops", {c}));
  // A reduction is not inlined; it runs under its consumer's loop.
  CHECK(has(repairs_of("compute_inline", {c}), "sch.compute_at(\"C\", sch.get_loops(\"D\")[1])"));
  // A parameter is in the memory of the caller; a copy of it may be elsewhere.
  CHECK(has(repairs_of("set_scope", {d, 0, "shared"}), "sch.cache_write(\"D\", write_buffer_index=0, storage_scope=\"shared\")"));
  CHECK(has(repairs_of("unsafe_set_dtype", {d, 0, "float16"}), "sch.cache_write(\"D\", write_buffer_index=0, storage_scope=\"global\") first"));
  // The loop that is named twice, named once.
  CHECK(has(repairs_of("reorder", {Value(Value::List{loops[1], loops[0], loops[1]})}), "sch.reorder(sch.get_loops(\"C\")[1], sch.get_loops(\"C\")[0])"));
  // One number is the inner factor.
  CHECK(repairs_of("split", {loops[0], 8}).front() == "sch.split(sch.get_loops(\"C\")[0], factors=[None, 8])");
  // Blocks in place of the one around them; an existing buffer and an existing axis.
  CHECK_FALSE(repairs_of("cache_write", {root, 0, "shared"}).empty());
  CHECK_FALSE(repairs_of("storage_align", {c, 3, 7, 32, 8}).empty());
}

TEST_CASE("a reduction's loop names both updates, and offers a loop that works", "[moves]") {
  Schedule sch(parse(examples::matmul), 1);
  auto block = sch.call("get_block", {"C"});
  auto loops = loops_of(*sch.call("get_loops", {*block}));
  auto refused = sch.call("parallel", {loops[2]});
  REQUIRE_FALSE(refused.ok());
  Explanation found = explain(sch, *find_primitive("parallel"), {loops[2]}, refused.diagnostics());
  REQUIRE(found.conflict);
  CHECK(found.conflict->text == "`C` at k=0 and at k=1 both update `C[0, 0]`");
  REQUIRE_FALSE(found.repairs.empty());
  CHECK(found.repairs[0].instead == "sch.parallel(sch.get_loops(\"C\")[1])");
}

TEST_CASE("advice names nothing that the program has already, and nothing for another kind of machine") {
  Schedule sch(parse(R"(@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    C = T.alloc_buffer((64, 64), scope="local")
    for i in T.parallel(64):
        for j in T.vectorized(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
    for x, y in T.grid(64, 64):
        with T.block("B"):
            vx, vy = T.axis.remap("SS", [x, y])
            B[vx, vy] = C[vx, vy] * T.float32(2)
)"));
  const FuncState& func = *sch.state().func(Name("main"));
  auto offered = [&](bool is_device) {
    std::string out;
    for (const Place& place : func.places()) {
      if (place.parent < 0) { continue; }
      for (const JudgedMove& judged : moves_at(sch.state(), func, place)) {
        if (judged.is_legal() && is_worth_offering(func, judged.move, is_device)) { out += text_of(func, judged.move) + "\n"; }
      }
    }
    return out;
  };
  std::string here = offered(false), device = offered(true);
  auto has = [](const std::string& all, const std::string& one) { return all.find(one) != std::string::npos; };
  CHECK(has(here, "sch.parallel(sch.get_loops(\"B\")[0])"));
  CHECK(!has(here, "sch.parallel(sch.get_loops(\"C\")[0])"));
  CHECK(!has(here, "sch.vectorize(sch.get_loops(\"C\")[1])"));
  CHECK(!has(here, "sch.cache_write(\"C\", write_buffer_index=0, storage_scope=\"local\")"));
  CHECK(has(here, "sch.cache_write(\"B\", write_buffer_index=0, storage_scope=\"local\")"));
  for (const char* word : {"sch.bind", "\"shared\"", "threadIdx"}) { CHECK(!has(here, word)); }
  CHECK(has(device, "\"shared\""));
  CHECK(!has(device, "sch.parallel"));
}

TEST_CASE("extents of 64 bits read like those of 32") {
  Var n = var("n", DataType::int_(64));
  CHECK(extent_text(int_imm(16, DataType::int_(64))) == "16");
  CHECK(extent_text(mul(Expr(n), int_imm(4, DataType::int_(64)))) == "n * 4");
}
