// The pieces of MetaSchedule that the options `--rules`, `--postprocs`, `--mutators` and `--pieces` of `loopsmith tune` name.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "driver/program.h"
#include "tune/session/session.h"
#include "tune/written/pieces.h"

namespace loopsmith::driver {

inline const Option rules_option{.name = "--rules", .value = "LIST", .help = "schedule rules in place of the target's: names of the file, TVM's names, calls with arguments; `default` stands for the target's list"};
inline const Option postprocs_option{.name = "--postprocs", .value = "LIST", .help = "post-processors, in the same form"};
inline const Option mutators_option{.name = "--mutators", .value = "LIST", .help = "mutators of the evolutionary search with their shares: MutateTileSize=0.9,mine=0.1"};
inline const Option pieces_option{.name = "--pieces", .value = "FILE", .help = "the file whose names the lists use; the default is that of the program"};

/// Pieces with the file whose functions they run.
struct TunerPieces {
  std::unique_ptr<SourceFile> file;   // null: that of the program
  tune::SpacePieces pieces;
};

/// True where an option names pieces: the space is then that of MetaSchedule.
[[nodiscard]] auto names_pieces(const Arguments& arguments) -> bool;

/// True for a value of `--space` that is no name but an expression that makes a space: `ScheduleFn(tiles)`.
[[nodiscard]] auto is_space_expression(const std::string& space) -> bool;
/// True for a value of `--space` that asks for the space of MetaSchedule; `post-order-apply` is TVM's name of it.
[[nodiscard]] auto is_metaschedule(const std::string& space) -> bool;
/// True where the options ask for the space of MetaSchedule, or the target has it by default.
[[nodiscard]] auto uses_metaschedule(const Arguments& arguments, const target::Target& target) -> bool;

/// Reads the options for a program. Errors of pieces, also those during the search, are reported by `reporter`, which must outlive the pieces, like `program`.
/// An exit status: a list cannot be read, which was reported.
[[nodiscard]] auto read_tuner_pieces(const Arguments& arguments, const Selection& program, Reporter& reporter) -> std::variant<std::shared_ptr<const TunerPieces>, int>;

/// A model that a file writes, with that file.
struct TunerModel {
  std::unique_ptr<SourceFile> file;   // null: that of the program
  std::shared_ptr<tune::CandidateModel> model;
};
/// Takes the options `--builder` and `--runner`, in the same way as `take_model` below.
[[nodiscard]] auto take_runner(const Arguments& arguments, const Selection& program, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int>;
/// Takes the option `--model`: the name of a model, an expression for one that the file writes, or the file of a trained model. Errors of a written model during the
/// search are reported by `reporter`. None: the option is taken, or not given; else the exit status of a mistake.
[[nodiscard]] auto take_model(const Arguments& arguments, const Selection& program, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int>;

/// Takes the option `--arguments`: a function that makes the contents of buffers for measurements. None, or the exit status of a mistake.
[[nodiscard]] auto take_arguments(const Arguments& arguments, const Selection& program, Reporter& reporter, tune::SessionOptions& options) -> std::optional<int>;

/// Takes the option `--scheduler` of several programs: the name of a scheduler, or an expression for one that a file writes, which goes into `kept` if it is not the program's.
[[nodiscard]] auto take_scheduler(const Arguments& arguments, const Selection& program, Reporter& reporter, std::unique_ptr<SourceFile>& kept) -> std::variant<tune::TaskScheduler, int>;

/// The space of MetaSchedule with these pieces.
[[nodiscard]] auto space_of_pieces(std::shared_ptr<const TunerPieces> pieces, const target::Target& target, uint64_t seed) -> std::function<Result<tune::Sketches>(const tune::SpaceContext&)>;

}  // namespace loopsmith::driver
