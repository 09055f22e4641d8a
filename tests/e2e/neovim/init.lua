-- A user's configuration: the plugin from this repository and nothing else.
vim.o.swapfile = false
vim.g.loopsmith_auto = false
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.cmd('filetype plugin on')
require('loopsmith').setup({
  -- Where a test says so, what is kept of the machine is its own; the editor's cache is not.
  cmd = { 'env', 'XDG_CACHE_HOME=' .. (vim.env.SERVER_CACHE or vim.env.XDG_CACHE_HOME or vim.env.HOME .. '/.cache'), vim.env.LOOPSMITH, 'lsp', '--stdio', '--record', vim.env.RECORD },
  parser = vim.env.PARSER,
  filetypes = { 'tirscript', 'python' },
  tune = { seconds = 4, target = 'llvm' },
})
