-- A user's configuration: the plugin from this repository and nothing else.
vim.o.swapfile = false
vim.g.loopsmith_auto = false
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.cmd('filetype plugin on')
require('loopsmith').setup({
  cmd = { vim.env.LOOPSMITH, 'lsp', '--stdio', '--record', vim.env.RECORD },
  parser = vim.env.PARSER,
  filetypes = { 'tirscript', 'python' },
  tune = { seconds = 4, target = 'llvm' },
})
