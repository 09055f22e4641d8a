// Closures for cooperating threads: launches, barriers, reductions across threads, shuffles. Also pointers, calls of functions of
// the module, and the supported functions of C.
#pragma once

#include <utility>
#include <vector>

#include "interp/kernel.h"
#include "interp/statements.h"

namespace loopsmith::interp {

/// True when the threads of this code wait for each other.
[[nodiscard]] auto needs_threads(const Stmt& body) -> bool;
/// True when this code contains an explicit barrier.
[[nodiscard]] auto has_barriers(const Stmt& body) -> bool;
/// True when this code allocates shared memory, so that its threads must run together.
[[nodiscard]] auto allocates_shared(const Stmt& body) -> bool;

struct KernelStatement final : Statement {
  struct Dimension { Name tag; const IntExpr* extent; Name variable; };
  std::vector<Dimension> dimensions;
  bool is_launch = false;                   // the program contains all barriers that it needs; otherwise lowering adds some
  Origin origin;
  const Statement* body = nullptr;
  void run(Frame& f) const override;
};
/// Sets the variable of a dimension to the thread's index.
struct ThreadIndex final : Statement {
  Name name;
  uint32_t slot = 0;
  size_t dimension = 0;
  const Statement* body = nullptr;
  void run(Frame& f) const override;
};
struct Barrier final : Statement {
  Origin origin;
  bool is_warp = false;
  void run(Frame& f) const override;
};
struct AllReduce final : Statement {
  Origin origin;
  std::vector<Code> values, identity, result;
  std::vector<uint32_t> lhs, rhs;
  const IntExpr* condition = nullptr;
  std::vector<AccessSite> results;
  std::vector<size_t> dimensions;           // the dimensions across which it reduces
  void run(Frame& f) const override;
};

struct WarpShuffle {
  enum Kind : uint8_t { From, Up, Down } kind = From;
  const IntExpr* mask = nullptr;            // the lanes that take part
  Code value;
  const IntExpr* lane = nullptr;            // the lane, or a distance
  const IntExpr* width = nullptr;
  int64_t warp = 32;
  Origin origin;
  auto run(Frame& f, const void* site) const -> Slot;
};
struct ShuffleInt final : IntExpr {
  WarpShuffle shuffle;
  explicit ShuffleInt(WarpShuffle s) : shuffle(std::move(s)) {}
  auto eval(Frame& f) const -> int64_t override { return shuffle.run(f, this).i; }
};
struct ShuffleReal final : RealExpr {
  WarpShuffle shuffle;
  explicit ShuffleReal(WarpShuffle s) : shuffle(std::move(s)) {}
  auto eval(Frame& f) const -> double override { return shuffle.run(f, this).f; }
};

struct PointerVar final : PointerExpr {
  uint32_t slot;
  explicit PointerVar(uint32_t s) : slot(s) {}
  auto eval(Frame& f) const -> Pointer override { return f.pointers[slot]; }
};
struct AddressOf final : PointerExpr {
  AccessSite site;
  explicit AddressOf(AccessSite s) : site(std::move(s)) {}
  auto eval(Frame& f) const -> Pointer override {
    int64_t at = site.locate(f, 0);
    return {f.bindings[site.binding].memory, std::max<int64_t>(at, 0)};
  }
};
struct PointerOffset final : PointerExpr {
  const PointerExpr* base;
  const IntExpr* offset;
  int64_t element_bytes;
  PointerOffset(const PointerExpr* b, const IntExpr* o, int64_t bytes) : base(b), offset(o), element_bytes(bytes) {}
  auto eval(Frame& f) const -> Pointer override {
    Pointer p = base->eval(f);
    p.byte += offset->eval(f) * element_bytes;
    return p;
  }
};

struct CallStatement final : Statement {
  std::vector<std::pair<uint32_t, const PointerExpr*>> pointers;
  std::vector<std::pair<uint32_t, Code>> values;
  std::vector<BindBuffer> bind;
  const Statement* body = nullptr;
  Origin origin;
  bool recurs = false;                      // the call is inside of the called function
  bool returns_ints = false, returns_reals = false;
  void run(Frame& f) const override;
};
/// The value of a call of a function with a return value.
template <class Base>
struct CallValue final : Base {
  const CallStatement* call = nullptr;
  Origin origin;
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    int lane = f.lane;
    f.has_returned = false;
    call->run(f);
    f.lane = lane;
    if (!f.failed && !f.has_returned) { f.fail(error(loopsmith::Code::InterpUnsupported, origin).arg("what", "the value of a function that ends without returning one")); }
    if constexpr (std::is_same_v<Base, IntExpr>) { return f.returned.i; } else { return f.returned.f; }
  }
};
/// memcpy, memmove, memset.
struct MemoryCall final : Statement {
  Name name;
  const PointerExpr* to = nullptr;
  const PointerExpr* from = nullptr;        // null: memset
  const IntExpr* byte = nullptr;
  const IntExpr* bytes = nullptr;
  Origin origin;
  void run(Frame& f) const override;
};

}  // namespace loopsmith::interp
