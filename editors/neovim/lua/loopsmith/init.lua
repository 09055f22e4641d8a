-- Loopsmith in Neovim: the language server (`vim.lsp.start` in 0.10, `vim.lsp.config` since 0.11), tree-sitter
-- highlighting, hints and lenses, the IR beside a schedule, and commands for the code actions that matter most.
local M = {}

local defaults = {
  cmd = { 'loopsmith', 'lsp', '--stdio' },
  filetypes = { 'tirscript' },       -- add 'python' for Python files that contain TVMScript
  root_markers = { '.git', 'loopsmith.json' },
  tune = { seconds = 60, target = 'llvm' },
  inlay_hints = true,                -- what every statement of a schedule did, behind it
  code_lens = true,                  -- tune, steps that ran; vim.lsp.codelens.run() runs the one at the cursor
  -- The compiled parser (tirscript.so); nil: parser/tirscript.so on 'runtimepath', if there is one.
  parser = nil,
  on_attach = nil,
}

local function capabilities()
  local caps = vim.lsp.protocol.make_client_capabilities()
  caps.general = caps.general or {}
  caps.general.positionEncodings = { 'utf-8', 'utf-16', 'utf-32' }
  caps.experimental = { loopsmithViews = true }
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

-- ---- hints and lenses -------------------------------------------------------------------------------------------------
local function on_attach(options)
  return function(client, buffer)
    if options.inlay_hints and vim.lsp.inlay_hint then pcall(vim.lsp.inlay_hint.enable, true, { bufnr = buffer }) end
    if options.code_lens then
      vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged' }, {
        group = vim.api.nvim_create_augroup('loopsmith_lens_' .. buffer, { clear = true }),
        buffer = buffer,
        callback = function() pcall(vim.lsp.codelens.refresh, { bufnr = buffer }) end,
      })
      pcall(vim.lsp.codelens.refresh, { bufnr = buffer })
    end
    if options.on_attach then options.on_attach(client, buffer) end
  end
end

-- ---- the IR beside a schedule -----------------------------------------------------------------------------------------
-- One scratch buffer per text: the program as it is after the statement at the cursor, lines it changed marked.
local views = {}                     -- source buffer -> view buffer
local marks = vim.api.nvim_create_namespace('loopsmith_ir')
local pending = nil

local function client_of(buffer) return vim.lsp.get_clients({ bufnr = buffer, name = 'loopsmith' })[1] end

local function paint(view, answer)
  local lines = vim.split('# ' .. answer.title .. '\n' .. answer.text, '\n')
  vim.bo[view].modifiable = true
  vim.api.nvim_buf_set_lines(view, 0, -1, false, lines)
  vim.bo[view].modifiable = false
  vim.api.nvim_buf_clear_namespace(view, marks, 0, -1)
  for _, range in ipairs(answer.changed) do
    for line = range.startLine + 1, range.endLine do
      vim.api.nvim_buf_set_extmark(view, marks, line, 0, { line_hl_group = 'DiffAdd' })
    end
  end
  local first = answer.changed[1]
  for _, window in ipairs(vim.fn.win_findbuf(view)) do
    if first then vim.api.nvim_win_set_cursor(window, { first.startLine + 2, 0 }) end
  end
end

local function update(buffer)
  local view, client = views[buffer], client_of(buffer)
  if not (view and client and vim.api.nvim_buf_is_valid(view)) then return end
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then return end
  local params = vim.lsp.util.make_position_params(window, client.offset_encoding)
  client.request('loopsmith/ir', params, function(_, answer)
    -- An answer about a text that has changed meanwhile is an error; the change asks again.
    if answer and vim.api.nvim_buf_is_valid(view) then paint(view, answer) end
  end, buffer)
end

--- Shows the IR at the cursor in a window beside, which follows the cursor.
function M.show_ir()
  local buffer = vim.api.nvim_get_current_buf()
  if not client_of(buffer) then return vim.notify('loopsmith: the language server does not serve this buffer', vim.log.levels.WARN) end
  local view = views[buffer]
  if not (view and vim.api.nvim_buf_is_valid(view)) then
    view = vim.api.nvim_create_buf(false, true)
    views[buffer] = view
    vim.bo[view].bufhidden = 'wipe'
    vim.api.nvim_buf_set_name(view, 'loopsmith-ir:' .. vim.api.nvim_buf_get_name(buffer))
    if not pcall(vim.treesitter.start, view, 'tirscript') then vim.bo[view].syntax = 'python' end
    local group = vim.api.nvim_create_augroup('loopsmith_ir_' .. buffer, { clear = true })
    vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'TextChanged', 'TextChangedI' }, {
      group = group,
      buffer = buffer,
      callback = function()
        if pending then pending:stop() end
        pending = vim.defer_fn(function() update(buffer) end, 40)
      end,
    })
    vim.api.nvim_create_autocmd('BufWipeout', {
      group = group,
      buffer = view,
      callback = function()
        views[buffer] = nil
        vim.api.nvim_clear_autocmds({ group = group, buffer = buffer })
      end,
    })
  end
  if vim.fn.bufwinid(view) == -1 then
    local here = vim.api.nvim_get_current_win()
    vim.cmd('rightbelow vsplit')
    vim.api.nvim_win_set_buf(0, view)
    vim.wo.wrap = false
    vim.api.nvim_set_current_win(here)
  end
  update(buffer)
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
    on_attach = on_attach(options),
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
  vim.lsp.handlers['loopsmith/tuning'] = function(_, news) require('loopsmith.tuning').note(news) end
  vim.lsp.commands['loopsmith.showIr'] = function() M.show_ir() end
  vim.api.nvim_create_user_command('LoopsmithIR', M.show_ir, { desc = 'Show the IR at the cursor beside, and follow' })
  vim.api.nvim_create_user_command('LoopsmithLoops', function() require('loopsmith.loops').show() end, { desc = 'Show the loops at the cursor beside, and choose what to do to one' })
  vim.api.nvim_create_user_command('LoopsmithTuning', function() require('loopsmith.tuning').show() end, { desc = 'Show the search that runs, or the last one' })
  vim.api.nvim_create_user_command('LoopsmithTune', M.tune, { desc = 'Tune the program under the cursor in the background' })
  vim.api.nvim_create_user_command('LoopsmithInsertBest', M.insert_best, { desc = 'Insert the best schedule found' })
end

return M
