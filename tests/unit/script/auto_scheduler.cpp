// Records of TVM's auto-scheduler: steps of each kind, applied to the tasks of its tutorials. The trace of a record gives the same results as the program.
#include <string>

#include "tests/unit/script/task_session.h"

using namespace loopsmith;
using script::auto_scheduler::Step;
using tests::conv2d_layer;
using tests::matmul_add;
using tests::require_right;
using Session = tests::TaskSession;

namespace {

using List = std::vector<int64_t>;

auto refusal(Session& session, const std::vector<Step>& steps) -> std::string {
  auto applied = script::auto_scheduler::apply_steps(session.file, session.tasks[0], steps, {"log.json", 3});
  REQUIRE(!applied.ok());
  return applied.diagnostics()[0].message();
}

// The sketch of TVM for a product on processors: tiles of two levels, and the sum computed in the tile.
const std::vector<Step> tiled = {
    {"SP", {2, 0, 16, List{4, 2, 2}, 1}}, {"SP", {2, 4, 16, List{2, 2, 4}, 1}}, {"SP", {2, 8, 32, List{4}, 1}}, {"RE", {2, List{0, 4, 1, 5, 8, 2, 6, 9, 3, 7}}},
    {"FSP", {4, 0, 0, 2}}, {"FSP", {4, 3, 1, 2}}, {"RE", {4, List{0, 3, 1, 4, 2, 5}}}, {"CA", {2, 4, 3}}, {"FU", {4, List{0, 1, 2, 3}}}, {"AN", {4, 0, 3}},
    {"PR", {2, 0, std::string("auto_unroll_max_step$64")}}, {"AN", {2, 9, 2}}, {"AN", {4, 2, 2}}};

}  // namespace

TEST_CASE("a task is a program", "[auto_scheduler]") {
  Session session(matmul_add);
  REQUIRE(session.tasks[0].variable == "task");
  REQUIRE(session.tasks[0].workload == "matmul_add");
  bool is_program = false;
  for (size_t i = 0; i < session.file.size(); ++i) { is_program |= session.file.declaration(i).is_program && session.file.declaration(i).item->name == "task"; }
  REQUIRE(is_program);
}

TEST_CASE("a task for a device has its target", "[auto_scheduler]") {
  std::string text = matmul_add;
  const std::string own = "tvm.target.Target(\"llvm\")";
  text.replace(text.find(own), own.size(), "tvm.target.Target(\"cuda\")");
  for (const std::string& one : {text, std::string(text).replace(text.find("target=target"), 13, "target=\"cuda\"")}) {
    Session session(one);
    for (size_t i = 0; i < session.file.size(); ++i) {
      const auto& declaration = session.file.declaration(i);
      if (declaration.is_program) { REQUIRE(print_script(declaration.module).find("T.target(") != std::string::npos); }
    }
  }
}

TEST_CASE("the steps of a tiled product", "[auto_scheduler]") {
  Session session(matmul_add);
  std::string text = require_right(session, tiled);
  REQUIRE(text.find("T.parallel(") != std::string::npos);
  REQUIRE(text.find("pragma_auto_unroll_max_step") != std::string::npos);
  REQUIRE(text.find("T.vectorized(") != std::string::npos);
}

TEST_CASE("steps that add stages shift the numbers of the others", "[auto_scheduler]") {
  Session session(matmul_add);
  // A copy for writing: stage 2 is the copy's source then, 3 the product's copy, 5 the sum.
  require_right(session, {{"CHW", {2, std::string("local")}}, {"SP", {3, 0, 16, List{4}, 1}}, {"CA", {2, 3, 0}}, {"AN", {5, 0, 3}}});
  // A copy of B for reading, behind B: the product has the number 3.
  require_right(session, {{"CHR", {1, std::string("shared"), List{2}}}, {"SP", {3, 0, 16, List{4}, 1}}, {"CA", {2, 3, 0}}});
  // Partial sums.
  require_right(session, {{"SP", {2, 2, 32, List{4}, 1}}, {"RF", {2, 3, 2}}, {"AN", {2, 0, 3}}, {"CR", {2}}});
}

TEST_CASE("splits that follow the product of several", "[auto_scheduler]") {
  Session session(matmul_add);
  require_right(session, {{"SP", {2, 0, 16, List{4, 2}, 1}}, {"SP", {2, 3, 16, List{2, 2}, 1}}, {"FU", {4, List{0, 1}}}, {"FFSP", {4, 0, List{0, 1}, 1, 1}}, {"AN", {4, 1, 1}}});
}

TEST_CASE("the convolution with a bias and a linear unit", "[auto_scheduler]") {
  Session session(conv2d_layer);
  // Stages: data, pad_temp, kernel, conv2d_nchw, bias, T_add, compute.
  std::string text = require_right(session, {{"CI", {5}}, {"CI", {1}}, {"SP", {3, 1, 8, List{4}, 1}}, {"FSP", {6, 1, 2, 1}}, {"CA", {3, 6, 1}}, {"AN", {6, 1, 3}}});
  REQUIRE(text.find("T.parallel(2)") != std::string::npos);
}

TEST_CASE("steps that do not fit their task", "[auto_scheduler]") {
  Session session(matmul_add);
  REQUIRE(refusal(session, {{"SP", {7, 0, 16, List{4}, 1}}}) == "cannot apply record 3 of `log.json`: step 1, `SP 7 0 16 [4] 1`: no stage has the number 7; the task has 5 stages then");
  REQUIRE(refusal(session, {{"SP", {2, 5, 16, List{4}, 1}}}) == "cannot apply record 3 of `log.json`: step 1, `SP 2 5 16 [4] 1`: stage `matmul` has no axis 5; it has 3 axes then");
  REQUIRE(refusal(session, {{"SP", {2, 0, 128, List{4}, 1}}}).find("the record splits an axis of extent 128, and `i` of stage `matmul` has 16") != std::string::npos);
  REQUIRE(refusal(session, {{"XX", {2}}}).find("no step has this kind") != std::string::npos);
  REQUIRE(refusal(session, {{"FSP", {4, 0, 0, 1}}}).find("step 1 is not an earlier split") != std::string::npos);
  REQUIRE(refusal(session, {{"SP", {2, 0}}}).find("argument 4 must be a list of numbers") != std::string::npos);
  REQUIRE(refusal(session, {{"CI", {4}}}).find("it is an output of the schedule") != std::string::npos);
}
