// Debug information: DWARF line tables, and a subprogram for each function. Variables are not described. The line of a node
// comes from its origin; nodes without an origin get the line of the enclosing statement.
#include <llvm/IR/DIBuilder.h>

#include <filesystem>

#include "codegen/llvm/builder.h"

namespace loopsmith::codegen {

void ModuleBuilder::begin_debug_info() {
  if (!options_.locate) { return; }
  module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module_.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);   // every current debugger and profiler reads it
  debug_ = std::make_unique<llvm::DIBuilder>(module_);
}

void ModuleBuilder::end_debug_info() {
  if (debug_) { debug_->finalize(); }
}

/// Describes a new function; instructions from here on belong to it.
void ModuleBuilder::enter_function(llvm::Function& function, Origin origin) {
  if (!debug_) { return; }
  SourcePlace place = options_.locate(origin).value_or(SourcePlace{"unknown", 0, 0});
  std::filesystem::path path = std::filesystem::absolute(place.file).lexically_normal();
  llvm::DIFile* file = debug_->createFile(path.filename().string(), path.parent_path().string());
  if (!has_unit_) {
    debug_->createCompileUnit(llvm::dwarf::DW_LANG_C, file, "loopsmith", /*isOptimized=*/true, "", 0);
    has_unit_ = true;
  }
  llvm::DISubroutineType* type = debug_->createSubroutineType(debug_->getOrCreateTypeArray({}));
  const std::string_view shown = shown_name({function.getName().data(), function.getName().size()});
  llvm::DISubprogram* subprogram = debug_->createFunction(file, llvm::StringRef(shown.data(), shown.size()), function.getName(), file, place.line, type,
                                                          place.line, llvm::DINode::FlagPrototyped,
                                                          llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(subprogram);
  scope_ = subprogram;
  ir_.SetCurrentDebugLocation(llvm::DILocation::get(context_, place.line, place.column, scope_));
}

/// Instructions from here on get the line of this node.
void ModuleBuilder::mark(Origin origin) {
  if (!debug_ || scope_ == nullptr || !origin.is_known()) { return; }
  if (auto place = options_.locate(origin)) { ir_.SetCurrentDebugLocation(llvm::DILocation::get(context_, place->line, place->column, scope_)); }
}

}  // namespace loopsmith::codegen
