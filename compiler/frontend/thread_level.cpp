// Words of the thread-level language, their results, and their checks: see thread_level.h.
#include "frontend/thread_level.h"

#include <algorithm>
#include <string>

#include "frontend/functions/arguments.h"
#include "frontend/lowerer.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {
namespace {

constexpr ThreadEntry entries[] = {
    // -- the kernel and its indices
    {"device_entry", "(launch=None)", "begins the part of a program that runs on the device"},
    {"cta_id", "(extents)", "indices of the thread block, one for each extent of the grid"},
    {"cta_id_in_cluster", "(extents)", "indices of the thread block in its cluster"},
    {"cta_id_in_pair", "()", "index of the thread block in its pair"},
    {"cluster_id", "(extents)", "indices of the cluster in the grid"},
    {"warpgroup_id", "(extents)", "index of the group of four warps in its thread block"},
    {"warp_id", "(extents)", "index of the warp in its thread block"},
    {"warp_id_in_wg", "(extents)", "index of the warp in its group of four warps"},
    {"thread_id", "(extents)", "indices of the thread in its thread block"},
    {"thread_id_in_wg", "(extents)", "index of the thread in its group of four warps"},
    {"lane_id", "(extents)", "index of the thread in its warp"},
    {"scope_id", "(extents, parent, cur)", "indices of one execution scope in another"},
    {"elected", "()", "true in one thread of a warp"},
    {"thread_return", "()", "ends the thread"},
    {"selector", "(...)", "selects threads by a condition"},
    {"filter", "(var, condition)", "runs the body in the threads that fulfil a condition"},
    {"hint", "(message)", "passes a hint on to the compiler of the device"},
    {"static_assert", "(condition, message)", "refuses the program where the condition does not hold while it is read"},
    // -- machines
    {"cuda", "", "functions of CUDA: `T.cuda.cta_sync()`, `T.cuda.block_idx(\"x\")`"},
    {"ptx", "", "instructions of NVIDIA's PTX with their modifiers: `T.ptx.mbarrier.init(...)`, `T.ptx[\"cp.async.bulk...\"](...)`"},
    {"nvshmem", "", "functions of NVSHMEM, memory shared between GPUs"},
    {"webgpu", "", "functions of WebGPU"},
    {"metal", "", "functions of Metal"},
    {"nki", "", "functions of AWS Neuron kernels"},
    {"trn", "", "functions of AWS Trainium"},
    {"tmem", "", "tensor memory of NVIDIA GPUs"},
    {"smem", "", "shared memory"},
    // -- tiles: operations of several threads together
    {"tile", "", "operations on tiles; members name the scope: `T.tile.warp.copy(...)`"},
    {"cta", "", "operations on tiles by the threads of a thread block"},
    {"warp", "", "operations on tiles by the threads of a warp"},
    {"wg", "", "operations on tiles by four warps"},
    {"warpgroup", "", "operations on tiles by four warps"},
    {"thread", "", "operations on tiles by one thread"},
    {"cluster", "", "operations on tiles by a cluster of thread blocks"},
    {"kernel", "", "operations on tiles by the whole grid"},
    {"copy", "(dst, src, **config)", "copies a tile"},
    {"copy_async", "(dst, src, **config)", "begins to copy a tile"},
    {"gemm", "(D, A, B, C, transpose_A=False, transpose_B=False, alpha=1.0, beta=0.0)", "multiplies tiles"},
    {"gemm_async", "(C, A, B, **config)", "begins to multiply tiles"},
    {"permute_dims", "(buffer, order)", "permutes the dimensions of a tile"},
    {"permute_layout", "(dst, src, **config)", "copies a tile into another layout"},
    {"reduce_negate", "(...)", "negates the result of a reduction of tiles"},
    {"fill", "(dst, value)", "sets all elements of a tile"},
    {"memset", "(dst, value)", "sets all elements of a tile"},
    {"zero", "(dst)", "sets all elements of a tile to zero"},
    {"add", "(dst, a, b)", "adds tiles"},
    {"sub", "(dst, a, b)", "subtracts tiles"},
    {"mul", "(dst, a, b)", "multiplies the elements of tiles"},
    {"fdiv", "(dst, a, b)", "divides the elements of tiles"},
    {"maximum", "(dst, a, b)", "the larger of the elements of tiles"},
    {"minimum", "(dst, a, b)", "the smaller of the elements of tiles"},
    {"reciprocal", "(dst, src)", "reciprocals of the elements of a tile"},
    {"select", "(dst, a, b, condition)", "chooses elements of two tiles"},
    {"compose_op", "(...)", "several operations on tiles as one"},
    // -- layouts
    {"TileLayout", "(spec)", "a layout: where each element of a tile lies, in memory, lanes and warps"},
    {"ComposeLayout", "(per_element, swizzle_len, atom_len, tile_layout)", "a layout over a swizzle"},
    {"SwizzleLayout", "(per_element, swizzle_len, atom_len)", "a layout that spreads elements over the banks of shared memory"},
    {"Layout", "", "the class of layouts"},
    {"S", "[extents : strides]", "the part of a layout that distinguishes elements"},
    {"R", "[extents : strides]", "the part of a layout that repeats elements"},
    {"Iter", "(extent, stride, axis)", "one dimension of a layout"},
    {"ExecScope", "(name)", "an execution scope: thread, warp, warpgroup, cta, cluster, kernel"},
    {"ScopeIdDef", "(...)", "the definition of indices of an execution scope"},
    {"TensorMap", "", "a descriptor of a tensor for the copy engine of NVIDIA GPUs"},
    // -- memory
    {"SMEMPool", "(...)", "a pool that places buffers in shared memory"},
    {"TMEMPool", "(...)", "a pool that places buffers in tensor memory"},
    {"PoolAllocator", "(...)", "a pool that places buffers in one allocation"},
    {"alloc_scalar", "(dtype, scope)", "a variable that can be assigned to, in a memory of choice"},
    {"decl_scalar", "(dtype, data, scope, elem_offset)", "a variable that can be assigned to, in memory of a pool"},
    {"alloc_cast_frag", "(...)", "a fragment for a conversion of types"},
    {"alloc_tcgen05_ldst_frag", "(...)", "a fragment for loads from tensor memory"},
    {"wg_reg_tile", "(...)", "a tile in the registers of four warps"},
    {"ptr_byte_offset", "(pointer, offset, dtype)", "a pointer moved by bytes"},
    {"buffer_var", "(...)", "the variable of a buffer"},
    {"scalar_wrapper", "(...)", "a variable that can be assigned to, made from memory of one element"},
    {"add_to_parent", "(stmt)", "adds a statement to the program"},
    // -- kernels with parameters of Python
    {"jit", "(fn=None, **options)", "a kernel whose `T.constexpr` parameters are given by `.specialize(...)`"},
    {"Optional", "[annotation]", "a parameter of a `T.jit` kernel that may be absent"},
    {"meta_class", "(cls)", "a class of Python whose members are values of a program"},
    {"lookup_param", "(name)", "a parameter of the program, by its name"},
    {"call_kernel", "(kernel, grid, *args)", "calls a kernel of another language"},
    {"print_buffer", "(buffer, ...)", "prints a buffer while the kernel runs"},
    {"register_script_namespace", "(...)", "adds names to `T`"},
    {"arg", "(name, value)", "a parameter of the program"},
    {"Tuple", "(*types)", "the type of several values together"},
    {"CallEffectKind", "", "the kinds of effects of a call"},
    {"ProducerLoad", "", "a load of the producer of an operator"},
    {"cooperative_tensor_fill", "(...)", "sets the elements of a matrix of a SIMD group"},
    {"cooperative_tensor_load", "(...)", "loads a matrix of a SIMD group"},
    {"cooperative_tensor_store", "(...)", "stores a matrix of a SIMD group"},
    {"cooperative_tensor_multiply_accumulate", "(...)", "multiplies matrices of a SIMD group"},
};

// Functions that return one index for each extent, or a single index if they have no extents.
constexpr std::string_view indices[] = {"cta_id", "cta_id_in_cluster", "cta_id_in_pair", "cluster_id", "warpgroup_id", "warp_id", "warp_id_in_wg", "thread_id",
                                        "thread_id_in_wg", "lane_id"};
// Classes: a call makes a value, also outside of programs.
auto is_class(std::string_view name) -> bool { return !name.empty() && name[0] >= 'A' && name[0] <= 'Z'; }

auto last_part(std::string_view path) -> std::string_view { return path.substr(path.rfind('.') + 1); }

auto fresh_index(Origin where) -> Value { return make_object<ExprObject>(Expr(make<VarNode>(Name(), DataType::int_(32), where))); }

// `bx, by = T.cta_id([8, 4])`: as many indices as extents.
auto indices_of(Evaluator& e, const Arguments& a) -> Value {
  if (a.positional == 0) { return fresh_index(a.call); }
  const auto* extents = a.all[0].value.items();
  if (!extents) { return fresh_index(a.call); }
  if (extents->empty()) { return wrong_type(e, a.all[0], "at least one extent"); }
  for (const Value& extent : *extents) {
    if (extent.is_unknown()) { continue; }
    Expr size = to_integer(e, {extent, a.all[0].where, {}});
    if (!size) { return Value::error(); }
  }
  if (extents->size() == 1) { return fresh_index(a.call); }
  std::vector<Value> out;
  for (size_t i = 0; i < extents->size(); ++i) { out.push_back(fresh_index(a.call)); }
  return Value::tuple(std::move(out));
}

}  // namespace

const eval::TypeTag ThreadWord::type_tag{"a word of the thread-level language"};

auto thread_entries() -> std::span<const ThreadEntry> { return entries; }
auto find_thread_entry(std::string_view name) -> const ThreadEntry* {
  const auto* found = std::find_if(std::begin(entries), std::end(entries), [&](const ThreadEntry& entry) { return entry.name == name; });
  return found == std::end(entries) ? nullptr : found;
}

auto thread_word(std::string_view path) -> Value { return make_object<ThreadWord>(Name(path)); }
auto thread_member(Name name) -> std::optional<Value> {
  return find_thread_entry(name.view()) ? std::optional(thread_word("T." + name.str())) : std::nullopt;
}

void note_thread_level(Evaluator& e, std::string_view word, Origin where) {
  if (Lowerer* lowerer = Lowerer::of(e)) { lowerer->use_thread_level(word, where); }
}

auto ThreadWord::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  note_thread_level(e, path.view(), a.call);
  std::string_view name = last_part(path.view());
  bool is_member_of_t = path.view().size() == name.size() + 2 && path.view().starts_with("T.");
  if (is_member_of_t && std::find(std::begin(indices), std::end(indices), name) != std::end(indices)) { return indices_of(e, a); }
  if (is_class(name)) { return thread_word(path.view()); }
  if (name == "block_idx" || name == "thread_idx") { return fresh_index(a.call); }
  // The results of all other functions are unknown; many return none.
  return Lowerer::of(e) ? Value::opaque() : thread_word(path.view());
}

auto ThreadWord::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> { return thread_word(path.str() + "." + name.str()); }

auto ThreadWord::get_item(Evaluator&, const std::vector<Argument>&, bool, Origin) const -> std::optional<Value> { return thread_word(path.view()); }

auto ThreadWord::binary(Evaluator& e, syntax::BinaryOp, const Argument&, const Argument&, bool, Origin where) const -> std::optional<Value> {
  note_thread_level(e, path.view(), where);
  return thread_word(path.view());
}
auto ThreadWord::compare(Evaluator& e, syntax::CompareOp, const Argument&, const Argument&, bool, Origin where) const -> std::optional<Value> {
  note_thread_level(e, path.view(), where);
  return Value::opaque();
}

}  // namespace loopsmith::frontend
