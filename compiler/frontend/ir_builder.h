// `tvm.tir.ir_builder`: statements that a function makes by calls of a builder, as for `te.extern` and `te.decl_tensor_intrin`.
//
//     ib = tvm.tir.ir_builder.create()
//     out = ib.buffer_ptr(outs[0])
//     with ib.for_range(0, 16, name="i") as i:
//         out[i] = 0.0
//     return ib.get()
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "frontend/objects.h"

namespace loopsmith::frontend {

class IrBuilder final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  /// Makes a statement of its body.
  using Around = std::function<Stmt(Stmt)>;
  IrBuilder();

  /// Adds a statement to the innermost open scope.
  void add(Stmt stmt) const;
  /// The statements that follow in the scope become the body of one.
  void add_around(Around around) const;
  /// Opens the scope of a method that a `with` statement enters; its place is that of the call.
  void open(std::string_view method, Origin where) const;
  /// Ends the innermost scope: its statements.
  [[nodiscard]] auto close() const -> Stmt;
  /// The last statement of the innermost scope, which is removed, if it is a condition without an `else`; else null.
  [[nodiscard]] auto take_condition() const -> Ref<IfThenElse>;
  [[nodiscard]] auto get(Evaluator& evaluator, Origin where) const -> Value;
  /// `i`, `j`, `k`, `i_0` and so on: the names of loops without one.
  [[nodiscard]] auto next_name() const -> std::string;
  /// Records a scope until a `with` statement enters it.
  auto expect(std::string_view method, Origin where) const -> size_t;
  void entered(size_t expected) const { expected_[expected].method = {}; }

  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override { return "<ir builder>"; }

 private:
  struct Item { Stmt stmt; Around around; };
  struct Place { std::string_view method; Origin where; };
  struct Scope { Place made_by; std::vector<Item> items; };
  mutable std::vector<Scope> scopes_;       // the innermost last
  mutable std::vector<Place> expected_;     // without a method: entered
  mutable int loops_ = 0;
  const uint64_t not_made_;                 // eval::not_made() when the builder was made
};

/// A pointer of a builder: `x[i]` is an element, and `x[i] = value` adds a store to the builder.
class PointerObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Buffer buffer;
  PointerObject(Buffer b, const IrBuilder& builder) : Object(&type_tag), buffer(std::move(b)), builder_(&builder) {}
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto set_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, const Argument& value, Origin where) const -> bool override;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override { out.emplace_back("dtype"); }
  auto repr() const -> std::string override { return buffer->name.str(); }

 private:
  const Ref<IrBuilder> builder_;
};

/// The namespace `tvm.tir.ir_builder`.
[[nodiscard]] auto namespace_ir_builder() -> Value;

}  // namespace loopsmith::frontend
