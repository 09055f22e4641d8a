// Memory, constructors that derive types, and look-ups of the IR: see ir.h and ref.h.
#include "ir/ir.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/memory.h"
#include "ir/ops.h"

namespace loopsmith {
namespace {

// Free lists per thread for sizes up to 512 bytes in classes of 16. A node freed on another thread joins that
// thread's list. memory.h returns the memory of the lists on request. Under sanitizers every node comes from malloc.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOOPSMITH_PLAIN_MALLOC 1
#endif
#endif

#ifndef LOOPSMITH_PLAIN_MALLOC
constexpr size_t class_bytes = 16;
constexpr size_t classes = 32;
constexpr size_t chunk_bytes = 64 * 1024;   // also their alignment: a node's address gives its chunk
struct FreeNode { FreeNode* next; };
/// A chunk from which nodes were cut until its rest was too small for the next one.
struct SpentChunk { char* memory; size_t cut; };
struct FreeLists {
  FreeNode* heads[classes] = {};
  char* begin = nullptr;                    // start of the free part of the current chunk
  char* chunk = nullptr;
  size_t left = 0;
  std::vector<SpentChunk>* spent = nullptr; // never destroyed: nodes outlive their thread
};
thread_local FreeLists lists;
#endif

int lanes_of(const Expr& lanes) {
  auto value = as_int(lanes);
  return value ? static_cast<int>(*value) : 1;
}

// Writes `4 * vscale` as `vscale * 4`, the form that TVM builds.
Expr lanes_in_order(Expr lanes) {
  const Mul* product = lanes.as<Mul>();
  if (!product || !product->a.as<IntImm>()) { return lanes; }
  return make<Mul>(product->b, product->a, product->origin);
}

// `n`, or the n of `vscale * n`.
DataType vector_type(DataType element, const Expr& lanes) {
  if (as_int(lanes)) { return element.with_lanes(lanes_of(lanes)); }
  int factor = 1;
  if (const Mul* product = lanes.as<Mul>()) {
    factor = as_int(product->a) ? lanes_of(product->a) : lanes_of(product->b);
  }
  DataType out = element.with_lanes(factor);
  out.scalable = true;
  return out;
}

}  // namespace

#ifdef LOOPSMITH_PLAIN_MALLOC
auto allocate_node(size_t bytes) -> void* { return std::malloc(bytes); }
void free_node(void* memory, size_t) { std::free(memory); }
#else
auto allocate_node(size_t bytes) -> void* {
  size_t index = (bytes + class_bytes - 1) / class_bytes;
  if (index >= classes) { return std::malloc(bytes); }
  FreeLists& mine = lists;
  if (FreeNode* head = mine.heads[index]) {
    mine.heads[index] = head->next;
    return head;
  }
  size_t size = index * class_bytes;
  if (mine.left < size) {
    if (mine.begin != nullptr) {
      if (mine.spent == nullptr) { mine.spent = new std::vector<SpentChunk>; }
      mine.spent->push_back({mine.begin, chunk_bytes - mine.left});
    }
    mine.left = chunk_bytes;
    mine.begin = mine.chunk = static_cast<char*>(std::aligned_alloc(chunk_bytes, chunk_bytes));
  }
  void* memory = mine.chunk;
  mine.chunk += size;
  mine.left -= size;
  return memory;
}
void free_node(void* memory, size_t bytes) {
  size_t index = (bytes + class_bytes - 1) / class_bytes;
  if (index >= classes) { std::free(memory); return; }
  auto* node = static_cast<FreeNode*>(memory);
  node->next = lists.heads[index];
  lists.heads[index] = node;
}
#endif

#ifdef LOOPSMITH_PLAIN_MALLOC
void give_nodes_back() {}
#else
void give_nodes_back() {
  FreeLists& mine = lists;
  if (mine.spent == nullptr) { return; }
  std::unordered_map<char*, size_t> free_bytes;   // by chunk; includes chunks of other threads
  auto chunk_of = [](const FreeNode* node) { return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(node) & ~(chunk_bytes - 1)); };
  for (size_t index = 0; index < classes; ++index) {
    for (const FreeNode* node = mine.heads[index]; node != nullptr; node = node->next) { free_bytes[chunk_of(node)] += index * class_bytes; }
  }
  std::unordered_set<char*> whole;
  std::erase_if(*mine.spent, [&](const SpentChunk& chunk) {
    auto found = free_bytes.find(chunk.memory);
    return found != free_bytes.end() && found->second == chunk.cut && whole.insert(chunk.memory).second;
  });
  if (whole.empty()) { return; }
  for (FreeNode*& head : mine.heads) {
    FreeNode** link = &head;
    while (*link != nullptr) {
      if (whole.contains(chunk_of(*link))) { *link = (*link)->next; } else { link = &(*link)->next; }
    }
  }
  for (char* chunk : whole) { std::free(chunk); }
}
#endif

#ifdef LOOPSMITH_PLAIN_MALLOC
auto node_memory() -> NodeMemory { return {}; }
#else
auto node_memory() -> NodeMemory {
  const FreeLists& mine = lists;
  NodeMemory out;
  size_t cut = mine.begin == nullptr ? 0 : chunk_bytes - mine.left;
  size_t rest = mine.left;
  if (mine.spent != nullptr) {
    for (const SpentChunk& chunk : *mine.spent) {
      cut += chunk.cut;
      rest += chunk_bytes - chunk.cut;
    }
  }
  size_t waiting = 0;
  for (size_t index = 0; index < classes; ++index) {
    for (const FreeNode* node = mine.heads[index]; node != nullptr; node = node->next) { waiting += index * class_bytes; }
  }
  // Free nodes from chunks of other threads may be in this list.
  out.used = cut > waiting ? cut - waiting : 0;
  out.free = waiting + rest;
  return out;
}
#endif

template <class T>
static void destroy_as(const void* node) {
  auto* typed = const_cast<T*>(static_cast<const T*>(node));
  typed->~T();
  free_node(typed, sizeof(T));
}

static void destroy_now(const ExprNode* node) {
  switch (node->kind) {
#define EXPR(Kind) case NodeKind::Kind: destroy_as<Kind>(static_cast<const Kind*>(node)); return;
#define STMT(Kind) case NodeKind::Kind: break;
#include "ir/nodes.def"
  }
}
static void destroy_now(const StmtNode* node) {
  switch (node->kind) {
#define EXPR(Kind) case NodeKind::Kind: break;
#define STMT(Kind) case NodeKind::Kind: destroy_as<Kind>(static_cast<const Kind*>(node)); return;
#include "ir/nodes.def"
  }
}

/// Destructors nest up to this depth; deeper nodes wait until the outermost destructor is done, so that a chain of any length
/// is freed on a bounded stack.
constexpr int max_destroy_depth = 200;
struct Waiting { std::vector<const ExprNode*> exprs; std::vector<const StmtNode*> stmts; };
static thread_local int destroy_depth = 0;
static thread_local Waiting* destroy_waiting = nullptr;  // set while nodes wait

static void wait(const ExprNode* node) { destroy_waiting->exprs.push_back(node); }
static void wait(const StmtNode* node) { destroy_waiting->stmts.push_back(node); }

template <class Node>
static void destroy_bounded(const Node* node) {
  if (destroy_depth >= max_destroy_depth) {
    if (!destroy_waiting) { destroy_waiting = new Waiting; }
    wait(node);
    return;
  }
  ++destroy_depth;
  destroy_now(node);
  if (destroy_depth == 1) {
    while (Waiting* waiting = std::exchange(destroy_waiting, nullptr)) {
      for (const ExprNode* waited : waiting->exprs) { destroy_now(waited); }
      for (const StmtNode* waited : waiting->stmts) { destroy_now(waited); }
      delete waiting;
    }
  }
  --destroy_depth;
}
void destroy(const ExprNode* node) { destroy_bounded(node); }
void destroy(const StmtNode* node) { destroy_bounded(node); }
void destroy(const BufferNode* node) { destroy_as<BufferNode>(node); }
void destroy(const IndexMapNode* node) { destroy_as<IndexMapNode>(node); }
void destroy(const CommReducerNode* node) { destroy_as<CommReducerNode>(node); }
void destroy(const PrimFuncNode* node) { destroy_as<PrimFuncNode>(node); }
void destroy(const IRModuleNode* node) { destroy_as<IRModuleNode>(node); }

auto fresh_node_id() -> NodeId {
  static std::atomic<NodeId> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

auto BufferNode::scope() const -> Name {
  static const Name global("global");
  return data->pointer && !data->pointer->scope.empty() ? data->pointer->scope : global;
}

auto make_buffer(Name name, DataType dtype, Array<Expr> shape, Name scope, Origin origin) -> Buffer {
  BufferNode fields;
  fields.name = name;
  fields.data = make<VarNode>(name, DataType::handle(), origin, PointerType{dtype, scope});
  fields.dtype = dtype;
  fields.shape = std::move(shape);
  fields.origin = origin;
  return make_buffer(std::move(fields));
}

BufferLoad::BufferLoad(Buffer b, Array<Expr> i, Origin o, Expr p)
    : ExprNode(node_kind, b->dtype, o), buffer(std::move(b)), indices(std::move(i)), predicate(std::move(p)) {
  if (!indices.empty()) {
    DataType last = indices.back().dtype();
    dtype.lanes = static_cast<uint16_t>(buffer->dtype.lanes * last.lanes);
    dtype.scalable = last.scalable || buffer->dtype.scalable;
  }
}
Ramp::Ramp(Expr b, Expr s, Expr n, Origin o)
    : ExprNode(node_kind, vector_type(b.dtype(), n), o), base(std::move(b)), stride(std::move(s)), lanes(lanes_in_order(std::move(n))) {}
Broadcast::Broadcast(Expr v, Expr n, Origin o)
    : ExprNode(node_kind, vector_type(v.dtype(), n), o), value(std::move(v)), lanes(lanes_in_order(std::move(n))) {}
Shuffle::Shuffle(Array<Expr> v, Array<Expr> i, Origin o)
    : ExprNode(node_kind, v[0].dtype().element().with_lanes(static_cast<int>(i.size())), o), vectors(std::move(v)), indices(std::move(i)) {}

auto find_attr(const AttrMap& attrs, Name key) -> const Attr* {
  for (const auto& [name, value] : attrs) {
    if (name == key) { return &value; }
  }
  return nullptr;
}
auto without_attr(const AttrMap& attrs, Name key) -> AttrMap {
  std::vector<std::pair<Name, Attr>> out;
  for (const auto& item : attrs) {
    if (!(item.first == key)) { out.push_back(item); }
  }
  return out.size() == attrs.size() ? attrs : AttrMap(std::move(out));
}
auto with_attr(const AttrMap& attrs, Name key, Attr value) -> AttrMap {
  std::vector<std::pair<Name, Attr>> out;
  for (const auto& item : attrs) {
    if (!(item.first == key)) { out.push_back(item); }
  }
  auto place = std::find_if(out.begin(), out.end(), [&](const auto& item) { return key < item.first; });
  out.insert(place, {key, std::move(value)});
  return AttrMap(std::move(out));
}

auto PrimFuncNode::buffer_of(const Var& param) const -> Buffer {
  for (const auto& [var, buffer] : buffer_map) {
    if (var == param) { return buffer; }
  }
  return {};
}
auto IRModuleNode::find(Name name) const -> PrimFunc {
  for (const auto& [key, func] : functions) {
    if (key == name) { return func; }
  }
  return {};
}
auto with_function(const IRModule& module, Name name, PrimFunc func) -> IRModule {
  const auto& all = module->functions;
  auto found = std::find_if(all.begin(), all.end(), [&](const auto& function) { return function.first == name; });
  if (found != all.end() && found->second == func) { return module; }
  auto at = static_cast<size_t>(found - all.begin());
  const std::pair<Name, PrimFunc> entry(name, std::move(func));
  IRModuleNode fields = *module;
  fields.functions = all.spliced(at, std::min(at + 1, all.size()), std::span(&entry, 1));
  return make_module(std::move(fields));
}
auto module_of(PrimFunc func, Dialect dialect) -> IRModule {
  IRModuleNode fields;
  static const Name main("main"), global_symbol("global_symbol");
  if (const Attr* symbol = find_attr(func->attrs, global_symbol); symbol && symbol->string() && *symbol->string() == "main") {
    PrimFuncNode same = *func;
    same.attrs = without_attr(func->attrs, global_symbol);
    func = make_func(std::move(same));
  }
  fields.functions = {{main, std::move(func)}};
  fields.dialect = dialect;
  return make_module(std::move(fields));
}
auto root_block(const PrimFunc& func) -> const Block* {
  const auto* realize = func->body.as<BlockRealize>();
  return realize && realize->block->iter_vars.empty() ? realize->block.get() : nullptr;
}

}  // namespace loopsmith
