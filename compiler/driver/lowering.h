// The options of lowering for a target: the only place that uses both target and transform.
#pragma once

#include "codegen/llvm/codegen.h"
#include "driver/render.h"
#include "target/gpu.h"
#include "target/hardware.h"
#include "target/target.h"
#include "transform/pipelines.h"

namespace loopsmith::driver {

/// `locate`: checks every access, with its place in the messages of the running program; none: no checks.
[[nodiscard]] inline auto lower_context(const target::Target& target, const Locate& locate = {}) -> transform::LowerContext {
  transform::LowerContext context;
  target::Hardware hardware = target::hardware(target);
  context.options.masked_memory = hardware.avx512 || target.architecture() != target::Architecture::X86_64;
  context.options.async_copies = target::has_async_copies(target);
  if (locate) {
    context.options.check_bounds = true;
    context.where = [locate](const Origin& origin) -> std::string {
      auto place = origin.is_known() ? locate(origin) : std::nullopt;
      return place ? place->text->name() + ":" + std::to_string(human_position(*place->text, place->span.begin).line) : "";
    };
  }
  return context;
}
[[nodiscard]] inline auto lower_request(const target::Target& target) -> transform::LowerRequest {
  return {.target_kind = target.kind, .until = {}, .on_stage = {}};
}

/// Lowers up to the last stage that the interpreter supports: kernels are still in place, not yet separate functions.
[[nodiscard]] inline auto interpreted_request(const target::Target& target) -> transform::LowerRequest {
  transform::LowerRequest request = lower_request(target);
  std::string_view before;
  for (const transform::Stage& stage : transform::pipeline(target.kind)) {
    if (std::string_view(stage.name) == "split_host_device") { request.until = before; }
    before = stage.name;
  }
  return request;
}

/// `locate` in the form of CodegenOptions::locate.
[[nodiscard]] inline auto source_places(Locate locate) -> std::function<std::optional<codegen::SourcePlace>(const Origin&)> {
  return [locate = std::move(locate)](const Origin& origin) -> std::optional<codegen::SourcePlace> {
    auto place = origin.is_known() ? locate(origin) : std::nullopt;
    if (!place) { return {}; }
    HumanPosition at = human_position(*place->text, place->span.begin);
    return codegen::SourcePlace{place->text->name(), at.line, at.column};
  };
}

}  // namespace loopsmith::driver
