# shellcheck shell=bash
# Finds the editors' test tools: a folder with neovim/nvim, vscode-e2e/ and terminal/tmux.sh. Source this file.
#   LOOPSMITH_EDITOR_TOOLS   that folder (default: shared/tools beside the repository)
# A missing tool fails the test: an editor that is not tested is not supported.
e2e_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
e2e_tools=${LOOPSMITH_EDITOR_TOOLS:-$e2e_root/../shared/tools}
e2e_need() {
    [ -e "$e2e_tools/$1" ] && return 0
    echo "e2e: $e2e_tools/$1 is missing; set LOOPSMITH_EDITOR_TOOLS to the folder with the editors' test tools" >&2
    exit 1
}
# LOOPSMITH: the program under test.
: "${LOOPSMITH:=$e2e_root/build/release/bin/loopsmith}"
[ -x "$LOOPSMITH" ] || { echo "e2e: $LOOPSMITH is missing; build it or set LOOPSMITH" >&2; exit 1; }
export LOOPSMITH
