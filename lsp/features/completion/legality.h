// Legality of an argument or a call at the cursor, and the estimated speedup of a call. Answers are cached between keys (`JudgedState`).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/estimate.h"
#include "lsp/features/completion/schedule_spot.h"
#include "schedule/candidates.h"
#include "schedule/primitive.h"

namespace loopsmith::lsp {

// Words that are values of an argument.
inline constexpr std::string_view dtypes[] = {"float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "int16", "uint16", "uint32", "uint64",
                                       "bool", "handle", "float8_e4m3fn", "float8_e5m2", "int4", "uint1"};

inline constexpr std::string_view accesses[] = {"read", "write"};
inline constexpr std::string_view targets[] = {"llvm", "cuda", "rocm", "c", "llvm -mcpu=native", "llvm -num-cores=1"};

/// The cached answer to a question about this state, or else the result of `judge`. An interrupted answer is not cached; the
/// next key asks again.
template <typename Judge>
[[nodiscard]] auto remembered(const ScheduleSpot& spot, const std::string& question, const Judge& judge) -> schedule::Legality {
  JudgedState* known = spot.patience.judged;
  if (known != nullptr) {
    if (auto found = known->found.find(question); found != known->found.end()) { return found->second; }
  }
  if (spot.is_late()) {
    spot.is_cut_short = true;
    return {};
  }
  bool is_stopped = false;
  schedule::Legality legality = judge([&] { return is_stopped = is_stopped || spot.is_late(); });
  if (is_stopped || spot.patience.cancel.is_cancelled()) {
    spot.is_cut_short = true;
    return {};
  }
  if (known != nullptr) { known->found.emplace(question, legality); }
  return legality;
}

/// True when the call is legal with this loop or block as the argument at the cursor and with the arguments before it.
[[nodiscard]] auto argument_legality(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param, const schedule::Place& place) -> schedule::Legality;

/// A possible value of the argument at the cursor.
struct Offered {
  std::string text;            // as it is written
  std::string about;           // "buffer `A`"; may be empty
  schedule::Legality legality;
};

/// Values for an argument that is neither a loop nor a block, judged together with the arguments before it.
[[nodiscard]] auto values_offered(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param) -> std::vector<Offered>;

/// Finds the call of a primitive with the largest estimated speedup, among the first legal call of all and the first legal call on each
/// variable of the script.
class Gains {
 public:
  explicit Gains(const ScheduleSpot& spot);
  /// The call and its estimated speedup (1: no difference). None: the time is used up.
  [[nodiscard]] auto best(const schedule::Primitive& row, const schedule::Move& first) -> std::optional<std::pair<schedule::Move, double>>;

 private:
  [[nodiscard]] auto is_late() const -> bool;
  [[nodiscard]] auto seconds_of(const schedule::Schedule& schedule) const -> double;
  [[nodiscard]] auto gain_of(const schedule::Move& move) -> double;

  const ScheduleSpot& spot_;
  cost::CoreModel core_;
  Deadline until_ = never();
  std::optional<double> now_;   // estimated seconds of the program in the state at the cursor
};

}  // namespace loopsmith::lsp
