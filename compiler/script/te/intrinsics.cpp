// Declared intrinsics as programs: see intrinsics.h.
#include "script/te/intrinsics.h"

#include <algorithm>

#include "ir/equal.h"
#include "ir/externals.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::te {
namespace {

using expressions::DeclaredIntrinsic;

// The function that the first call in the statements runs, by which a person knows the intrinsic; empty: they call none.
auto called_first(const Stmt& statements) -> std::string {
  std::string out;
  post_order(
      statements,
      [&](const Stmt& s) {
        const auto* evaluated = s.as<Evaluate>();
        const auto* call = evaluated && out.empty() ? evaluated->value.as<Call>() : nullptr;
        if (!call) { return; }
        const std::string_view external = external_name(*call);
        out = external.empty() ? call->op.str() : std::string(external);
      },
      [](const Expr&) {});
  return out;
}

auto name_of(const DeclaredIntrinsic& declared, IntrinsicPart part) -> Name {
  const std::string called = declared.parts.has_name ? std::string() : called_first(statements_of(declared, part));
  if (!called.empty()) { return Name(called); }
  return Name(declared.name.str() + (part == IntrinsicPart::Reset ? "_reset" : part == IntrinsicPart::Update ? "_update" : ""));
}

struct Region { Array<BufferRegion> reads, writes; };

auto with_root(const std::vector<Buffer>& buffers, Region region, Stmt body, Origin where) -> PrimFunc {
  static const Name root("root");
  PrimFuncNode func;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Buffer& buffer : buffers) {
    params.push_back(make<VarNode>(Name("var_" + buffer->name.str()), DataType::handle(), where));
    map.emplace_back(params.back(), buffer);
  }
  func.params = std::move(params);
  func.buffer_map = std::move(map);
  Block::Fields fields;
  fields.name = root;
  fields.reads = std::move(region.reads);
  fields.writes = std::move(region.writes);
  fields.body = std::move(body);
  func.body = make<BlockRealize>(Array<Expr>{}, bool_imm(true, where), make<Block>(std::move(fields), where), where);
  func.origin = where;
  return make_func(std::move(func));
}

// The buffers of a part: a reset has no inputs.
auto buffers_of(const DeclaredIntrinsic& declared, IntrinsicPart part) -> std::vector<Buffer> {
  const std::vector<Buffer>& all = declared.parts.buffers;
  const size_t inputs = all.size() - declared.parts.description.operations.back().op->outputs.size();
  return {all.begin() + static_cast<std::ptrdiff_t>(part == IntrinsicPart::Reset ? inputs : 0), all.end()};
}

// The operation as one block.
auto blockized(const DeclaredIntrinsic& declared) -> Result<Ref<BlockRealize>> {
  schedule::Schedule sch(declared.parts.description.module, 1);
  const Name block = declared.parts.description.operations.back().blocks.front();
  LOOPSMITH_TRY(loops, sch.call("get_loops", {block.str()}));
  LOOPSMITH_TRY(outer, sch.call("blockize", {schedule::loops_of(loops).front()}));
  LOOPSMITH_TRY(place, sch.get(*outer.as<schedule::BlockRV>()));
  return Ref<BlockRealize>(place->realize);
}

auto description_of(const DeclaredIntrinsic& declared, IntrinsicPart part) -> Result<PrimFunc> {
  LOOPSMITH_TRY(realize, blockized(declared));
  const Block& block = *realize->block;
  VarMap values;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) { values.emplace(block.iter_vars[i].var.get(), realize->iter_values[i]); }
  const bool is_reset = part == IntrinsicPart::Reset;
  // The buffers in the memories of the instruction, in the place of those of the program.
  const PrimFunc& program = declared.parts.description.module->functions.front().second;
  const std::vector<Buffer> given = buffers_of(declared, part);
  std::vector<Buffer> made;
  BufferMap map;
  for (size_t i = 0; i < given.size(); ++i) {
    BufferNode fields = *given[i];
    fields.strides = {};
    fields.data = make<VarNode>(fields.name, DataType::handle(), fields.origin, PointerType{fields.dtype, given[i]->scope()});
    fields.elem_offset = make<VarNode>(Name(fields.name.str() + "_elem_offset"), DataType::int_(32), fields.origin);
    made.push_back(make_buffer(std::move(fields)));
    map.emplace(program->buffer_map[program->buffer_map.size() - given.size() + i].second.get(), made.back());
  }
  auto placed = [&](const Array<BufferRegion>& regions) {
    std::vector<BufferRegion> out;
    for (const BufferRegion& one : regions) {
      std::vector<Range> ranges;
      for (const Range& range : one.region) { ranges.push_back(substitute(range, values)); }
      out.push_back({map.at(one.buffer.get()), Array<Range>(std::move(ranges)), one.origin});
    }
    return Array<BufferRegion>(std::move(out));
  };
  Region region{is_reset ? Array<BufferRegion>() : placed(block.reads), placed(block.writes)};
  Stmt body = substitute_buffers(substitute(is_reset ? block.init : block.body, values), map);
  return with_root(made, std::move(region), std::move(body), declared.parts.description.operations.back().op->where);
}

auto implementation_of(const DeclaredIntrinsic& declared, IntrinsicPart part) -> PrimFunc {
  const std::vector<Buffer> buffers = buffers_of(declared, part);
  const size_t outputs = declared.parts.description.operations.back().op->outputs.size();
  std::vector<BufferRegion> reads, writes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool is_output = i + outputs >= buffers.size();
    if (is_output) { writes.push_back(full_region(buffers[i])); }
    if (!is_output || part == IntrinsicPart::Update) { reads.push_back(full_region(buffers[i])); }
  }
  return with_root(buffers, {std::move(reads), std::move(writes)}, statements_of(declared, part), declared.parts.description.operations.back().op->where);
}

}  // namespace

auto statements_of(const DeclaredIntrinsic& declared, IntrinsicPart part) -> const Stmt& {
  return part == IntrinsicPart::Body ? declared.parts.body : part == IntrinsicPart::Reset ? declared.parts.reset : declared.parts.update;
}

auto to_tensor_intrin(const DeclaredIntrinsic& declared, IntrinsicPart part) -> Result<schedule::TensorIntrin> {
  LOOPSMITH_TRY(description, description_of(declared, part));
  schedule::TensorIntrin out{name_of(declared, part), std::move(description), implementation_of(declared, part)};
  if (auto why = schedule::why_no_intrinsic(out.description, out.implementation)) {
    return error(Code::IntrinsicForm, declared.parts.description.operations.back().op->where).arg("name", out.name.view()).arg("reason", why->text());
  }
  return out;
}

auto with_functions_of(const frontend::CSource& source, const PrimFunc& implementation) -> PrimFunc {
  std::optional<frontend::CProblem> problem;
  Stmt body = source.expand(implementation->body, problem);
  if (body.same_as(implementation->body)) { return implementation; }
  PrimFuncNode fields = *implementation;
  fields.body = std::move(body);
  return make_func(std::move(fields));
}

auto register_intrinsic(schedule::Schedule& schedule, schedule::TensorIntrin intrinsic) -> Name {
  const auto& known = schedule.intrinsics();
  std::vector<schedule::TensorIntrin> all = known ? *known : std::vector<schedule::TensorIntrin>();
  const Name wanted = intrinsic.name;
  for (int number = 2;; ++number) {
    auto same = std::find_if(all.begin(), all.end(), [&](const schedule::TensorIntrin& one) { return one.name == intrinsic.name; });
    if (same != all.end() && structural_equal(same->description, intrinsic.description) && structural_equal(same->implementation, intrinsic.implementation)) { return intrinsic.name; }
    const auto* builtin = schedule::builtin_intrinsics();
    if (same == all.end() && (!builtin || !builtin->find(intrinsic.name))) { break; }
    intrinsic.name = Name(wanted.str() + "_" + std::to_string(number));
  }
  const Name name = intrinsic.name;
  all.push_back(std::move(intrinsic));
  schedule.use_intrinsics(std::make_shared<const std::vector<schedule::TensorIntrin>>(std::move(all)));
  return name;
}

}  // namespace loopsmith::script::te
