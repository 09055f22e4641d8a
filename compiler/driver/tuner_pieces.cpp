// Pieces of the tuner from options: see tuner_pieces.h.
#include "driver/tuner_pieces.h"

namespace loopsmith::driver {

auto names_pieces(const Arguments& arguments) -> bool { return arguments.has("--rules") || arguments.has("--postprocs") || arguments.has("--mutators"); }

auto is_space_expression(const std::string& space) -> bool { return space.find('(') != std::string::npos; }

auto read_tuner_pieces(const Arguments& arguments, const Selection& program, Reporter& reporter) -> std::variant<std::shared_ptr<const TunerPieces>, int> {
  auto out = std::make_shared<TunerPieces>();
  SourceFile* file = program.file.get();
  if (auto path = arguments.get("--pieces")) {
    auto read = SourceFile::read(*path);
    if (!read.ok()) {
      reporter.report(read.diagnostics(), nullptr);
      return reporter.status();
    }
    out->file = std::move(*read);
    file = out->file.get();
  }
  tune::PieceTexts texts{arguments.get("--rules", ""), arguments.get("--postprocs", ""), arguments.get("--mutators", "")};
  if (std::string space = arguments.get("--space", ""); is_space_expression(space)) { texts.space = std::move(space); }
  auto made = tune::read_pieces(file->document().file(), program.target, texts, [&reporter, file](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, file);
  });
  if (!made.ok()) {
    reporter.report(made.diagnostics(), file);
    return reporter.status();
  }
  out->pieces = std::move(*made);
  out->pieces.intrinsics = file->document().schedules().intrinsics();
  for (tune::SpacePieces& part : out->pieces.parts) { part.intrinsics = out->pieces.intrinsics; }
  return std::shared_ptr<const TunerPieces>(std::move(out));
}

auto space_of_pieces(std::shared_ptr<const TunerPieces> pieces, const target::Target& target, uint64_t seed) -> std::function<Result<tune::Sketches>(const tune::SpaceContext&)> {
  return [pieces = std::move(pieces), target, seed](const tune::SpaceContext& context) { return tune::metaschedule_space(context, target, seed, pieces->pieces); };
}

}  // namespace loopsmith::driver
