// The example of a primitive among other blocks and functions: see crowd.h. Other blocks are inserted as statements, not as text, so that the
// calls of the example still find its own blocks.
#include "tests/bench/crowd.h"

#include <map>

#include <fmt/format.h>

#include "frontend/file.h"
#include "ir/ir.h"
#include "ir/ops.h"
#include "script/schedules.h"
#include "support/codes.h"
#include "syntax/document.h"

namespace loopsmith::bench {
namespace {

auto indented(std::string_view text) -> std::string {
  std::string out = "    ";
  for (char c : text) {
    out += c;
    if (c == '\n') { out += "    "; }
  }
  return out + "\n";
}

// A chain of element-wise blocks on their own buffers. Parsing thousands of lines takes long, so each length is parsed once.
auto fillers(int count) -> PrimFunc {
  static std::map<int, PrimFunc> known;
  if (PrimFunc& found = known[count]; found) { return found; }
  std::string text = "@T.prim_func\ndef fillers(a: T.int32):\n";
  for (int b = 0; b < count; ++b) { text += fmt::format("    F{} = T.alloc_buffer((64,))\n", b); }
  for (int b = 0; b < count; ++b) {
    text += fmt::format("    for i in range(64):\n        with T.block(\"filler_{0}\"):\n            vi = T.axis.spatial(64, i)\n            F{0}[vi] = {1}\n", b,
                        b == 0 ? "T.float32(1)" : fmt::format("F{}[vi] + T.float32(1)", b - 1));
  }
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  for (size_t i = 0; i < file.size(); ++i) {
    if (const IRModule& module = file.declaration(i).module) { return known[count] = module->functions.front().second; }
  }
  return {};
}

auto statements_of(const Stmt& body) -> std::vector<Stmt> {
  const auto* list = body.as<SeqStmt>();
  return list ? list->seq.to_vector() : std::vector<Stmt>{body};
}

// The function with half of the fillers in front of its statements, and half behind.
auto among(const PrimFunc& func, int count) -> PrimFunc {
  const Block* root = root_block(func);
  PrimFunc crowd = fillers(count);
  if (!root || !crowd) { return {}; }
  auto fields = root->fields();
  std::vector<Stmt> others = statements_of(root_block(crowd)->body), own = statements_of(fields.body), all;
  auto half = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  all.insert(all.end(), others.begin(), half);
  all.insert(all.end(), own.begin(), own.end());
  all.insert(all.end(), half, others.end());
  fields.body = seq(std::move(all), root->origin);
  std::vector<Buffer> buffers = fields.alloc_buffers.to_vector();
  for (const Buffer& buffer : root_block(crowd)->alloc_buffers) { buffers.push_back(buffer); }
  fields.alloc_buffers = std::move(buffers);
  const auto* realize = func->body.as<BlockRealize>();
  return with_body(func, make<BlockRealize>(realize->iter_values, realize->predicate, make<Block>(std::move(fields), root->origin, root->id), realize->origin));
}

}  // namespace

auto Step::fresh() const -> schedule::Schedule {
  schedule::Schedule out = base;
  (void)out.call("split", {filler, schedule::Value::List{nullptr, 8}});
  return out;
}

auto Step::run(schedule::Schedule& on) const -> bool { return on.apply_values(*primitive, values, decision).ok(); }

auto step_among(const schedule::Primitive& primitive, int blocks, int functions) -> Result<Step> {
  auto fail = [&](std::string what) { return error(Code::Internal).arg("what", fmt::format("{}: {}", primitive.name, what)); };
  // Running the script resolves its names; the resulting trace can be replayed.
  std::string text = std::string(primitive.example_program) + "\n@ls.schedule(main)\ndef s(sch: tir.Schedule) -> None:\n" + indented(primitive.example_calls);
  syntax::Document document(text);
  frontend::File file(script::predeclared);
  file.update(document);
  script::Schedules schedules;
  schedules.update(file);
  schedules.run_all(file, {});
  if (schedules.all().size() != 1 || !schedules.all()[0].run || !schedules.all()[0].run->result) { return fail("its example does not run"); }
  const schedule::Schedule& done = *schedules.all()[0].run->result;

  IRModule module = schedules.all()[0].program;
  Name main = done.func_working_on();
  PrimFunc crowded = among(module->find(main), blocks);
  if (!crowded) { return fail("its example has no root block"); }
  module = with_function(module, main, crowded);
  PrimFunc other = fillers(1);
  for (int f = 0; f < functions; ++f) { module = with_function(module, Name(fmt::format("other_{}", f)), with_body(other, schedule::renumber(other->body))); }

  schedule::Schedule base(module, 1);
  schedule::Trace before;
  std::vector<const schedule::Instruction*> instructions = done.trace().instructions();
  size_t at = instructions.size();
  while (at > 0 && instructions[at - 1]->primitive != &primitive) { --at; }
  if (at == 0) { return fail("its example does not call it"); }
  --at;
  for (size_t i = 0; i < at; ++i) { before.append(*instructions[i]); }
  base.use_intrinsics(done.intrinsics());
  if (auto status = base.replay(before); !status.ok()) { return status.diagnostics(); }
  // Called last, so that the variables of the example keep their numbers.
  auto filler = base.call("get_block", {fmt::format("filler_{}", blocks / 2 + 1)});
  if (!filler.ok()) { return filler.diagnostics(); }
  auto loops = base.call("get_loops", {*filler});
  if (!loops.ok()) { return loops.diagnostics(); }
  Step out{.primitive = &primitive, .base = base, .values = instructions[at]->values, .decision = instructions[at]->decision, .filler = schedule::loops_of(*loops)[0]};
  schedule::Schedule once = out.fresh();
  auto first = out.base.apply_values(primitive, out.values, out.decision);
  if (!first.ok()) { return first.diagnostics(); }
  out.base = base;
  return out;
}

}  // namespace loopsmith::bench
