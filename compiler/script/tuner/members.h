// Values for the namespaces of the tuner in scripts: objects, builtin functions, members.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "eval/value.h"

namespace loopsmith::script {

template <class T> auto value_of(const Ref<T>& object) -> eval::Value { return eval::Value(Ref<eval::Object>(object.get())); }

inline auto builtin(const char* name, eval::Builtin::Run run) -> eval::Value { return value_of(eval::make_object<eval::Builtin>(Name(name), run)); }

/// For a namespace of which only some members are known: the others have no known value.
inline auto any_name(Name) -> std::optional<eval::Value> { return eval::Value::opaque(); }

/// Adds a member while the namespace is made.
inline void add_member(const Ref<eval::Namespace>& space, std::string_view name, eval::Value value) {
  const_cast<eval::Namespace*>(space.get())->add(Name(std::string(name)), std::move(value));
}

}  // namespace loopsmith::script
