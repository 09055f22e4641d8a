-- A user's configuration: the plugin from this repository and nothing else.
vim.o.swapfile = false
vim.g.loopsmith_auto = false
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.cmd('filetype plugin on')
require('loopsmith').setup({
  -- What is kept of the machine is the test's own; the editor's cache is not.
  cmd = { 'env', 'XDG_CACHE_HOME=' .. vim.env.SERVER_CACHE, vim.env.LOOPSMITH, 'lsp', '--stdio', '--record', vim.env.RECORD },
  parser = vim.env.PARSER,
  filetypes = { 'tirscript', 'python' },
  tune = { seconds = 4, target = 'llvm' },
})
