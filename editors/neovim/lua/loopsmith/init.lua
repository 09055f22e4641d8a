-- Loopsmith in Neovim: options, tree-sitter highlighting and commands. The larger commands have their own files: the IR beside a
-- schedule (ir.lua, keys.lua), loops (loops.lua), searches (tuning.lua). server.lua starts the server.
local M = {}

local server = require('loopsmith.server')
local windows = require('loopsmith.window')

local defaults = {
  cmd = { 'loopsmith', 'lsp', '--stdio' },
  filetypes = { 'tirscript' },       -- add 'python' for Python files that contain TVMScript
  root_markers = { '.git', 'loopsmith.json' },
  tune = { seconds = 60, target = 'llvm' },
  inlay_hints = true,                -- the effect of every statement of a schedule, behind the statement
  loop_hints = false,                -- the reason why loops are not vectorized; :LoopsmithHints turns these hints on and off
  pull_diagnostics = false,          -- the editor requests diagnostics, instead of receiving them after changes
  caches = nil,                      -- bytes of the caches, the nearest first: { 32768, 1048576 }; nil: this machine's
  peaks = nil,                       -- of one core: { gflops = 150, gbytes = 20 }; nil: as measured on this machine
  code_lens = true,                  -- tune, steps that ran; vim.lsp.codelens.run() runs the one at the cursor
  -- The compiled parser (tirscript.so); nil: parser/tirscript.so on 'runtimepath', if there is one.
  parser = nil,
  on_attach = nil,
}

local function capabilities()
  local caps = vim.lsp.protocol.make_client_capabilities()
  caps.general = caps.general or {}
  caps.general.positionEncodings = { 'utf-8', 'utf-16', 'utf-32' }
  caps.experimental = { loopsmithViews = true, loopsmithReplayProgress = true, serverStatusNotification = true, interactiveResolve = { inputTypes = { 'string', 'number' } } }
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
  -- The queries are in this plugin's folder: queries/tirscript/.
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('loopsmith_highlight', { clear = true }),
    pattern = 'tirscript',
    callback = function(event) pcall(vim.treesitter.start, event.buf, 'tirscript') end,
  })
end

--- Shows the IR at the cursor in a window beside, which follows the cursor; `stage`: 'lowered', 'llvm', 'asm', 'device', 'cuda', 'opencl', 'ptx'.
function M.show_ir(stage) require('loopsmith.ir').show(stage) end

-- Shows states, given by their addresses, side by side in a new tab.
local function show_states(client, buffer, addresses)
  local texts, count = {}, 0
  for i, address in ipairs(addresses) do
    server.request(client, 'workspace/textDocumentContent', { uri = address }, function(problem, content)
      if problem then return vim.notify('loopsmith: ' .. problem.message, vim.log.levels.WARN) end
      texts[i], count = vim.split(content.text, '\n'), count + 1
      if count < #addresses then return end
      vim.cmd('tabnew')
      for shown, lines in ipairs(texts) do
        if shown > 1 then vim.cmd('rightbelow vnew') end
        local state = vim.api.nvim_get_current_buf()
        vim.bo[state].buftype, vim.bo[state].bufhidden = 'nofile', 'wipe'
        vim.api.nvim_buf_set_lines(state, 0, -1, false, lines)
        vim.bo[state].modifiable = false
        windows.name(state, 'loopsmith-ir:' .. addresses[shown]:match('#(.*)$'))
        if not pcall(vim.treesitter.start, state, 'tirscript') then vim.bo[state].syntax = 'python' end
        vim.cmd('diffthis')
      end
    end, buffer)
  end
end

--- Shows two states of the schedule at the cursor as a diff in a new tab: after the statement at the cursor, and after another one (by default the one before).
function M.compare_steps(other)
  local buffer = vim.api.nvim_get_current_buf()
  local client = server.need(buffer)
  if not client then return end
  server.request(client, 'loopsmith/ir', vim.lsp.util.make_position_params(0, client.offset_encoding), function(_, here)
    local text, schedule, at = ((here or {}).uri or ''):match('^(.*)#(.*)@(%d+)$')
    if not at then return server.warn('the cursor is not on a statement of a schedule') end
    local total, step = tonumber(here.title:match('after %d+ of (%d+) statements')), tonumber(other)
    if other and not (step and step >= 0 and step <= total and step == math.floor(step)) then
      return server.warn(('`%s` is not a statement of %s, which has %d: 0 is the program as written'):format(other, schedule, total))
    end
    local from, to = step or math.max(0, tonumber(at) - 1), tonumber(at)
    if from > to then from, to = to, from end
    local function address(step) return ('%s#%s@%d'):format(text, schedule, step) end
    show_states(client, buffer, from == to and { address(from) } or { address(from), address(to) })
  end, buffer)
end

-- Documents with an address (`loopsmith-ir:/a.tir#tiled@3`), to which definitions and implementations lead. Their text is read when they are
-- opened, and again when the server reports a change.
local function read_content(buffer, address)
  vim.bo[buffer].buftype, vim.bo[buffer].swapfile = 'nofile', false
  local why = 'no server runs'
  for _, client in ipairs(vim.lsp.get_clients({ name = 'loopsmith' })) do
    -- Not deferred: a jump needs the text when the buffer is shown.
    local answer = server.request_sync(client, 'workspace/textDocumentContent', { uri = address }, 5000, 0)
    if answer and answer.result then
      vim.bo[buffer].modifiable = true
      vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(answer.result.text, '\n'))
      vim.bo[buffer].modifiable, vim.bo[buffer].modified = false, false
      if address:find(':asm$') then vim.bo[buffer].syntax = 'asm'
      elseif address:find(':llvm$') then vim.bo[buffer].syntax = 'llvm'
      elseif address:find(':cuda$') then vim.bo[buffer].syntax = 'cuda'
      elseif address:find(':ptx$') then vim.bo[buffer].syntax = 'asm'
      elseif address:find(':opencl$') then vim.bo[buffer].syntax = 'c'
      elseif not pcall(vim.treesitter.start, buffer, 'tirscript') then vim.bo[buffer].syntax = 'python' end
      return
    end
    why = answer and answer.err and answer.err.message or 'the server did not answer'
  end
  vim.bo[buffer].modifiable, vim.bo[buffer].modified = false, false
  -- A text that is already shown stays.
  if vim.api.nvim_buf_line_count(buffer) > 1 then return end
  server.warn(('`%s` cannot be shown: %s'):format(address, why))
end

-- Applies the code action at the cursor whose title matches, without a menu.
local function act(pattern)
  if not server.need(vim.api.nvim_get_current_buf()) then return end
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action) return action.title:match(pattern) ~= nil end,
  })
end

--- Opens a REPL in a terminal that sees the buffer as it is, saved or not.
function M.repl()
  local buffer = vim.api.nvim_get_current_buf()
  local client = server.need(buffer)
  if not client then return end
  local params = { command = 'loopsmith.attachRepl', arguments = { { uri = vim.uri_from_bufnr(buffer), position = { line = vim.api.nvim_win_get_cursor(0)[1] - 1, character = 0 } } } }
  server.request(client, 'workspace/executeCommand', params, function(problem, answer)
    if problem then return vim.notify('loopsmith: ' .. problem.message, vim.log.levels.ERROR) end
    vim.cmd('botright new')
    if vim.fn.has('nvim-0.11') == 1 then vim.fn.jobstart(answer.command, { term = true }) else vim.fn.termopen(answer.command) end
    vim.cmd('startinsert')
  end, buffer)
end

-- Returns the reason why a file cannot be moved to a path, or nil. Makes the folder if it does not exist.
local function cannot_move(from, target)
  local uv, folder = vim.uv or vim.loop, vim.fs.dirname(target)
  local here = uv.fs_stat(from)
  if not here then return 'this buffer was never written: :write makes its file' end
  if target:find('/$') then return target .. ' is a folder: name a file' end
  if uv.fs_stat(target) then return target .. ' is there already' end
  if not pcall(vim.fn.mkdir, folder, 'p') then return ('the folder %s cannot be made'):format(folder) end
  if not (uv.fs_access(folder, 'W') and uv.fs_access(vim.fs.dirname(from), 'W')) then return ('no file can be moved from %s to %s: you may not write there'):format(vim.fs.dirname(from), folder) end
  if uv.fs_stat(folder).dev ~= here.dev then return folder .. ' is on another file system: copy the file' end
end

--- Renames or moves the file of this buffer, and updates imports in other files, in buffers that are not written yet.
function M.rename_file(to)
  local buffer = vim.api.nvim_get_current_buf()
  local client = server.need(buffer)
  if not client then return end
  local from, target = vim.api.nvim_buf_get_name(buffer), vim.fn.fnamemodify(to, ':p')
  local why = cannot_move(from, target)
  if why then return vim.notify('loopsmith: ' .. why, vim.log.levels.ERROR) end
  local files = { { oldUri = vim.uri_from_fname(from), newUri = vim.uri_from_fname(target) } }
  server.request(client, 'workspace/willRenameFiles', { files = files }, function(problem, edit)
    if problem then return vim.notify('loopsmith: ' .. problem.message, vim.log.levels.ERROR) end
    if edit then vim.lsp.util.apply_workspace_edit(edit, client.offset_encoding) end
    local is_moved, what = pcall(vim.lsp.util.rename, from, target)
    if not is_moved then return vim.notify(('loopsmith: %s was not moved: %s'):format(from, what), vim.log.levels.ERROR) end
    local changed = edit and (edit.documentChanges and #edit.documentChanges or vim.tbl_count(edit.changes or {})) or 0
    if changed > 0 then vim.notify(('loopsmith: %d file%s changed; :wall writes them'):format(changed, changed == 1 and '' or 's')) end
  end, buffer)
end

-- Sends a command to the server for the place of the cursor, or for the subject of a lens; `then_` receives the answer.
local function command(name, then_, about)
  local buffer = vim.api.nvim_get_current_buf()
  local client = server.need(buffer)
  if not client then return end
  local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
  server.request(client, 'workspace/executeCommand', { command = name, arguments = { about or { uri = place.textDocument.uri, position = place.position } } }, function(problem, answer)
    if problem then return vim.notify('loopsmith: ' .. problem.message, vim.log.levels.ERROR) end
    if then_ then then_(answer) end
  end, buffer)
end

local function split_beside(action)
  local here = vim.api.nvim_get_current_win()
  vim.cmd('rightbelow vsplit')
  action()
  vim.api.nvim_set_current_win(here)
end

--- Pauses, resumes or stops the search of this buffer; a stopped search keeps its best result.
function M.pause() command('loopsmith.tune.pause') end
function M.resume() command('loopsmith.tune.resume') end
function M.stop() command('loopsmith.tune.stop') end
--- Runs the schedule to the statement at the cursor and shows the program there.
function M.replay_to()
  command('loopsmith.replay.to', function(view) split_beside(function() vim.cmd('edit ' .. vim.fn.fnameescape(view.uri)) end) end)
end
local function show_text(answer)
  split_beside(function()
    vim.cmd.enew()
    local buffer = vim.api.nvim_get_current_buf()
    vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].filetype = 'nofile', 'wipe', 'markdown'
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split('# ' .. answer.title .. '\n\n' .. vim.trim(answer.text), '\n'))
    vim.bo[buffer].modifiable = false
  end)
end
--- Shows the records that are used for the program at the cursor, and why others are not.
function M.explain_records() command('loopsmith.db.explain', show_text) end
--- Shows the results of the searches for the program at the cursor, one after the other.
function M.history(about) command('loopsmith.db.history', show_text, about) end
--- Compares two schedules statement by statement at once; their times follow in a message and in the lens. `about`: { uri, schedule, other, function }.
function M.compare(about)
  command('loopsmith.schedules.compare', show_text, about)
  command('loopsmith.bench', nil, about)
end
--- Switches the hints that give reasons why loops are not vectorized.
function M.hints()
  command('loopsmith.hints.toggle', function(answer) vim.notify('loopsmith: hints about loops are ' .. (answer.shown and 'shown' or 'hidden')) end)
end

-- The state of the server for 'statusline': "loopsmith", with a mark while it works or if something is wrong.
local server_status = { health = 'ok', quiescent = true, message = '' }
function M.status()
  if #vim.lsp.get_clients({ name = 'loopsmith' }) == 0 then return '' end
  local mark = server_status.health == 'error' and ' ✗' or server_status.health == 'warning' and ' !' or not server_status.quiescent and ' …' or ''
  return 'loopsmith' .. mark .. (server_status.message ~= '' and ': ' .. server_status.message:gsub('\n', '; ') or '')
end

--- Shows the memory of the server, file by file, in a buffer beside.
function M.memory()
  local client = vim.lsp.get_clients({ name = 'loopsmith' })[1]
  if not client then return server.need(vim.api.nvim_get_current_buf()) end
  server.request(client, 'loopsmith/memoryUsage', vim.empty_dict(), function(problem, answer)
    if problem then return vim.notify('loopsmith: ' .. problem.message, vim.log.levels.ERROR) end
    vim.cmd('botright new')
    local buffer = vim.api.nvim_get_current_buf()
    vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'nofile', 'wipe', false
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(answer.text, '\n', { trimempty = true }))
    vim.bo[buffer].modifiable = false
  end)
end

--- Writes a report of the fault at the cursor, without names and texts of the file, and shows its contents.
function M.report()
  command('loopsmith.report.bundle', function(answer)
    vim.notify('loopsmith: a report is in ' .. answer.path)
    split_beside(function() vim.cmd('edit ' .. vim.fn.fnameescape(answer.path .. '/README.md')) end)
  end)
end

--- Tune the program under the cursor in the background.
function M.tune() act('^Tune .* in the background$') end
-- Runs a command after asking its questions. A question is repeated, with the reason, after a wrong answer. `then_` runs after the command.
local function with_answers(client, buffer, asked, then_)
  local resolve
  local function ask(form, i, answers)
    if i > #form.formFields then return resolve({ command = form.command, arguments = form.arguments, formAnswers = answers }) end
    local field = form.formFields[i]
    local prompt = field.description .. (field.error and ': ' .. field.error or '') .. ' '
    vim.ui.input({ prompt = prompt, default = tostring((form.formAnswers or {})[i] or field.default or '') }, function(answer)
      if answer == nil then return end
      answers[i] = answer
      ask(form, i + 1, answers)
    end)
  end
  function resolve(form)
    server.request(client, 'command/resolve', form, function(problem, answer)
      if problem then return vim.notify('loopsmith: ' .. problem.message, vim.log.levels.ERROR) end
      if answer.formFields and #answer.formFields > 0 then return vim.schedule(function() ask(answer, 1, {}) end) end
      server.request(client, 'workspace/executeCommand', answer, function(failed)
        if failed then return vim.notify('loopsmith: ' .. failed.message, vim.log.levels.ERROR) end
        if then_ then then_() end
      end, buffer)
    end, buffer)
  end
  resolve({ command = asked.command, arguments = asked.arguments })
end
-- Runs a command on a program. Before the first one, asks for the sizes that the shapes of the program leave open; the server keeps them.
local function with_sizes(client, buffer, asked, go)
  go = go or function()
    server.request(client, 'workspace/executeCommand', { command = asked.command, arguments = asked.arguments }, function(failed)
      if failed then vim.notify('loopsmith: ' .. failed.message, vim.log.levels.ERROR) end
    end, buffer)
  end
  local about = (asked.arguments or {})[1] or {}
  if not about.sizes then return go() end
  local question = { command = 'loopsmith.sizes', arguments = { { uri = about.uri, ['function'] = about['function'], sizes = about.sizes } } }
  with_answers(client, buffer, question, go)
end
-- Finds the code action at the cursor with this command, and asks its questions.
local function act_with_answers(name, missing)
  local buffer = vim.api.nvim_get_current_buf()
  local client = server.need(buffer)
  if not client then return end
  local asked = vim.lsp.util.make_range_params(0, client.offset_encoding)
  asked.context = { diagnostics = {} }
  server.request(client, 'textDocument/codeAction', asked, function(_, actions)
    local found
    for _, one in ipairs(actions or {}) do if type(one.command) == 'table' and one.command.command == name then found = one.command end end
    if not found then return vim.notify('loopsmith: ' .. missing, vim.log.levels.WARN) end
    with_sizes(client, buffer, found, function() with_answers(client, buffer, found) end)
  end, buffer)
end
--- The same, after asking for the number of trials, the time and the target.
function M.tune_with() act_with_answers('loopsmith.tune', 'there is no program at the cursor that could be tuned') end
--- Asks for factors and splits the loop at the cursor.
function M.split() act_with_answers('loopsmith.split', 'there is no loop at the cursor that could be split') end
--- Insert the best schedule found for the program under the cursor.
function M.insert_best() act('^Insert best schedule') end

-- `:help loopsmith` needs the tags file beside its page; it is made if it is missing or older than the page.
local function make_help_tags()
  local page = vim.api.nvim_get_runtime_file('doc/loopsmith.txt', false)[1]
  if not page then return end
  local uv, folder = vim.uv or vim.loop, vim.fs.dirname(page)
  local tags = uv.fs_stat(folder .. '/tags')
  if tags and tags.mtime.sec >= uv.fs_stat(page).mtime.sec or not uv.fs_access(folder, 'W') then return end
  pcall(vim.cmd, 'helptags ' .. vim.fn.fnameescape(folder))
end

function M.setup(user)
  local options = vim.tbl_deep_extend('force', defaults, user or {})
  local fresh = require('loopsmith.fresh')
  local config = {
    capabilities = capabilities(),
    handlers = {},
    init_options = { tune = options.tune, loopHints = options.loop_hints, pullDiagnostics = options.pull_diagnostics, caches = options.caches, peaks = options.peaks, trusted = options.trusted },
    on_attach = function(client, buffer)
      fresh.attach(client, buffer, options)
      if options.on_attach then options.on_attach(client, buffer) end
    end,
  }
  fresh.configure(config.capabilities, config.handlers)
  server.setup(options, config)
  windows.setup()
  make_help_tags()
  highlight(options)
  require('loopsmith.replay').setup()
  vim.lsp.handlers['loopsmith/tuning'] = function(_, news, context) require('loopsmith.tuning').note(news, context.client_id) end
  vim.lsp.handlers['workspace/textDocumentContent/refresh'] = function(_, params)
    local buffer = vim.uri_to_bufnr(params.uri)
    if vim.api.nvim_buf_is_loaded(buffer) then vim.schedule(function() read_content(buffer, params.uri) end) end
    return vim.NIL
  end
  vim.api.nvim_create_autocmd('BufReadCmd', {
    group = vim.api.nvim_create_augroup('loopsmith_content', { clear = true }),
    -- Neovim takes an address without `//` for a file name and may put a folder before it; the address of a buffer without a name has no `/`.
    pattern = { '*loopsmith-ir:/*', 'loopsmith-ir:*' },
    callback = function(event) read_content(event.buf, event.match:match('loopsmith%-ir:.*$')) end,
  })
  vim.lsp.handlers['experimental/serverStatus'] = function(_, now)
    server_status = now
    vim.cmd('redrawstatus!')
    vim.api.nvim_exec_autocmds('User', { pattern = 'LoopsmithStatus', data = now })
  end
  vim.lsp.commands['loopsmith.showIr'] = function() M.show_ir() end
  vim.lsp.commands['loopsmith.showDifference'] = function(lens, context)
    local states = lens.arguments[1]
    show_states(vim.lsp.get_client_by_id(context.client_id), context.bufnr, { states.from, states.to })
  end
  vim.lsp.commands['loopsmith.showHistory'] = function(lens) M.history(lens.arguments[1]) end
  vim.lsp.commands['loopsmith.showComparison'] = function(lens) M.compare(lens.arguments[1]) end
  vim.lsp.commands['loopsmith.sizes'] = function(lens, context) with_answers(vim.lsp.get_client_by_id(context.client_id), context.bufnr, lens) end
  for _, name in ipairs({ 'tune', 'run', 'bench', 'verify', 'interpret' }) do
    vim.lsp.commands['loopsmith.' .. name] = function(lens, context) with_sizes(vim.lsp.get_client_by_id(context.client_id), context.bufnr, lens) end
  end
  vim.lsp.commands['loopsmith.split'] = function(action, context) with_answers(vim.lsp.get_client_by_id(context.client_id), context.bufnr, action) end
  vim.api.nvim_create_user_command('LoopsmithIR', function(call) M.show_ir(call.args) end, {
    nargs = '?',
    complete = function() return { 'lowered', 'llvm', 'asm', 'device', 'cuda', 'opencl', 'ptx' } end,
    desc = 'Show the IR at the cursor beside, and follow the cursor; also lowered, as LLVM IR, as assembly or as kernels',
  })
  vim.api.nvim_create_user_command('LoopsmithDiff', function(call) M.compare_steps(call.args ~= '' and call.args or nil) end, {
    nargs = '?',
    desc = 'Compare the state after the statement at the cursor with the one before, or after statement N',
  })
  vim.api.nvim_create_user_command('LoopsmithLoops', function() require('loopsmith.loops').show() end, { desc = 'Show the loops at the cursor beside, and choose a primitive for one' })
  vim.api.nvim_create_user_command('LoopsmithTuning', function() require('loopsmith.tuning').show() end, { desc = 'Show the running search, or the last one' })
  vim.api.nvim_create_user_command('LoopsmithRepl', M.repl, { desc = 'Open a REPL that sees the buffer as it is, saved or not' })
  vim.api.nvim_create_user_command('LoopsmithRename', function(call) M.rename_file(call.args) end, { nargs = 1, complete = 'file', desc = 'Rename the file of this buffer, and update imports' })
  vim.api.nvim_create_user_command('LoopsmithPause', M.pause, { desc = 'Pause the search of this buffer' })
  vim.api.nvim_create_user_command('LoopsmithResume', M.resume, { desc = 'Resume the paused search of this buffer' })
  vim.api.nvim_create_user_command('LoopsmithStop', M.stop, { desc = 'Stop the search of this buffer and keep the best' })
  vim.api.nvim_create_user_command('LoopsmithReplay', M.replay_to, { desc = 'Run the schedule to the statement at the cursor and show the program there' })
  vim.api.nvim_create_user_command('LoopsmithRecords', M.explain_records, { desc = 'Show the records used for the program at the cursor, and why others are not' })
  vim.api.nvim_create_user_command('LoopsmithHistory', function() M.history() end, { desc = 'Show the results of searches for the program at the cursor' })
  vim.api.nvim_create_user_command('LoopsmithSplit', M.split, { desc = 'Split the loop at the cursor, asking for the factors' })
  vim.api.nvim_create_user_command('LoopsmithHints', M.hints, { desc = 'Switch the hints that give reasons why loops are not vectorized' })
  vim.api.nvim_create_user_command('LoopsmithMemory', M.memory, { desc = 'Show the memory of the server, file by file' })
  vim.api.nvim_create_user_command('LoopsmithRestart', server.restart, { desc = 'End the language server and start another one' })
  vim.api.nvim_create_user_command('LoopsmithReport', M.report, { desc = 'Write a report of the fault at the cursor, without names and texts of the file' })
  vim.api.nvim_create_user_command('LoopsmithTune', M.tune, { desc = 'Tune the program under the cursor in the background' })
  vim.api.nvim_create_user_command('LoopsmithTuneWith', M.tune_with, { desc = 'Tune the program under the cursor, asking for trials, time and target' })
  vim.api.nvim_create_user_command('LoopsmithInsertBest', M.insert_best, { desc = 'Insert the best schedule found' })
end

return M
