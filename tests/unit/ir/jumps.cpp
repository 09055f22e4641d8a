// Jumps: the loop or function that each leaves, and the stores that are certain to happen after it.
#include "ir/jumps.h"

#include <set>

#include "../catch.h"
#include "ir/follow.h"
#include "ir/ops.h"
#include "ir/scratch.h"

using namespace loopsmith;

namespace {

auto loop(const Var& v, int64_t extent, Stmt body, ForKind kind = ForKind::Serial) -> Stmt {
  return make<For>(v, int_imm(0), int_imm(extent), kind, std::move(body), std::optional<IterVar>(), AttrMap());
}
auto store(const Buffer& buffer, Expr at, Expr value) -> Stmt { return make<BufferStore>(buffer, std::move(value), Array<Expr>{std::move(at)}); }
auto load(const Buffer& buffer, Expr at) -> Expr { return make<BufferLoad>(buffer, Array<Expr>{std::move(at)}); }
auto when(Expr condition, Stmt then) -> Stmt { return make<IfThenElse>(std::move(condition), std::move(then), Stmt()); }
auto ints(const char* name, int64_t size) -> Buffer { return make_buffer(Name(name), DataType::int_(32), Array<Expr>{int_imm(size)}, "global"); }

class Certain : public Follower {
 public:
  std::set<int64_t> stored;

 protected:
  void store(const Buffer&, const Element& at, bool certain) override { if (certain) { stored.insert(at[0]); } }
};
auto certain_in(const Stmt& stmt) -> std::set<int64_t> {
  Certain out;
  REQUIRE(out.follow(stmt));
  return out.stored;
}

}  // namespace

TEST_CASE("a jump leaves the statements around it up to its loop") {
  Var i = var("i"), j = var("j");
  Stmt breaks = make<Break>(), returns = make<Evaluate>(make<Call>(DataType::int_(32), Name("ret"), Array<Expr>{int_imm(0)}));
  Buffer a = ints("a", 8);
  CHECK(jumps_out_of(when(less(Expr(i), int_imm(2)), breaks)).breaks != nullptr);
  CHECK_FALSE(jumps_out_of(loop(j, 4, breaks)).any());
  CHECK(jumps_out_of(loop(j, 4, returns)).returns != nullptr);
  CHECK_FALSE(loop_jumps_out_of(loop(j, 4, returns)).any());
  CHECK(loop_jumps_out_of(seq({store(a, int_imm(0), int_imm(1)), Stmt(make<Continue>())})).continues != nullptr);
  CHECK(unordered_jumps(loop(i, 4, breaks, ForKind::Parallel)).size() == 1);
  CHECK(unordered_jumps(loop(i, 4, make<Continue>(), ForKind::Parallel)).empty());
  CHECK(unordered_jumps(loop(i, 4, make<Continue>(), ForKind::Vectorized)).size() == 1);
  CHECK(unordered_jumps(loop(i, 4, loop(j, 4, breaks), ForKind::Parallel)).empty());
}

TEST_CASE("no store is certain behind a jump that may be made") {
  Var i = var("i");
  Buffer a = ints("a", 8), b = ints("b", 8);
  Expr known = equal(Expr(i), int_imm(2)), unknown = less(load(b, i), int_imm(0));
  CHECK(certain_in(loop(i, 4, seq({when(known, make<Break>()), store(a, i, int_imm(1))}))) == std::set<int64_t>{0, 1});
  CHECK(certain_in(loop(i, 4, seq({when(known, make<Continue>()), store(a, i, int_imm(1))}))) == std::set<int64_t>{0, 1, 3});
  CHECK(certain_in(loop(i, 4, seq({when(unknown, make<Continue>()), store(a, i, int_imm(1))}))).empty());
  CHECK(certain_in(loop(i, 4, seq({store(a, i, int_imm(1)), when(unknown, make<Continue>())}))) == std::set<int64_t>{0, 1, 2, 3});
  CHECK(certain_in(loop(i, 4, seq({store(a, i, int_imm(1)), when(unknown, make<Break>())}))) == std::set<int64_t>{0});
  Stmt behind = seq({loop(i, 4, seq({when(unknown, make<Break>()), store(a, i, int_imm(1))})), store(a, int_imm(7), int_imm(1))});
  CHECK(certain_in(behind) == std::set<int64_t>{7});
}

TEST_CASE("scratch memory is stored before it is loaded, in each iteration") {
  Var i = var("i"), j = var("j");
  Buffer x = ints("x", 8), a = ints("a", 64);
  auto use = [&](Stmt body) { return scratch_use(*loop(i, 1 << 20, std::move(body), ForKind::Parallel).as<For>(), x->data.get()); };
  ScratchUse element = use(seq({store(x, int_imm(0), load(a, i)), store(a, i, load(x, int_imm(0)))}));
  CHECK(element.is_scratch);
  CHECK(element.is_shared);
  CHECK_FALSE(use(seq({store(a, i, load(x, int_imm(0))), store(x, int_imm(0), load(a, i))})).is_scratch);
  CHECK(use(seq({loop(j, 8, store(x, j, load(a, i))), loop(j, 8, store(a, i, load(x, sub(int_imm(7), Expr(j)))))})).is_scratch);
  CHECK_FALSE(use(seq({loop(j, 7, store(x, j, load(a, i))), loop(j, 8, store(a, i, load(x, j)))})).is_scratch);
  CHECK_FALSE(use(seq({when(less(load(a, i), int_imm(0)), store(x, int_imm(0), int_imm(1))), store(a, i, load(x, int_imm(0)))})).is_scratch);
  ScratchUse own = use(seq({store(x, i, load(a, i)), store(a, i, load(x, i))}));
  CHECK(own.is_scratch);
  CHECK_FALSE(own.is_shared);
}
