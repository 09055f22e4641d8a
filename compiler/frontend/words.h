// Words in quotes that mean something to a compiler: thread axes, storage scopes, keys of attributes, kinds of target. TVM's script takes any
// word there and does nothing with one that it does not know, so a word that is nearly a known one is reported.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/objects.h"

namespace loopsmith::frontend {

enum class Vocabulary : uint8_t { ThreadAxis, StorageScope, LoopAnnotation, BlockAnnotation, FunctionAttribute, StatementAttribute, TargetKind };

/// The words of a vocabulary, those most used first.
[[nodiscard]] auto known_words(Vocabulary vocabulary) -> const std::vector<Name>&;

/// Warns where `word` is no word of the vocabulary and nearly one. `where`: the word, or the dictionary it is a key of.
void check_word(Evaluator& evaluator, Vocabulary vocabulary, std::string_view word, Origin where);
/// The same for every key.
void check_keys(Evaluator& evaluator, Vocabulary vocabulary, const AttrMap& attrs, Origin where);

/// The literal that a warning is about, found in the text of its declaration: narrows the warning to it and adds the edit.
/// A word that comes from elsewhere (a constant, an f-string) is left as it is.
void place_word(Diagnostic& diagnostic, std::string_view text);

/// The fix of a `Deprecated` where the form is written in full (`T.Buffer[...]`): none otherwise. `text`: of the declaration.
void modernise(Diagnostic& diagnostic, std::string_view text);

}  // namespace loopsmith::frontend
