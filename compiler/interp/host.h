// A host's code around calls: stack memory, arrays (DLTensor) and packed arguments whose fields are read and written one by one,
// workspaces, checked results. Layouts are those of TVM's C interface on a 64-bit machine.
//
// In memory, a pointer is represented by the number of a stored pointer, not by an address of this process. So the interpreter detects pointers
// that were never stored.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interp/statements.h"

namespace loopsmith::interp {

/// Stack memory: each place in the program has separate memory, the same at every execution.
struct StackMemory final : PointerExpr {
  AllocateMemory allocate;
  auto eval(Frame& f) const -> Pointer override {
    int lane = f.lane;
    allocate.run(f);
    f.lane = lane;
    return f.failed ? Pointer{} : f.pointers[allocate.memory];
  }
};
struct IsNull final : IntExpr {
  const PointerExpr* pointer;
  explicit IsNull(const PointerExpr* p) : pointer(p) {}
  auto eval(Frame& f) const -> int64_t override { return pointer->eval(f).memory == nullptr ? 1 : 0; }
};
struct NullPointer final : PointerExpr {
  auto eval(Frame&) const -> Pointer override { return {}; }
};

/// A field of the structure number `index` in an array, by TVM's number for the field.
struct StructField {
  const PointerExpr* base = nullptr;
  const IntExpr* index = nullptr;
  int64_t kind = 0;
  Origin origin;
  /// True for numbers of known fields.
  [[nodiscard]] static auto is_known(int64_t kind) -> bool;
  [[nodiscard]] auto read(Frame& f, DataType as) const -> Slot;
  [[nodiscard]] auto read_pointer(Frame& f) const -> Pointer;
  void write(Frame& f, DataType as, Slot value) const;
  void write(Frame& f, Pointer value) const;

 private:
  [[nodiscard]] auto place(Frame& f, int64_t& bytes) const -> char*;
  void put(Frame& f, const void* from) const;
};
struct FieldInt final : IntExpr {
  StructField field;
  DataType type;
  auto eval(Frame& f) const -> int64_t override { return field.read(f, type).i; }
};
struct FieldReal final : RealExpr {
  StructField field;
  DataType type;
  auto eval(Frame& f) const -> double override { return field.read(f, type).f; }
};
struct FieldPointer final : PointerExpr {
  StructField field;
  auto eval(Frame& f) const -> Pointer override { return field.read_pointer(f); }
};
struct SetField final : Statement {
  StructField field;
  Code value;
  void run(Frame& f) const override;
};

/// `tvm_stack_make_shape`: an array of 64-bit numbers.
struct StackShape final : PointerExpr {
  const PointerExpr* memory = nullptr;
  std::vector<const IntExpr*> numbers;
  Origin origin;
  auto eval(Frame& f) const -> Pointer override;
};
/// `tvm_stack_make_array`: a DLTensor.
struct StackArray final : PointerExpr {
  const PointerExpr* memory = nullptr;
  const PointerExpr* data = nullptr;
  const PointerExpr* shape = nullptr;
  const PointerExpr* strides = nullptr;
  const IntExpr* dimensions = nullptr;
  const IntExpr* offset = nullptr;          // in elements
  DataType type;
  Origin origin;
  auto eval(Frame& f) const -> Pointer override;
};

/// `tvm_throw_last_error`: ends the run.
struct Throw final : Statement {
  Origin origin;
  void run(Frame& f) const override;
};
/// `tvm_check_return`: returns with an error code unless a call has the expected result.
struct CheckReturn final : Statement {
  const IntExpr* wanted = nullptr;
  const IntExpr* instead = nullptr;
  const IntExpr* call = nullptr;
  void run(Frame& f) const override;
};
/// The value of a call; 0 if it returns none.
struct CallOrZero final : IntExpr {
  const Statement* call = nullptr;
  auto eval(Frame& f) const -> int64_t override {
    int lane = f.lane;
    f.has_returned = false;
    call->run(f);
    f.lane = lane;
    return f.has_returned ? f.returned.i : 0;
  }
};

}  // namespace loopsmith::interp
