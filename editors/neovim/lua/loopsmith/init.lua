-- Loopsmith in Neovim: the language server (`vim.lsp.start` in 0.10, `vim.lsp.config` since 0.11), tree-sitter
-- highlighting, and commands for the code actions that matter most.
local M = {}

local defaults = {
  cmd = { 'loopsmith', 'lsp', '--stdio' },
  filetypes = { 'tirscript' },       -- add 'python' for Python files that contain TVMScript
  root_markers = { '.git', 'loopsmith.json' },
  tune = { seconds = 60, target = 'llvm' },
  -- The compiled parser (tirscript.so); nil: parser/tirscript.so on 'runtimepath', if there is one.
  parser = nil,
  on_attach = nil,
}

local function capabilities()
  local caps = vim.lsp.protocol.make_client_capabilities()
  caps.general = caps.general or {}
  caps.general.positionEncodings = { 'utf-8', 'utf-16', 'utf-32' }
  return caps
end

local function highlight(options)
  local path = options.parser
  if not path then
    local found = vim.api.nvim_get_runtime_file('parser/tirscript.so', false)
    path = found[1]
  end
  if not path then return end
  local ok = pcall(vim.treesitter.language.add, 'tirscript', { path = path })
  if not ok then return end
  -- Queries stand beside this file's plugin folder: queries/tirscript/.
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('loopsmith_highlight', { clear = true }),
    pattern = 'tirscript',
    callback = function(event) pcall(vim.treesitter.start, event.buf, 'tirscript') end,
  })
end

-- The code action whose title matches, at the cursor, without a menu.
local function act(pattern)
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action) return action.title:match(pattern) ~= nil end,
  })
end

--- Tune the program under the cursor in the background.
function M.tune() act('^Tune .* in the background$') end
--- Insert the best schedule found for the program under the cursor.
function M.insert_best() act('^Insert best schedule') end

function M.setup(user)
  local options = vim.tbl_deep_extend('force', defaults, user or {})
  local server = {
    name = 'loopsmith',
    cmd = options.cmd,
    filetypes = options.filetypes,
    root_markers = options.root_markers,
    capabilities = capabilities(),
    init_options = { tune = options.tune },
    on_attach = options.on_attach,
  }
  if vim.lsp.config then
    vim.lsp.config('loopsmith', server)
    vim.lsp.enable('loopsmith')
  else
    vim.api.nvim_create_autocmd('FileType', {
      group = vim.api.nvim_create_augroup('loopsmith', { clear = true }),
      pattern = options.filetypes,
      callback = function(event)
        if vim.fn.executable(server.cmd[1]) ~= 1 then
          vim.notify_once(('loopsmith: `%s` is not on PATH; build it with ./bootstrap build, or set cmd'):format(server.cmd[1]), vim.log.levels.WARN)
          return
        end
        vim.lsp.start({
          name = server.name,
          cmd = server.cmd,
          capabilities = server.capabilities,
          init_options = server.init_options,
          on_attach = server.on_attach,
          root_dir = vim.fs.root(event.buf, options.root_markers) or vim.fs.dirname(vim.api.nvim_buf_get_name(event.buf)),
        }, { bufnr = event.buf })
      end,
    })
  end
  highlight(options)
  vim.api.nvim_create_user_command('LoopsmithTune', M.tune, { desc = 'Tune the program under the cursor in the background' })
  vim.api.nvim_create_user_command('LoopsmithInsertBest', M.insert_best, { desc = 'Insert the best schedule found' })
end

return M
