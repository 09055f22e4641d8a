-- A user's configuration: the plugin from this repository and nothing else.
vim.o.swapfile = false
vim.g.loopsmith_auto = false
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.cmd('filetype plugin on')
-- The options of a session; a session may set them up again with another value.
LOOPSMITH_OPTIONS = {
  -- If a test needs it, the server has its own cache of machine facts; the editor's cache is shared.
  -- A restarted server records its session beside that of the first one, and has the usual time limits.
  cmd = { 'env', 'XDG_CACHE_HOME=' .. (vim.env.SERVER_CACHE or vim.env.XDG_CACHE_HOME or vim.env.HOME .. '/.cache'), 'sh', '-c',
    'while [ -e "$RECORD" ]; do RECORD="$RECORD.next"; unset LOOPSMITH_TEST_PATIENCE; done; exec "$LOOPSMITH" lsp --stdio --record "$RECORD"' },
  parser = vim.env.PARSER,
  filetypes = { 'tirscript', 'python' },
  -- A search ends after a number of trials, however busy the machine is.
  tune = { trials = 6, seconds = 120, target = 'llvm' },
}
require('loopsmith').setup(LOOPSMITH_OPTIONS)
