// A mutator that gives buffers other memory: it replaces variables by others, and each buffer whose data is such a variable by one buffer with the
// other variable.
#pragma once

#include <unordered_map>

#include "ir/ir.h"
#include "ir/visitor.h"

namespace loopsmith {

class OtherData : public Mutator {
 public:
  using Mutator::on;
  /// The variable in place of each one that is replaced.
  std::unordered_map<const VarNode*, Var> instead;

  auto on(const VarNode& n) -> Expr override {
    auto found = instead.find(&n);
    return found == instead.end() ? Mutator::on(n) : Expr(found->second);
  }

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto found = instead.find(buffer->data.get());
    if (found == instead.end()) { return buffer; }
    Buffer& made = made_[buffer.get()];
    if (!made) {
      BufferNode fields = *buffer;
      fields.data = found->second;
      made = make_buffer(std::move(fields));
    }
    return made;
  }

 private:
  std::unordered_map<const BufferNode*, Buffer> made_;
};

}  // namespace loopsmith
