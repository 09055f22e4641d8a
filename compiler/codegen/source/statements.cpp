// Prints statements, names and types of kernels as C: see printer.h.
#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>

#include "codegen/source/printer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/saturate.h"

namespace loopsmith::codegen {
namespace {

/// Words of C, CUDA C and OpenCL C, and functions that kernels call.
constexpr std::string_view reserved[] = {
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long",
    "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm", "class",
    "delete", "new", "operator", "private", "public", "protected", "template", "this", "true", "false", "try", "catch", "throw", "namespace", "using", "virtual", "friend",
    "mutable", "typename", "explicit", "export", "and", "or", "not", "xor", "kernel", "global", "local", "constant", "half", "uint", "uchar", "ushort", "ulong", "barrier", "main",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "min", "max", "abs", "exp", "log", "sqrt", "floor", "ceil", "pow", "fabs", "sin", "cos", "tan", "erf", "tanh", "step",
    "mix", "dot", "cross", "length", "distance", "clamp", "sign", "select", "all", "any", "image", "event_t", "size_t", "y0", "y1", "j0", "j1", "yn", "jn", "round", "trunc", "rint", "gamma"};

auto identifier(std::string_view name) -> std::string {
  std::string out;
  for (char c : name) { out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_'; }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) { out = "v" + out; }
  if (std::find(std::begin(reserved), std::end(reserved), out) != std::end(reserved) || out.starts_with("ls_") || out.starts_with("__")) { out = "v_" + out; }
  return out;
}

/// A string literal of C.
auto c_string(std::string_view text) -> std::string {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') { out += '\\'; }
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

/// True for integers that are a multiple of n for all values of their variables.
auto is_multiple(const Expr& e, int64_t n) -> bool {
  if (auto v = as_int(e)) { return *v % n == 0; }
  switch (e.kind()) {
    case NodeKind::Add: case NodeKind::Sub: {
      const auto& b = *static_cast<const BinaryNode*>(e.get());
      return is_multiple(b.a, n) && is_multiple(b.b, n);
    }
    case NodeKind::Mul: {
      const auto& b = *e.as<Mul>();
      return is_multiple(b.a, n) || is_multiple(b.b, n);
    }
    case NodeKind::Cast: return is_multiple(e.as<Cast>()->value, n);
    default: return false;
  }
}

}  // namespace

auto is_kernel(const PrimFunc& func) -> bool {
  const Attr* convention = find_attr(func->attrs, Name("calling_conv"));
  return convention != nullptr && convention->expr() && is_int(convention->expr(), 2);
}

auto kernel_source(const IRModule& module, SourceDialect dialect, const SourceOptions& options) -> Result<std::string> {
  SourcePrinter printer(dialect, options);
  // Collects pragmas from host functions too, since they stay where they were written.
  std::set<std::string> sources;
  for (const auto& [name, func] : module->functions) {
    post_order(
        func->body,
        [&](const Stmt& s) {
          const auto* n = s.as<AttrStmt>();
          const auto* text = n && n->key == "pragma_import_c" ? n->value.as<StringImm>() : nullptr;
          if (text && sources.insert(text->value).second) { printer.add_source(text->value, n->origin); }
        },
        [](const Expr&) {});
  }
  for (const auto& [name, func] : module->functions) {
    if (!is_kernel(func)) { continue; }
    std::string symbol = symbol_of(name, func);
    printer.print(func, symbol);
    if (const auto& failure = printer.failure()) {
      return error(Code::CannotEmit, failure->origin).arg("what", failure->what).arg("function", symbol).arg("target", dialect_of(dialect).name).arg("reason", failure->why.text());
    }
  }
  return printer.text();
}

auto SourcePrinter::text() const -> std::string {
  std::string out;
  if (kind_ == SourceDialect::OpenCl && needs_double_) { out += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"; }
  return out + prelude_text({needed_.begin(), needed_.end()}, kind_) + made_ + constants_ + kernels_;
}

void SourcePrinter::add_source(const std::string& text, const Origin& origin) {
  if (auto found = options_.locate ? options_.locate(origin) : std::nullopt) { constants_ += fmt::format("#line {} \"{}\"\n", found->line, found->file); }
  constants_ += text + (text.ends_with('\n') ? "" : "\n");
}

namespace {

/// The types of elements that a kernel loads from global memory which it also writes. Where NVIDIA's compilers (of CUDA 13 and OpenCL) see a choice between such a load
/// and one from `__restrict__` memory that is only read, they load from the address that the condition selects, through the cache that misses the kernel's own stores.
/// They find such choices also where a store is forwarded to a load, so that only the types tell that there is none.
auto types_loaded_and_stored(const Stmt& body, const std::unordered_set<const VarNode*>& written) -> std::vector<DataType> {
  std::vector<DataType> out;
  post_order(body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    const bool is_global = load && memory_family(load->buffer->scope().view()).value_or(MemoryFamily::Global) == MemoryFamily::Global;
    if (is_global && written.contains(load->buffer->data.get())) { out.push_back(load->buffer->dtype.element()); }
  });
  return out;
}

}  // namespace

void SourcePrinter::print(const PrimFunc& kernel, const std::string& name) {
  body_.clear();
  shared_.clear();
  names_.clear();
  taken_.clear();
  elements_.clear();
  spaces_.clear();
  nonnegative_.clear();
  lets_.clear();
  loaded_.clear();
  threads_.clear();
  fragments_.clear();
  passed_.clear();
  find_fragments(kernel->body);
  shared_offset_ = kind_ == SourceDialect::Cuda && requested_shared_bytes(kernel) > 0 ? 0 : -1;
  last_place_ = {};
  depth_ = 1;
  const Attr* no_alias = find_attr(kernel->attrs, Name("tir.noalias"));
  const bool restricted = !no_alias || !no_alias->expr() || !is_zero(no_alias->expr());
  std::unordered_set<const VarNode*> written;
  post_order(
      kernel->body,
      [&](const Stmt& s) {
        if (const auto* store = s.as<BufferStore>()) { written.insert(store->buffer->data.get()); }
        if (const auto* view = s.as<DeclBuffer>()) { elements_.emplace(view->buffer->data.get(), view->buffer->dtype.element()); }
      },
      [&](const Expr& e) {
        // Code that receives a pointer may store through it.
        const auto* c = e.as<Call>();
        if (!c) { return; }
        for (const Expr& arg : c->args) {
          if (const auto* v = arg.as<VarNode>()) { written.insert(v); passed_.insert(v); }
          if (const auto* element = arg.as<BufferLoad>(); element && c->op == "address_of") { written.insert(element->buffer->data.get()); }
        }
      });
  const std::vector<DataType> stored = types_loaded_and_stored(kernel->body, written);
  std::string parameters;
  for (const Var& p : kernel->params) {
    std::string parameter;
    if (p->dtype.is_handle()) {
      DataType element = elements_.contains(p.get()) ? elements_.at(p.get()) : p->pointer ? p->pointer->element.element() : DataType::uint(8);
      elements_.emplace(p.get(), element);
      spaces_[p.get()] = std::string(dialect_.global_memory);
      const bool is_mixed = std::any_of(stored.begin(), stored.end(), [&](DataType t) { return memory_type(t, p->origin) == memory_type(element, p->origin); });
      const bool is_plain = !restricted || (!written.contains(p.get()) && is_mixed);
      parameter = fmt::format("{}{}{}* {}{}", dialect_.global_memory, written.contains(p.get()) ? "" : "const ", memory_type(element, p->origin), is_plain ? "" : dialect_.restrict_word, name_of(*p));
    } else {
      // OpenCL C has no parameters of kernels of type bool.
      const bool is_byte = p->dtype.is_bool() && kind_ == SourceDialect::OpenCl;
      parameter = fmt::format("{} {}", is_byte ? memory_type(p->dtype, p->origin) : value_type(p->dtype, p->origin), name_of(*p));
    }
    parameters += (parameters.empty() ? "" : ", ") + parameter;
  }
  statement(kernel->body);
  int64_t count = 1;
  bool is_constant = true;
  for (const auto& [tag, extent] : threads_) {
    if (extent) { count *= *extent; } else { is_constant = false; }
  }
  std::string bounds;
  if (is_constant) {
    if (kind_ == SourceDialect::Cuda) {
      // A bound below a warp gains nothing, and lets the compiler take a block for a single thread. On an H100, three such kernels gave results that their PTX does not have.
      constexpr int64_t warp = 32;
      bounds = fmt::format(" __launch_bounds__({})", std::max(count, warp));
    } else {
      int64_t sizes[3] = {1, 1, 1};
      for (const auto& [tag, extent] : threads_) { sizes[tag.back() - 'x'] = *extent; }
      bounds = fmt::format(" __attribute__((reqd_work_group_size({}, {}, {})))", sizes[0], sizes[1], sizes[2]);
    }
  }
  // OpenCL puts the attribute before `void`, CUDA puts the bounds behind it.
  std::string head = kind_ == SourceDialect::Cuda ? fmt::format("{}{} {}", dialect_.kernel, bounds, name) : fmt::format("__kernel{} void {}", bounds, name);
  kernels_ += fmt::format("{}{}({}) {{\n{}{}}}\n", kernels_.empty() ? "" : "\n", head, parameters, shared_, body_);
}

void SourcePrinter::line(const std::string& text) { body_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n"; }

void SourcePrinter::place(const Origin& origin) {
  if (!options_.locate) { return; }
  auto found = options_.locate(origin);
  if (!found || (found->line == last_place_.line && found->file == last_place_.file)) { return; }
  last_place_ = *found;
  body_ += fmt::format("#line {} \"{}\"\n", found->line, found->file);
}

void SourcePrinter::statement(const Stmt& stmt) {
  if (failure_) { return; }
  auto inner = [&](const Stmt& body) {
    ++depth_;
    statement(body);
    --depth_;
  };
  switch (stmt.kind()) {
    case NodeKind::SeqStmt:
      for (const Stmt& s : stmt.as<SeqStmt>()->seq) { statement(s); }
      return;
    case NodeKind::LetStmt: {
      const auto& n = *stmt.as<LetStmt>();
      place(n.origin);
      load_vectors(n.value);
      if (is_nonnegative(n.value)) { nonnegative_.insert(n.var.get()); }
      if (n.var->dtype.is_handle()) {
        (void)fail(fmt::format("the pointer `{}`", n.var->name.str()), because(Why::NoPointersInVariables), n.origin);
        return;
      }
      for (int k = 0; k < n.var->dtype.lanes; ++k) {
        line(fmt::format("const {} {}{} = {};", value_type(n.var->dtype.element(), n.origin), name_of(*n.var), n.var->dtype.lanes > 1 ? fmt::format("_{}", k) : "", lane(n.value, k)));
      }
      return statement(n.body);
    }
    case NodeKind::AttrStmt: {
      const auto& n = *stmt.as<AttrStmt>();
      if (n.key == "thread_extent") { launch(n); }
      return statement(n.body);
    }
    case NodeKind::AssertStmt: {
      const auto& n = *stmt.as<AssertStmt>();
      place(n.origin);
      // A kernel of OpenCL cannot stop its program: it prints the message and continues.
      const auto* message = n.message.as<StringImm>();
      line(fmt::format("if (!({})) {{ {} }}", scalar(n.condition),
                       kind_ == SourceDialect::Cuda ? "__trap();" : fmt::format("printf(\"%s\\n\", {});", c_string(message ? message->value : "an assertion does not hold"))));
      return statement(n.body);
    }
    case NodeKind::BufferStore: return store(*stmt.as<BufferStore>());
    case NodeKind::Allocate: return allocate(*stmt.as<Allocate>());
    case NodeKind::AllocateConst: return constant(*stmt.as<AllocateConst>());
    case NodeKind::DeclBuffer: return statement(stmt.as<DeclBuffer>()->body);
    case NodeKind::Evaluate: return evaluate(*stmt.as<Evaluate>());
    case NodeKind::IfThenElse: {
      const auto& n = *stmt.as<IfThenElse>();
      place(n.origin);
      line(fmt::format("if ({}) {{", scalar(n.condition)));
      inner(n.then_case);
      if (n.else_case) {
        line("} else {");
        inner(n.else_case);
      }
      return line("}");
    }
    case NodeKind::For: return loop(*stmt.as<For>());
    case NodeKind::While:
      place(stmt.origin());
      line(fmt::format("while ({}) {{", scalar(stmt.as<While>()->condition)));
      inner(stmt.as<While>()->body);
      return line("}");
    case NodeKind::Break: return line("break;");
    case NodeKind::Continue: return line("continue;");
    default: (void)fail("a block", because(Why::NotLowered), stmt.origin());
  }
}

void SourcePrinter::loop(const For& node) {
  if (node.for_kind == ForKind::ThreadBinding || node.for_kind == ForKind::Vectorized) {
    (void)fail(fmt::format("the loop `{}`", node.var->name.str()), because(Why::NotLowered), node.origin);
    return;
  }
  place(node.origin);
  if (is_nonnegative(node.min)) { nonnegative_.insert(node.var.get()); }
  const std::string name = name_of(*node.var);
  const std::string type = value_type(node.var->dtype, node.origin);
  const std::string end = is_zero(node.min) ? scalar(node.extent) : scalar(add(node.min, node.extent), comparison + 1);
  // Leaves the decision about a loop with many iterations to the compiler.
  if (node.for_kind == ForKind::Unrolled && as_int(node.extent).value_or(1) <= 64) { line("#pragma unroll"); }
  line(fmt::format("for ({} {} = {}; {} < {}; ++{}) {{", type, name, scalar(node.min), name, end, name));
  ++depth_;
  statement(node.body);
  --depth_;
  line("}");
}

void SourcePrinter::launch(const AttrStmt& node) {
  const auto* iter = std::get_if<IterVar>(&node.node);
  if (!iter) { return; }
  const std::string_view tag = iter->thread_tag.view();
  if (is_thread_axis(tag)) { threads_.emplace_back(tag, as_int(node.value)); }
  nonnegative_.insert(iter->var.get());
  if (is_one(node.value)) {
    // The only index.
    lets_.emplace(iter->var.get(), zero(iter->var->dtype));
    return;
  }
  line(fmt::format("const {} {} = {};", value_type(iter->var->dtype, node.origin), name_of(*iter->var), dialect_.index(tag)));
}

void SourcePrinter::allocate(const Allocate& node) {
  const std::string_view scope = node.data->pointer ? node.data->pointer->scope.view() : std::string_view();
  int64_t count = node.dtype.lanes;
  for (const Expr& e : node.extents) {
    auto extent = as_int(e);
    if (!extent) {
      (void)fail(fmt::format("the buffer `{}`", node.data->name.str()), because(Why::KernelMemoryNotConstant), node.origin);
      return;
    }
    count *= *extent;
  }
  auto family = memory_family(scope);
  if (fragment_array(node, count)) { return statement(node.body); }
  // If only plain code accesses memory of matrix units (before a schedule maps it to their instructions), it is memory of the thread.
  const bool is_plain = family && *family >= MemoryFamily::WmmaA && *family <= MemoryFamily::MmaC && *family != MemoryFamily::Texture && !passed_.contains(node.data.get());
  if (family && !is_plain && *family != MemoryFamily::Global && *family != MemoryFamily::Shared && *family != MemoryFamily::Local && *family != MemoryFamily::Workspace) {
    (void)fail(fmt::format("the buffer `{}`", node.data->name.str()), because(Why::NoTextForScope).arg("scope", scope), node.origin);
    return;
  }
  elements_[node.data.get()] = elements_.contains(node.data.get()) ? elements_.at(node.data.get()) : node.dtype.element();
  const std::string declared = fmt::format("{} {}[{}];", memory_type(elements_.at(node.data.get()), node.origin), name_of(*node.data),
                                           std::max<int64_t>(1, (count * node.dtype.element_bytes() + elements_.at(node.data.get()).element_bytes() - 1) / elements_.at(node.data.get()).element_bytes()));
  if (is_shared_memory(scope)) {
    spaces_[node.data.get()] = kind_ == SourceDialect::OpenCl ? "__local " : "";
    if (shared_offset_ < 0) {
      shared_ += fmt::format("  {}{}\n", dialect_.shared_memory, declared);
    } else {
      const std::string type = memory_type(elements_.at(node.data.get()), node.origin);
      if (shared_offset_ == 0) { shared_ += "  extern __shared__ __align__(128) unsigned char ls_shared[];\n"; }
      shared_ += fmt::format("  {0}* const {1} = ({0}*)(ls_shared + {2});\n", type, name_of(*node.data), shared_offset_);
      shared_offset_ += shared_array_bytes(count * node.dtype.element_bytes());
    }
  } else {
    spaces_[node.data.get()] = "";
    line(declared);
  }
  statement(node.body);
}

void SourcePrinter::constant(const AllocateConst& node) {
  const DataType t = node.dtype.element();
  const auto bytes = static_cast<size_t>(t.element_bytes());
  elements_[node.data.get()] = t;
  spaces_[node.data.get()] = kind_ == SourceDialect::OpenCl ? "__constant " : "";
  const std::string name = fresh(node.data->name.view());
  names_[node.data.get()] = name;
  std::string values;
  for (size_t at = 0; at + bytes <= node.bytes.size(); at += bytes) {
    uint64_t bits = 0;
    for (size_t b = 0; b < bytes; ++b) { bits |= static_cast<uint64_t>(static_cast<unsigned char>(node.bytes[at + b])) << (8 * b); }
    if (!values.empty()) { values += ", "; }
    if (t.is_float() && t.bits == 32) { values += real(std::bit_cast<float>(static_cast<uint32_t>(bits)), t, ternary, node.origin); }
    else if (t.is_float() && t.bits == 64) { values += real(std::bit_cast<double>(bits), t, ternary, node.origin); }
    else if (t.is_real()) { values += fmt::format("{}", bits); }
    else {
      const int shift = 64 - 8 * static_cast<int>(bytes);
      values += integer(t.is_int() ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits), t.is_bool() ? DataType::uint(8) : t, ternary);
    }
  }
  constants_ += fmt::format("{}{} {}[] = {{{}}};\n", dialect_.constant_memory, memory_type(t, node.origin), name, values);
  statement(node.body);
}

void SourcePrinter::evaluate(const Evaluate& node) {
  const auto* called = node.value.as<Call>();
  if (!called) { return; }
  place(node.origin);
  std::string_view op = called->op.view();
  if (op == "tvm_storage_sync") {
    const auto* scope = called->args.empty() ? nullptr : called->args[0].as<StringImm>();
    return line(std::string(scope && scope->value == "warp" ? dialect_.warp_barrier : dialect_.barrier));
  }
  if (op == "assume" || op == "start_profile_intrinsic" || op == "end_profile_intrinsic" || op == "prefetch") { return; }
  if (op == "ret" && called->args.empty()) { return line("return;"); }
  line(scalar(node.value) + ";");
}

auto SourcePrinter::wide_lanes(const Buffer& buffer, const Expr& index) const -> int {
  const auto* ramp = index.as<Ramp>();
  const DataType t = buffer->dtype;
  if (!ramp || !is_one(ramp->stride) || t.lanes != 1 || (t.bits != 32 && t.bits != 64) || !(t.is_float() || t.is_integral())) { return 1; }
  // Uses the vector types of OpenCL and CUDA, of at most 16 bytes.
  const int most = 128 / t.bits;
  const int lanes = index.dtype().lanes;
  if (!elements_.contains(buffer->data.get()) || elements_.at(buffer->data.get()) != t) { return 1; }
  for (int n : {4, 2}) {
    if (n <= most && lanes % n == 0 && is_multiple(ramp->base, n)) { return n; }
  }
  return 1;
}

void SourcePrinter::load_vectors(const Expr& e) {
  post_order(e, [&](const Expr& sub) {
    const auto* node = sub.as<BufferLoad>();
    if (!node || node->indices.size() != 1 || node->predicate || failure_ || loaded_.contains(node)) { return; }
    const int wide = wide_lanes(node->buffer, node->indices[0]);
    if (wide == 1) { return; }
    const Expr& base = node->indices[0].as<Ramp>()->base;
    const std::string vector = vector_type(node->buffer->dtype, wide, node->origin);
    std::vector<std::string> lanes;
    for (int at = 0; at < node->indices[0].dtype().lanes; at += wide) {
      const std::string name = fresh(node->buffer->name.view());
      line(fmt::format("const {} {} = *(const {}{}*)&{}[{}];", vector, name, address_space(*node->buffer->data), vector, pointer(node->buffer),
                       scalar(at == 0 ? base : add(base, int_imm(at, base.dtype())))));
      for (int k = 0; k < wide; ++k) { lanes.push_back(fmt::format("{}.{}", name, "xyzw"[k])); }
    }
    loaded_[node] = std::move(lanes);
  });
}

auto SourcePrinter::is_row(const Buffer& buffer, const Expr& index, int lanes) const -> bool {
  const auto* ramp = index.as<Ramp>();
  const std::string_view scope = buffer->scope().view();
  auto known = elements_.find(buffer->data.get());
  return ramp && is_one(ramp->stride) && is_multiple(ramp->base, lanes) && (is_global_memory(scope) || is_shared_memory(scope)) && known != elements_.end() && known->second == buffer->dtype;
}

auto SourcePrinter::copy(const BufferStore& node) -> bool {
  const auto* load = node.value.as<BufferLoad>();
  const DataType t = node.buffer->dtype;
  if (!load || load->buffer->dtype != t || t.lanes != 1 || (t.bits != 16 && t.bits != 8) || node.predicate || load->predicate || load->indices.size() != 1) { return false; }
  const Expr &to = node.indices[0], &from = load->indices[0];
  const int lanes = to.dtype().lanes;
  if (from.dtype().lanes != lanes) { return false; }
  if (lanes == 1) {
    line(fmt::format("{}[{}] = {}[{}];", pointer(node.buffer), scalar(to), pointer(load->buffer), scalar(from)));
    return true;
  }
  for (int bytes : {16, 8, 4}) {
    const int wide = bytes * 8 / t.bits;
    if (lanes % wide != 0 || !is_row(node.buffer, to, wide) || !is_row(load->buffer, from, wide)) { continue; }
    const DataType part = DataType::uint(32);
    const std::string word = bytes == 4 ? memory_type(part, node.origin) : vector_type(part, bytes / 4, node.origin);
    // Loads all words before it stores the first one.
    std::vector<std::string> names;
    auto place_of = [&](const Buffer& buffer, const Expr& index, int at) {
      const Expr& base = index.as<Ramp>()->base;
      return fmt::format("&{}[{}]", pointer(buffer), scalar(at == 0 ? base : add(base, int_imm(at, base.dtype()))));
    };
    line("{");
    ++depth_;
    for (int at = 0; at < lanes; at += wide) {
      names.push_back(fresh(load->buffer->name.view()));
      line(fmt::format("const {} {} = *(const {}{}*){};", word, names.back(), address_space(*load->buffer->data), word, place_of(load->buffer, from, at)));
    }
    for (int at = 0; at < lanes; at += wide) {
      line(fmt::format("*({}{}*){} = {};", address_space(*node.buffer->data), word, place_of(node.buffer, to, at), names[static_cast<size_t>(at / wide)]));
    }
    --depth_;
    line("}");
    return true;
  }
  return false;
}

void SourcePrinter::store(const BufferStore& node) {
  place(node.origin);
  const DataType t = node.buffer->dtype;
  if (node.indices.size() != 1) {
    (void)fail(fmt::format("an access of `{}`", node.buffer->name.str()), because(Why::NotOneIndex), node.origin);
    return;
  }
  if (copy(node)) { return; }
  const Expr& index = node.indices[0];
  const int lanes = index.dtype().lanes * t.lanes;
  if (lanes == 1) {
    std::string text = fmt::format("{}[{}] = {};", pointer(node.buffer), scalar(index), to_memory(t, scalar(node.value)));
    return line(node.predicate ? fmt::format("if ({}) {{ {} }}", scalar(node.predicate), text) : text);
  }
  line("{");
  ++depth_;
  load_vectors(node.value);
  // Computes all lanes before it stores the first one.
  std::vector<std::string> values;
  for (int k = 0; k < lanes; ++k) {
    std::string value = lane(node.value, node.value.dtype().lanes > 1 ? k : 0);
    const std::string name = fresh("lane");
    line(fmt::format("const {} {} = {};", value_type(node.value.dtype().element(), node.origin), name, value));
    values.push_back(name);
  }
  const int wide = node.predicate ? 1 : wide_lanes(node.buffer, index);
  for (int k = 0; k < lanes; k += wide) {
    if (wide > 1) {
      const Expr& base = index.as<Ramp>()->base;
      const std::string type = vector_type(t, wide, node.origin);
      std::string parts;
      for (int i = 0; i < wide; ++i) { parts += (i > 0 ? ", " : "") + values[static_cast<size_t>(k + i)]; }
      line(fmt::format("*({}{}*)&{}[{}] = {}({});", address_space(*node.buffer->data), type, pointer(node.buffer), scalar(k == 0 ? base : add(base, int_imm(k, base.dtype()))),
                       kind_ == SourceDialect::Cuda ? "make_" + type : "(" + type + ")", parts));
      continue;
    }
    std::string at = t.lanes > 1 ? fmt::format("{} * {} + {}", lane(index, k / t.lanes, product), t.lanes, k % t.lanes) : lane(index, k);
    std::string text = fmt::format("{}[{}] = {};", pointer(node.buffer), at, to_memory(t.element(), values[static_cast<size_t>(k)]));
    line(node.predicate ? fmt::format("if ({}) {{ {} }}", lane(node.predicate, k), text) : text);
  }
  --depth_;
  line("}");
  loaded_.clear();
}

// ---- names and types

auto SourcePrinter::fail(std::string what, const Reason& why, Origin origin) -> std::string {
  if (!failure_) { failure_ = NoText{std::move(what), why, origin}; }
  return "0";
}
auto SourcePrinter::need(std::string function) -> std::string {
  needed_.insert(function);
  return function;
}
auto SourcePrinter::fresh(std::string_view wanted) -> std::string {
  std::string base = identifier(wanted);
  std::string out = base;
  for (int i = 1; !taken_.insert(out).second; ++i) { out = fmt::format("{}_{}", base, i); }
  return out;
}
auto SourcePrinter::name_of(const VarNode& v) -> std::string {
  auto found = names_.find(&v);
  return found != names_.end() ? found->second : names_[&v] = fresh(v.name.view());
}

auto SourcePrinter::value_type(DataType dtype, Origin origin) -> std::string {
  if (dtype.is_bool()) { return "bool"; }
  if (dtype.is_float() || dtype.is_bfloat16()) {
    if (dtype.bits == 64) { needs_double_ = true; }
    return dtype.bits == 64 ? "double" : "float";
  }
  if (dtype.is_real() && has_short_real(dtype)) { return "float"; }
  if (!dtype.is_integral()) { return fail(fmt::format("a value of type `{}`", dtype.str()), because(Why::NoTextForType), origin); }
  return memory_type(dtype, origin);
}
auto SourcePrinter::memory_type(DataType dtype, Origin origin) -> std::string {
  const bool is_opencl = kind_ == SourceDialect::OpenCl;
  if (dtype.is_bool()) { return is_opencl ? "uchar" : "unsigned char"; }
  if (dtype.is_real() && dtype.bits == 16) { return is_opencl ? "ushort" : "unsigned short"; }
  if (dtype.is_float()) { return value_type(dtype, origin); }
  if (dtype.is_real() && has_short_real(dtype)) { return is_opencl ? "uchar" : "unsigned char"; }
  if (dtype.is_integral()) {
    const char* unsign = dtype.is_uint() ? (is_opencl ? "u" : "unsigned ") : "";
    switch (dtype.bits < 8 ? 8 : dtype.bits) {
      case 8: return fmt::format("{}char", dtype.is_int() && !is_opencl ? "signed " : unsign);
      case 16: return fmt::format("{}short", unsign);
      case 32: return fmt::format("{}int", unsign);
      case 64: return fmt::format("{}{}", unsign, dialect_.longest_int);
      default: break;
    }
  }
  return fail(fmt::format("memory of type `{}`", dtype.str()), because(Why::NoTextForType), origin);
}
auto SourcePrinter::vector_type(DataType dtype, int lanes, Origin origin) -> std::string {
  // CUDA C names vectors of integers without spaces: uint4, longlong2.
  if (kind_ == SourceDialect::OpenCl || !dtype.is_integral()) { return fmt::format("{}{}", memory_type(dtype, origin), lanes); }
  return fmt::format("{}{}{}", dtype.is_uint() ? "u" : "", dtype.bits == 64 ? "longlong" : "int", lanes);
}
auto SourcePrinter::from_memory(DataType dtype, std::string element) -> std::string {
  if (dtype.is_bool()) { return "(" + element + " != 0)"; }
  if (dtype.is_float() && dtype.bits == 16) { return need("ls_load_f16") + "(" + element + ")"; }
  if (dtype.is_bfloat16()) { return need("ls_load_bf16") + "(" + element + ")"; }
  if (dtype.is_real() && dtype.bits < 16) { return load_short(dtype) + "(" + element + ")"; }
  return element;
}
auto SourcePrinter::to_memory(DataType dtype, std::string value) -> std::string {
  if (dtype.is_float() && dtype.bits == 16) { return need("ls_store_f16") + "(" + value + ")"; }
  if (dtype.is_bfloat16()) { return need("ls_store_bf16") + "(" + value + ")"; }
  if (dtype.is_real() && dtype.bits < 16) { return store_short(dtype) + "(" + value + ")"; }
  return value;
}
auto SourcePrinter::address_space(const VarNode& data) const -> std::string {
  auto found = spaces_.find(&data);
  return found == spaces_.end() ? std::string() : found->second;
}
auto SourcePrinter::pointer(const Buffer& buffer) -> std::string {
  const VarNode& data = *buffer->data;
  auto known = elements_.find(&data);
  const DataType t = buffer->dtype.element();
  if (known == elements_.end() || memory_type(known->second, buffer->origin) == memory_type(t, buffer->origin)) { return name_of(data); }
  return fmt::format("(({}{}*){})", address_space(data), memory_type(t, buffer->origin), name_of(data));
}

}  // namespace loopsmith::codegen
