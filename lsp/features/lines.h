// The functions of workspace/edits/lines.h under the names that the rewrites use: statements as lines of a text, and a text tried with edits in it.
#pragma once

#include "workspace/edits/lines.h"

namespace loopsmith::lsp {

using workspace::Body;
using workspace::TextEdit;
using workspace::TextRewrite;
using workspace::body_of;
using workspace::indent_at;
using workspace::line_break_of;
using workspace::line_end_of;
using workspace::line_start_of;
using workspace::what_breaks;
using workspace::whole_lines;
using workspace::with_edits;

}  // namespace loopsmith::lsp
