// The order of additions: schedules that keep it, and schedules that do not.
#include "tune/space/order.h"

#include <string>

#include "frontend/file.h"
#include "schedule/schedule.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::tune;
using schedule::Value;

namespace {

constexpr const char* sum_over_two = R"(
@T.prim_func
def main(A: T.Buffer((16, 8, 12), "DTYPE"), C: T.Buffer((16,), "DTYPE")):
    for i, j, k in T.grid(16, 8, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                C[vi] = INIT
            C[vi] = VALUE
)";

auto program(const std::string& dtype, const std::string& init, const std::string& value) -> IRModule {
  std::string text = sum_over_two;
  auto replace = [&](const std::string& word, const std::string& by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word)) { text.replace(at, word.size(), by); }
  };
  replace("DTYPE", dtype);
  replace("INIT", init);
  replace("VALUE", value);
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  const frontend::Declaration* found = file.find(Name("main"));
  REQUIRE((found && found->module));
  return found->module;
}

auto real_sum() -> IRModule { return program("float32", "T.float32(0)", "C[vi] + A[vi, vj, vk]"); }

struct Steps {
  explicit Steps(const IRModule& written) : module(written), sch(written, 1) {
    block = must(sch.call("get_block", {Value(std::string("C"))}));
    loops = schedule::loops_of(must(sch.call("get_loops", {block})));
  }
  static auto must(Result<Value> result) -> Value {
    REQUIRE(result.ok());
    return *result;
  }
  auto split(size_t loop, int64_t inner) -> std::vector<schedule::LoopRV> {
    return schedule::loops_of(must(sch.call("split", {loops[loop], Value(Value::List{Value(), Value(inner)})})));
  }
  void reorder(const std::vector<schedule::LoopRV>& order) {
    std::vector<Value> values(order.begin(), order.end());
    (void)must(sch.call("reorder", {Value(std::move(values))}));
  }
  [[nodiscard]] auto why() const -> std::string { return why_order_changes(module, sch.module(), Name("main")); }
  IRModule module;
  schedule::Schedule sch;
  Value block;
  std::vector<schedule::LoopRV> loops;
};

}  // namespace

TEST_CASE("splits, and tiles of spatial loops inside a reduction, keep the order of additions") {
  Steps steps(real_sum());
  CHECK(steps.why() == "");
  auto i = steps.split(0, 4);
  auto k = steps.split(2, 4);
  steps.reorder({i[0], steps.loops[1], k[0], k[1], i[1]});
  CHECK(steps.why() == "");
  (void)Steps::must(steps.sch.call("vectorize", {i[1]}));
  (void)Steps::must(steps.sch.call("parallel", {i[0]}));
  (void)Steps::must(steps.sch.call("unroll", {k[1]}));
  CHECK(steps.why() == "");
  (void)Steps::must(steps.sch.call("decompose_reduction", {steps.block, steps.loops[1]}));
  CHECK(steps.why() == "");
}

TEST_CASE("a split with a rest keeps the order") {
  Steps steps(real_sum());
  (void)steps.split(2, 5);
  CHECK(steps.why() == "");
}

TEST_CASE("exchanged reduction loops add in another order") {
  Steps steps(real_sum());
  steps.reorder({steps.loops[0], steps.loops[2], steps.loops[1]});
  CHECK(steps.why() == "the loops of `C` add in another order");
}

TEST_CASE("a tile of two reduction loops adds in another order, a tile of the inner one alone does not") {
  Steps steps(real_sum());
  auto j = steps.split(1, 2);
  auto k = steps.split(2, 3);
  CHECK(steps.why() == "");
  steps.reorder({j[0], k[0], j[1], k[1]});
  CHECK(steps.why() == "the loops of `C` add in another order");
}

TEST_CASE("a tile of one reduction loop around itself, outer part inside, adds in another order") {
  Steps steps(real_sum());
  auto k = steps.split(2, 3);
  steps.reorder({k[1], k[0]});
  CHECK(!steps.why().empty());
}

TEST_CASE("rfactor makes partial sums") {
  Steps steps(real_sum());
  (void)Steps::must(steps.sch.call("rfactor", {steps.loops[2], Value(int64_t{0})}));
  CHECK(!steps.why().empty());
}

TEST_CASE("integers and maxima may be taken in any order") {
  for (const IRModule& module : {program("int32", "0", "C[vi] + A[vi, vj, vk]"), program("float32", "T.min_value(\"float32\")", "T.max(C[vi], A[vi, vj, vk])")}) {
    Steps steps(module);
    steps.reorder({steps.loops[0], steps.loops[2], steps.loops[1]});
    CHECK(steps.why() == "");
  }
}
