// Builds and runs small flat kernels, for tests of code generation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/ir.h"
#include "ir/ops.h"
#include "runtime/jit.h"
#include "tests/unit/catch.h"

namespace loopsmith::test {

using runtime::Tensor;

inline auto buffer(const char* name, DataType t, std::vector<Expr> shape) -> Buffer { return make_buffer(name, t, Array<Expr>(std::move(shape))); }
inline auto buffer(const char* name, DataType t, int64_t count) -> Buffer { return buffer(name, t, std::vector<Expr>{int_imm(count)}); }
inline auto at(const Buffer& b, Expr index, Expr predicate = {}) -> Expr { return make<BufferLoad>(b, Array<Expr>{std::move(index)}, Origin{}, std::move(predicate)); }
inline auto put(const Buffer& b, Expr index, Expr value, Expr predicate = {}) -> Stmt {
  return make<BufferStore>(b, std::move(value), Array<Expr>{std::move(index)}, Origin{}, std::move(predicate));
}
inline auto loop(const Var& v, Expr extent, Stmt body, ForKind kind = ForKind::Serial) -> Stmt {
  return make<For>(v, int_imm(0), std::move(extent), kind, std::move(body));
}
inline auto loop(const Var& v, int64_t extent, Stmt body, ForKind kind = ForKind::Serial) -> Stmt { return loop(v, int_imm(extent), std::move(body), kind); }
inline auto ramp(Expr base, int lanes, int64_t stride = 1) -> Expr { return make<Ramp>(std::move(base), int_imm(stride), int_imm(lanes)); }
inline auto splat(Expr value, int lanes) -> Expr { return make<Broadcast>(std::move(value), int_imm(lanes)); }
inline auto intrinsic(DataType t, const char* op, std::vector<Expr> args) -> Expr { return make<Call>(t, Name(op), Array<Expr>(std::move(args))); }

/// A function of buffers, in order, and scalars after them.
inline auto function(const std::vector<Buffer>& buffers, Stmt body, const std::vector<Var>& scalars = {}) -> PrimFunc {
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Buffer& b : buffers) {
    params.push_back(var(b->name.str() + "_handle", DataType::handle()));
    map.emplace_back(params.back(), b);
  }
  params.insert(params.end(), scalars.begin(), scalars.end());
  PrimFuncNode fields;
  fields.params = Array<Var>(params);
  fields.buffer_map = Array<std::pair<Var, Buffer>>(map);
  fields.body = std::move(body);
  return make_func(std::move(fields));
}

inline auto text_of(const Diagnostics& diagnostics) -> std::string {
  std::string out;
  for (const Diagnostic& d : diagnostics) { out += d.message() + "\n"; }
  return out;
}

inline auto compiled(const PrimFunc& func, const codegen::CodegenOptions& options = {}) -> runtime::JitModule {
  auto module = runtime::JitModule::compile(module_of(func), target::host(), options);
  if (!module.ok()) { FAIL(text_of(module.diagnostics())); }
  return std::move(module).value();
}

inline void run(const runtime::JitModule& module, std::vector<runtime::Value> arguments) {
  auto status = runtime::call(module.functions().front(), arguments);
  if (!status.ok()) { FAIL(text_of(status.diagnostics())); }
}
inline void run(const PrimFunc& func, std::vector<runtime::Value> arguments, const codegen::CodegenOptions& options = {}) {
  run(compiled(func, options), std::move(arguments));
}

inline auto random(DataType t, std::vector<int64_t> shape, uint64_t seed, runtime::Fill fill = runtime::Fill::Normal) -> Tensor {
  auto out = Tensor::random(t, std::move(shape), seed, fill);
  REQUIRE(out.ok());
  return std::move(out).value();
}
inline auto zeros(DataType t, std::vector<int64_t> shape) -> Tensor {
  auto out = Tensor::zeros(t, std::move(shape));
  REQUIRE(out.ok());
  return std::move(out).value();
}

constexpr DataType f32 = DataType::float_(32);
constexpr DataType f64 = DataType::float_(64);
constexpr DataType f16 = DataType::float_(16);
constexpr DataType bf16 = DataType::bfloat16();
constexpr DataType i8 = DataType::int_(8);
constexpr DataType u8 = DataType::uint(8);
constexpr DataType i32 = DataType::int_(32);
constexpr DataType i64 = DataType::int_(64);

}  // namespace loopsmith::test
