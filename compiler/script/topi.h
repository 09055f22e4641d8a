// `topi`: the operators of TVM's library that tutorials use, written in tensor expressions. Other members are unknown.
#pragma once

#include "eval/value.h"

namespace loopsmith::script {

[[nodiscard]] auto namespace_topi() -> const eval::Value&;

}  // namespace loopsmith::script
