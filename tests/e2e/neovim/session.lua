-- The common session of all editors (../session), in Neovim: makes the requests of each step and writes the results as lines
-- of text to $ANSWERS. ../session/steps.mjs checks the results.
local steps = vim.json.decode(table.concat(vim.fn.readfile(vim.env.STEPS), '\n'))
local answers = {}
local client, buffer

local function lines() return vim.api.nvim_buf_get_lines(buffer, 0, -1, false) end
local function text() return table.concat(lines(), '\n') end

-- { line, column } from 0, in bytes: the texts are ASCII.
local function place(step, at)
  local found
  for i, line in ipairs(lines()) do
    if line:find(at[1], 1, true) then
      found = i
      if not step.last then break end
    end
  end
  if not found then error('no line has ' .. at[1]) end
  local column = lines()[found]:find(at[2], 1, true)
  if not column then error('that line has no ' .. at[2]) end
  local line = found - 1 + (step.below or 0)
  return { line = line, character = step.below and 0 or column - 1 + (at[3] or 0) }
end
local function params(step)
  return { textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = place(step, step.at) }
end
local function request(method, asked, at_least)
  local answer = client.request_sync(method, asked, 60000, buffer)
  if not answer then error(method .. ' was not answered') end
  if answer.err then return nil, answer.err.message end
  return answer.result ~= vim.NIL and answer.result or nil
end
local function settle()
  request('loopsmith/waitForState', { uri = vim.uri_from_bufnr(buffer), version = vim.lsp.util.buf_versions[buffer] })
  vim.wait(20)
end
local function base(uri) return (uri:gsub('^.*/', '')) end
local function document_of(uri)
  if uri == vim.uri_from_bufnr(buffer) then return lines() end
  -- A file that was not open is not opened.
  if uri:find('^file:') then return vim.fn.readfile(vim.uri_to_fname(uri)) end
  local other = vim.uri_to_bufnr(uri)
  vim.fn.bufload(other)
  return vim.api.nvim_buf_get_lines(other, 0, -1, false)
end
local function text_in(all, range)
  local last = range['end'].line == range.start.line and range['end'].character or nil
  return (all[range.start.line + 1] or ''):sub(range.start.character + 1, last)
end
local function locations(result)
  local out = {}
  for _, one in ipairs(vim.islist(result or {}) and (result or {}) or { result }) do
    local uri, range = one.uri or one.targetUri, one.range or one.targetSelectionRange
    out[#out + 1] = ('%s:%d: %s'):format(base(uri), range.start.line + 1, text_in(document_of(uri), range))
  end
  return out
end
-- The lines that have changed.
local function difference(before, after)
  local out = {}
  local diff = vim.diff(before .. '\n', after .. '\n', { ctxlen = 0 })
  for line in diff:gmatch('[^\n]+') do
    if line:find('^[+-]') then out[#out + 1] = line end
  end
  return out
end
local function split(value)
  local out = {}
  for _, line in ipairs(vim.split(value or '', '\n')) do
    if line ~= '' then out[#out + 1] = line end
  end
  return out
end
local function in_force(step)
  vim.api.nvim_set_current_buf(buffer)
  vim.cmd('let &undolevels = &undolevels')
end
local function apply_edits(edits)
  in_force()
  local before = text()
  vim.lsp.util.apply_text_edits(edits or {}, buffer, client.offset_encoding)
  local out = difference(before, text())
  if text() ~= before then vim.cmd('undo') end
  if text() ~= before then out[#out + 1] = 'one undo does not take it back' end
  return out
end
-- Executes an action or a rename as the editor does, and reverts it by one undo.
local function carried_out(change)
  in_force()
  local before = text()
  change()
  if not vim.wait(20000, function() return text() ~= before end, 20) then return { 'nothing changed' } end
  local out = difference(before, text())
  vim.cmd('undo')
  if text() ~= before then out[#out + 1] = 'one undo does not take it back' end
  return out
end
local function range_of(step)
  local from = place(step, step.at)
  return { start = from, ['end'] = step.to and place(step, step.to) or from }
end
local function actions(step)
  settle()
  local range = range_of(step)
  local about = {}
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    if d.lnum <= range['end'].line and d.end_lnum >= range.start.line and not (d.lnum == range['end'].line and d.col > range['end'].character)
      and not (d.end_lnum == range.start.line and d.end_col < range.start.character) then
      about[#about + 1] = d.user_data.lsp
    end
  end
  return request('textDocument/codeAction', { textDocument = { uri = vim.uri_from_bufnr(buffer) }, range = range, context = { diagnostics = about } }) or {}
end
local function lens_titles()
  local out = {}
  for _, lens in ipairs(request('textDocument/codeLens', { textDocument = { uri = vim.uri_from_bufnr(buffer) } }) or {}) do
    local title = lens.command.title:gsub('[%d.]+ [mun]?s%f[%W]', 'TIME'):gsub('[%d.]+x', 'Nx')
    out[#out + 1] = { line = lens.range.start.line + 1, title = title, command = lens.command }
  end
  return out
end
local function wait_for_lens(pattern)
  local found
  vim.wait(60000, function()
    for _, lens in ipairs(lens_titles()) do
      if lens.title:find(pattern, 1, true) then found = lens return true end
    end
  end, 200)
  return found
end
-- Stops the server and starts another one for the same buffers.
local function start_again()
  local before = client.id
  local served = vim.lsp.get_buffers_by_client_id(before)
  client.stop()
  vim.wait(20000, function() return vim.lsp.get_client_by_id(before) == nil end, 20)
  for _, one in ipairs(served) do vim.api.nvim_exec_autocmds('FileType', { buffer = one, modeline = false }) end
  vim.wait(20000, function()
    client = vim.lsp.get_clients({ bufnr = buffer, name = 'loopsmith' })[1]
    return client ~= nil and client.id ~= before and client.initialized
  end, 20)
end
-- Collects the notifications of the server until `done`.
local function progress_until(done)
  local heard = {}
  local id = vim.api.nvim_create_autocmd('LspProgress', { callback = function(event) table.insert(heard, event.data.params or event.data.result) end })
  done(heard)
  vim.api.nvim_del_autocmd(id)
  return heard
end
local severities = { 'error', 'warning', 'information', 'hint' }
local function tokens(result)
  local legend = client.server_capabilities.semanticTokensProvider.legend
  local out, line, column = {}, 0, 0
  for i = 1, #(result or { data = {} }).data, 5 do
    local d = result.data
    column = d[i] == 0 and column + d[i + 1] or d[i + 1]
    line = line + d[i]
    local modifiers = {}
    for bit_at, name in ipairs(legend.tokenModifiers) do
      if bit.band(d[i + 4], bit.lshift(1, bit_at - 1)) ~= 0 then modifiers[#modifiers + 1] = name end
    end
    out[#out + 1] = { line = line, text = ('%s %s'):format(lines()[line + 1]:sub(column + 1, column + d[i + 2]),
      table.concat(vim.list_extend({ legend.tokenTypes[d[i + 3] + 1] }, modifiers), '.')) }
  end
  return out
end
local function of_line(all, line)
  local out = {}
  for _, one in ipairs(all) do if one.line == line then out[#out + 1] = one.text end end
  return out
end
local function items_of(step)
  local result = request('textDocument/completion', vim.tbl_extend('force', params(step), { context = { triggerKind = 1 } }))
  local items = vim.islist(result) and result or result.items
  table.sort(items, function(a, b) return a.sortText < b.sortText end)
  return items
end
local function calls(step, method, key)
  local item = request('textDocument/prepareCallHierarchy', params(step))
  local out = {}
  for _, call in ipairs(request(method, { item = item[1] }) or {}) do
    out[#out + 1] = ('%s, %d place%s'):format(call[key].name, #call.fromRanges, #call.fromRanges == 1 and '' or 's')
  end
  return out
end

local verbs = {}
function verbs.diagnostics()
  settle()
  local out = {}
  local all = vim.diagnostic.get(buffer)
  table.sort(all, function(a, b) return a.lnum ~= b.lnum and a.lnum < b.lnum or (a.lnum == b.lnum and a.message < b.message) end)
  for _, d in ipairs(all) do
    local said = d.user_data.lsp
    out[#out + 1] = ('%d: %s: %s [%s]'):format(d.lnum + 1, severities[d.severity], d.message, d.code)
    for _, related in ipairs(said.relatedInformation or {}) do
      out[#out + 1] = ('  %d: %s'):format(related.location.range.start.line + 1, related.message)
    end
    if vim.tbl_contains(said.tags or {}, 1) then out[#out + 1] = '  unnecessary' end
  end
  return out
end
function verbs.hover(step)
  local result = request('textDocument/hover', params(step))
  return result and split((result.contents.value:gsub('%]%([^)]*/', ']('))) or {}
end
function verbs.hints()
  local all = { start = { line = 0, character = 0 }, ['end'] = { line = #lines(), character = 0 } }
  local out = {}
  for _, hint in ipairs(request('textDocument/inlayHint', { textDocument = { uri = vim.uri_from_bufnr(buffer) }, range = all }) or {}) do
    local label = type(hint.label) == 'table' and table.concat(vim.tbl_map(function(part) return part.value end, hint.label)) or hint.label
    out[#out + 1] = ('%d: %s'):format(hint.position.line + 1, label)
  end
  return out
end
function verbs.replayMarks()
  settle()
  -- Notifications of a change arrive a moment after it.
  vim.wait(10000, function() return #require('loopsmith.replay').marks(buffer) > 0 end, 20)
  return require('loopsmith.replay').marks(buffer)
end
function verbs.lenses()
  return vim.tbl_map(function(lens) return ('%d: %s'):format(lens.line, lens.title) end, lens_titles())
end
function verbs.declaration(step) return locations(request('textDocument/declaration', params(step))) end
function verbs.definition(step) return locations(request('textDocument/definition', params(step))) end
function verbs.typeDefinition(step) return locations(request('textDocument/typeDefinition', params(step))) end
function verbs.implementation(step)
  -- Instructions differ between machines, so only their presence and their document are checked.
  local found = locations(request('textDocument/implementation', params(step)))
  return { ('%s, %s'):format((found[1] or 'none'):gsub(':%d+: .*', ''), #found > 0 and 'some instructions' or 'no instructions') }
end
function verbs.references(step)
  return locations(request('textDocument/references', vim.tbl_extend('force', params(step), { context = { includeDeclaration = true } })))
end
function verbs.highlights(step)
  local out = {}
  for _, one in ipairs(request('textDocument/documentHighlight', params(step)) or {}) do
    out[#out + 1] = ('%d: %s %s'):format(one.range.start.line + 1, one.kind == 3 and 'writes' or 'reads', text_in(lines(), one.range))
  end
  return out
end
function verbs.symbols()
  local out = {}
  local function add(symbols, depth)
    for _, one in ipairs(symbols) do
      out[#out + 1] = ('  '):rep(depth) .. one.name
      add(one.children or {}, depth + 1)
    end
  end
  add(request('textDocument/documentSymbol', { textDocument = { uri = vim.uri_from_bufnr(buffer) } }) or {}, 0)
  return out
end
function verbs.workspaceSymbols(step)
  return vim.tbl_map(function(one) return ('%s: %s'):format(base(one.location.uri), one.name) end, request('workspace/symbol', { query = step.query }) or {})
end
function verbs.folds()
  local out = vim.tbl_map(function(one) return ('%d to %d%s'):format(one.startLine + 1, one.endLine + 1, one.kind and ', ' .. one.kind or '') end,
    request('textDocument/foldingRange', { textDocument = { uri = vim.uri_from_bufnr(buffer) } }) or {})
  table.sort(out)
  return out
end
function verbs.selections(step)
  local out = {}
  local at = params(step)
  local one = request('textDocument/selectionRange', { textDocument = at.textDocument, positions = { at.position } })[1]
  while one do
    out[#out + 1] = ('%d:%d to %d:%d'):format(one.range.start.line + 1, one.range.start.character + 1, one.range['end'].line + 1, one.range['end'].character + 1)
    one = one.parent
  end
  return out
end
function verbs.tokens(step)
  return of_line(tokens(request('textDocument/semanticTokens/full', { textDocument = { uri = vim.uri_from_bufnr(buffer) } })), place(step, step.at).line)
end
function verbs.tokensRange(step)
  local line = place(step, step.at).line
  local range = { start = { line = line, character = 0 }, ['end'] = { line = line + 1, character = 0 } }
  return of_line(tokens(request('textDocument/semanticTokens/range', { textDocument = { uri = vim.uri_from_bufnr(buffer) }, range = range })), line)
end
function verbs.incoming(step) return calls(step, 'callHierarchy/incomingCalls', 'from') end
function verbs.outgoing(step) return calls(step, 'callHierarchy/outgoingCalls', 'to') end
function verbs.signature(step)
  local result = request('textDocument/signatureHelp', params(step))
  if not result then return {} end
  local signature = result.signatures[1]
  local active = signature.parameters[(result.activeParameter or 0) + 1]
  local label = type(active.label) == 'table' and signature.label:sub(active.label[1] + 1, active.label[2]) or active.label
  return { signature.label, ('%s: %s'):format(label, active.documentation and active.documentation.value or '') }
end
function verbs.actions(step)
  return vim.tbl_map(function(one)
    return ('%s%s%s'):format(one.title, one.isPreferred and ' (preferred)' or '', one.disabled and ' (not here: ' .. one.disabled.reason .. ')' or '')
  end, actions(step))
end
function verbs.act(step)
  for _, one in ipairs(actions(step)) do
    if (step.title == '*' and one.isPreferred) or (one.title:find(step.title, 1, true) and not one.disabled) then
      local out = carried_out(function()
        if not one.edit and one.data then one = request('codeAction/resolve', one) end
        if one.edit then vim.lsp.util.apply_workspace_edit(one.edit, client.offset_encoding) end
        if one.command then client.request_sync('workspace/executeCommand', one.command, 60000, buffer) end
      end)
      table.insert(out, 1, one.title)
      return out
    end
  end
  return { 'not offered' }
end
-- An action that shows a message.
function verbs.said(step)
  local said
  local show = vim.lsp.handlers['window/showMessage']
  vim.lsp.handlers['window/showMessage'] = function(_, message) said = message.message end
  for _, one in ipairs(actions(step)) do
    if one.title:find(step.title, 1, true) then client.request_sync('workspace/executeCommand', one.command, 60000, buffer) end
  end
  vim.wait(60000, function() return said ~= nil end, 20)
  vim.lsp.handlers['window/showMessage'] = show
  return { (said or 'nothing'):gsub(', %-?[%d.]+ to.-;', ', VALUES;') .. '' }
end
function verbs.rename(step)
  local edit, problem = request('textDocument/rename', vim.tbl_extend('force', params(step), { newName = step.name }))
  if not edit then return { problem } end
  return carried_out(function() vim.lsp.util.apply_workspace_edit(edit, client.offset_encoding) end)
end
function verbs.edit(step)
  in_force()
  local before = text()
  local from, to = before:find(step.old, 1, true)
  if not from then error('the text has no ' .. step.old) end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(before:sub(1, from - 1) .. step.text .. before:sub(to + 1), '\n'))
  if step.is_awaited ~= false then settle() end
  return {}
end
function verbs.completion(step)
  settle()
  local out = {}
  for i, item in ipairs(items_of(step)) do
    if i > step.count then break end
    out[#out + 1] = ('%s%s%s'):format(item.label, item.detail and ': ' .. item.detail or '', step.only == ' snippet' and item.insertTextFormat == 2 and ' snippet' or '')
  end
  return out
end
function verbs.preview(step)
  settle()
  local chosen = vim.tbl_filter(function(one) return one.label == step.label end, items_of(step))[1]
  local item = request('completionItem/resolve', chosen)
  return split(item.documentation.value)
end
function verbs.links()
  local out = {}
  for _, link in ipairs(request('textDocument/documentLink', { textDocument = { uri = vim.uri_from_bufnr(buffer) } }) or {}) do
    out[#out + 1] = ('%d: %s -> %s'):format(link.range.start.line + 1, text_in(lines(), link.range), base(link.target))
  end
  return out
end
local style = { tabSize = 4, insertSpaces = true }
function verbs.format() return apply_edits(request('textDocument/formatting', { textDocument = { uri = vim.uri_from_bufnr(buffer) }, options = style })) end
function verbs.formatRange(step)
  local line = place(step, step.at).line
  local range = { start = { line = line, character = 0 }, ['end'] = { line = line, character = #lines()[line + 1] } }
  return apply_edits(request('textDocument/rangeFormatting', { textDocument = { uri = vim.uri_from_bufnr(buffer) }, range = range, options = style }))
end
function verbs.formatRanges(step)
  local ranges = vim.tbl_map(function(at)
    local line = place(step, at).line
    return { start = { line = line, character = 0 }, ['end'] = { line = line, character = #lines()[line + 1] } }
  end, step.ats)
  return apply_edits(request('textDocument/rangesFormatting', { textDocument = { uri = vim.uri_from_bufnr(buffer) }, ranges = ranges, options = style }))
end
function verbs.formatOnType(step)
  local asked = params(step)
  asked.position.character = 0
  asked.ch, asked.options = '\n', style
  return apply_edits(request('textDocument/onTypeFormatting', asked))
end
function verbs.configure(step)
  client.notify('workspace/didChangeConfiguration', { settings = { loopsmith = step.settings } })
  return {}
end
function verbs.command(step)
  client.request_sync('workspace/executeCommand', { command = step.command,
    arguments = { { uri = vim.uri_from_bufnr(buffer), ['function'] = step['function'], schedule = step.schedule } } }, 60000, buffer)
  local lens = wait_for_lens(step.lens)
  return { lens and ('%d: %s'):format(lens.line, lens.title) or 'it did not end' }
end
-- A REPL that an editor starts sees unsaved text.
function verbs.repl(step)
  local answer, problem = request('workspace/executeCommand', { command = 'loopsmith.attachRepl', arguments = { { uri = vim.uri_from_bufnr(buffer) } } })
  if not answer then return { problem } end
  local argv = vim.list_extend(vim.deepcopy(answer.command), { '-c', step.line })
  local done
  -- The mirror is updated a moment after the text.
  vim.wait(10000, function()
    done = vim.system(argv):wait()
    return done.code ~= 0 or done.stdout:find(step.has, 1, true) ~= nil
  end, 100)
  return vim.tbl_filter(function(line) return line:find(step.has, 1, true) ~= nil end, split(done.stdout .. done.stderr))
end
-- The window of the command has a line for each open file.
function verbs.memory(step)
  local before = vim.api.nvim_get_current_win()
  vim.cmd('LoopsmithMemory')
  vim.wait(10000, function() return vim.api.nvim_get_current_win() ~= before and vim.api.nvim_buf_line_count(0) > 1 end, 20)
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  if vim.api.nvim_get_current_win() ~= before then vim.cmd('close') end
  vim.api.nvim_set_current_win(before)
  return vim.tbl_map(function(line) return (line:gsub('^ *[%d.]+ %a+ +', ''):gsub('%S*/', '')) end, vim.tbl_filter(function(line) return line:find(step.has, 1, true) ~= nil end, lines))
end
-- The lens with the result of a search; nil: the search found nothing, and the lens that starts one is back.
local function end_of_search(result, start)
  local found, is_running = nil, false
  vim.wait(60000, function()
    local stands = false
    for _, lens in ipairs(lens_titles()) do
      if lens.title:find(result, 1, true) then found = lens return true end
      stands = stands or lens.title:find(start, 1, true) ~= nil
    end
    if is_running and stands then return true end
    is_running = is_running or not stands
  end, 200)
  return found
end
-- A search for a hole in a schedule, started and inserted by the lens over it. Beside a busy program a search of few trials may find nothing faster: then it is repeated.
function verbs.fill(step)
  local begins = wait_for_lens('tune this')
  if not begins then return { 'there is nothing to fill' } end
  local done
  for _ = 1, 5 do
    client.request_sync('workspace/executeCommand', begins.command, 60000, buffer)
    done = end_of_search('fill in the best steps', begins.title)
    if done then break end
  end
  if not done then return { begins.title, 'it did not end' } end
  client.request_sync('workspace/executeCommand', done.command, 60000, buffer)
  local is_filled = vim.wait(20000, function() return not text():find('sch.tune(', 1, true) end, 20)
  return { begins.title, is_filled and done.title or 'nothing was written' }
end
-- The server's trace, as the editor receives it.
function verbs.trace(step)
  local heard = {}
  vim.lsp.handlers['$/logTrace'] = function(_, said) heard[#heard + 1] = (said.message:gsub('[%d.]+ [mun]?s%f[%W]', 'TIME')) end
  client.notify('$/setTrace', { value = 'messages' })
  request('textDocument/hover', params(step))
  vim.wait(20000, function() return vim.tbl_contains(heard, 'textDocument/hover answered in TIME') end, 20)
  client.notify('$/setTrace', { value = 'off' })
  local on = { heard[1] or 'nothing was heard' }
  request('textDocument/hover', params(step))
  heard = {}
  request('textDocument/hover', params(step))
  vim.wait(200)
  return vim.list_extend(on, heard)
end
-- Another program writes the machine's peaks while the editor is open.
function verbs.measured(step)
  local function stands() return table.concat(verbs.hover(step), '\n'):find('roofline: at most', 1, true) and 'under the roofline' or 'no roofline' end
  -- The peaks may have been measured before.
  for _, file in ipairs(vim.fn.glob(vim.env.SERVER_CACHE .. '/loopsmith/peaks-*', true, true)) do vim.fn.delete(file) end
  vim.wait(20000, function() return stands() == 'no roofline' end, 100)
  local before = stands()
  local done = vim.system({ vim.env.LOOPSMITH, 'target', 'show' }, { env = { XDG_CACHE_HOME = vim.env.SERVER_CACHE } }):wait()
  vim.wait(20000, function() return stands() ~= before end, 100)
  return { before, done.code == 0 and stands() or done.stderr }
end
function verbs.tune(step)
  client.request_sync('workspace/executeCommand', { command = 'loopsmith.tune', arguments = { { uri = vim.uri_from_bufnr(buffer), ['function'] = step['function'], seconds = 300 } } }, 60000, buffer)
  local running = wait_for_lens(', best ')
  if not running then return { 'no best was told' } end
  -- Paused and resumed by commands: no trial is measured in between.
  vim.api.nvim_set_current_buf(buffer)
  vim.cmd('LoopsmithPause')
  local function title()
    for _, lens in ipairs(lens_titles()) do if lens.title:find('^tuning') then return lens.title end end
    return 'no search'
  end
  if not wait_for_lens('tuning paused') then return { 'it was not paused' } end
  vim.wait(500)
  local before = title()
  vim.wait(500)
  local stood = title() == before and 'paused, it stands still' or ('paused, it went on: %s, %s'):format(before, title())
  vim.cmd('LoopsmithResume')
  if not wait_for_lens('tuning: ') then return { stood, 'it did not go on' } end
  local again = wait_for_lens('stop and keep the best')
  client.request_sync('workspace/executeCommand', again.command, 60000, buffer)
  local done = wait_for_lens('insert best schedule')
  return { stood, again.title, done and done.title or 'it did not end' }
end
-- The status of the server, in words common to both editors.
function verbs.status(step)
  local function now()
    local said = require('loopsmith').status()
    return said == 'loopsmith' and 'ready' or (said:gsub('^loopsmith !: ', 'warning: '))
  end
  vim.wait(10000, function() return now():find(step.has or 'ready', 1, true) ~= nil end, 50)
  return { now() }
end
-- A schedule that takes long: the marks and the status while it runs, and after it has run.
function verbs.slow(step)
  local marks = require('loopsmith.replay').marks
  verbs.edit(vim.tbl_extend('force', step, { is_awaited = false }))
  local out = {}
  vim.wait(20000, function()
    out = marks(buffer)
    return vim.tbl_contains(out, step.mark)
  end, 5)
  -- A sign stands beside every line of a statement.
  local first, states = {}, {}
  for _, mark in ipairs(out) do
    local state = mark:match('%a+$')
    if not states[state] then first[#first + 1] = mark end
    states[state] = true
  end
  local status = require('loopsmith').status()
  first[#first + 1] = status == 'loopsmith …' and 'at work' or status
  vim.wait(20000, function() return #marks(buffer) == 0 end, 20)
  return vim.list_extend(first, #marks(buffer) == 0 and verbs.status({}) or marks(buffer))
end
-- Another program writes, rewrites or removes a file.
function verbs.disk(step)
  local path = vim.fs.joinpath(vim.fs.dirname(vim.api.nvim_buf_get_name(buffer)), step.name)
  if step.text then vim.fn.writefile(vim.split(step.text, '\n'), path, 'b') else vim.fn.delete(path) end
  return {}
end
-- Renames another file as the editor does; the import in this file follows.
function verbs.renameFile(step)
  settle()
  local here, before = buffer, text()
  local folder = vim.fs.dirname(vim.api.nvim_buf_get_name(here))
  vim.cmd('edit ' .. vim.fs.joinpath(folder, step.from))
  vim.cmd('LoopsmithRename ' .. vim.fs.joinpath(folder, step.to))
  vim.wait(20000, function() return text() ~= before end, 20)
  vim.api.nvim_set_current_buf(here)
  return difference(before, text())
end
-- The edits of a rename in all files; nothing is changed.
function verbs.renames(step)
  local edit, problem = request('textDocument/rename', vim.tbl_extend('force', params(step), { newName = step.name }))
  if not edit then return { problem } end
  local out = {}
  local function add(uri, edits)
    for _, one in ipairs(edits) do out[#out + 1] = ('%s:%d: %s'):format(base(uri), one.range.start.line + 1, one.newText) end
  end
  for uri, edits in pairs(edit.changes or {}) do add(uri, edits) end
  for _, change in ipairs(edit.documentChanges or {}) do add(change.textDocument.uri, change.edits) end
  table.sort(out)
  return out
end
-- Results arrive while the search runs, if partial results are requested.
function verbs.pieces(step)
  local rest
  local heard = progress_until(function()
    rest = request('textDocument/references', vim.tbl_extend('force', params(step), { context = { includeDeclaration = true }, partialResultToken = 'pieces' })) or {}
  end)
  local out = {}
  for _, one in ipairs(heard) do
    if one.token == 'pieces' then out[#out + 1] = table.concat(vim.tbl_map(function(place) return ('%s:%d'):format(base(place.uri), place.range.start.line + 1) end, one.value), ', ') end
  end
  if #rest > 0 then out[#out + 1] = #rest .. ' came with the answer' end
  return out
end
-- Switches to pulled diagnostics, or back: the option is one that a server is started with.
function verbs.pull(step)
  LOOPSMITH_OPTIONS.pull_diagnostics = step.on
  require('loopsmith').setup(LOOPSMITH_OPTIONS)
  start_again()
  local function shown(is_pull) return #vim.diagnostic.get(buffer, { namespace = vim.lsp.diagnostic.get_namespace(client.id, is_pull) }) end
  vim.wait(20000, function() return shown(true) + shown(false) > 0 end, 20)
  return { shown(true) > 0 and 'asked for' or 'not asked for', shown(false) > 0 and 'sent' or 'not sent' }
end
-- The search is cancelled in its progress bar: it ends long before its time limit, and keeps its best schedule.
function verbs.cancelSearch(step)
  local begun, ended
  progress_until(function(heard)
    client.request_sync('workspace/executeCommand', { command = 'loopsmith.tune', arguments = { { uri = vim.uri_from_bufnr(buffer), ['function'] = step['function'], seconds = 300 } } }, 60000, buffer)
    if not wait_for_lens(', best ') then return end
    for _, one in ipairs(heard) do if one.value.kind == 'begin' then begun = one end end
    if not begun then return end
    client.notify('window/workDoneProgress/cancel', { token = begun.token })
    vim.wait(20000, function()
      for _, one in ipairs(heard) do if one.token == begun.token and one.value.kind == 'end' then ended = one end end
      return ended ~= nil
    end, 20)
  end)
  if not begun then return { 'no progress is shown' } end
  local kept = ended and wait_for_lens('insert best schedule')
  return { begun.value.title or ended.value.title, begun.value.cancellable and 'can be cancelled' or 'cannot be cancelled', ended and 'it ended' or 'it goes on', kept and kept.title or 'nothing is kept' }
end
-- The lens of a schedule that samples numbers: its space is searched to the end, and its best is offered.
function verbs.searchSpace()
  local lens = wait_for_lens('search this space')
  if not lens then return { 'there is no such lens' } end
  client.request_sync('workspace/executeCommand', { command = lens.command.command, arguments = lens.command.arguments }, 60000, buffer)
  local done = wait_for_lens('insert the best of this space')
  return { lens.title, done and done.title or 'it did not end' }
end
-- The first sketch in the tuning view, with its knobs; the numbers of their choices depend on the machine.
local function first_sketch()
  vim.cmd('LoopsmithTuning')
  local view, out = vim.fn.bufnr('loopsmith-tuning'), 'no sketch is shown'
  for _, line in ipairs(vim.api.nvim_buf_get_lines(view, 0, -1, false)) do
    local name, knobs = line:match('^(%S.-)%s+%d+ measured, .*; (.*)$')
    if name then
      out = ('%s: %s'):format(name, (knobs:gsub(' %(%d+%)', '')))
      break
    end
  end
  vim.cmd.bwipeout('loopsmith-tuning')
  return out
end
-- A search that asks for trials, time, target and space.
function verbs.tuneWith(step)
  local asked, input, ended = {}, vim.ui.input, nil
  vim.ui.input = function(options, done)
    asked[#asked + 1] = vim.trim(options.prompt)
    vim.schedule(function() done(step.answers[#asked]) end)
  end
  local at = place(step, step.at)
  vim.api.nvim_set_current_buf(buffer)
  vim.api.nvim_win_set_cursor(0, { at.line + 1, at.character })
  progress_until(function(heard)
    vim.cmd('LoopsmithTuneWith')
    vim.wait(60000, function()
      for _, one in ipairs(heard) do if one.value.kind == 'end' then ended = true end end
      return ended
    end, 20)
  end)
  vim.ui.input = input
  return vim.list_extend(asked, { ended and 'it ended by itself' or 'it did not end', first_sketch() })
end
-- Hints about loops are turned on, and off again.
function verbs.loopHints(step)
  settle()
  local function hints()
    local out = {}
    for _, d in ipairs(vim.diagnostic.get(buffer)) do
      if d.code == 'not-vectorized' or d.code == 'gathered' then out[#out + 1] = ('%d: %s: %s'):format(d.lnum + 1, severities[d.severity], d.message) end
    end
    return out
  end
  vim.api.nvim_set_current_buf(buffer)
  vim.cmd('LoopsmithHints')
  vim.wait(10000, function() return #hints() > 0 end, 20)
  local shown = hints()
  vim.cmd('LoopsmithHints')
  if not vim.wait(10000, function() return #hints() == 0 end, 20) then shown[#shown + 1] = 'they stay' end
  return shown
end
-- A lens that writes into the text. The exact blank line does not matter.
function verbs.writes(step)
  local lens = wait_for_lens(step.lens)
  if not lens then return { 'there is no such lens' } end
  return vim.tbl_filter(function(line) return line ~= '+' end, carried_out(function()
    client.request_sync('workspace/executeCommand', { command = lens.command.command, arguments = lens.command.arguments }, 60000, buffer)
  end))
end
-- A lens that the editor executes itself.
local function click(title)
  local lens = wait_for_lens(title)
  if not lens then return false end
  vim.lsp.commands[lens.command.command](lens.command, { client_id = client.id, bufnr = buffer })
  return true
end
-- Two states side by side, described by their differences.
function verbs.difference(step)
  if not click(step.lens) then return { 'there is no such lens' } end
  local pages = #vim.api.nvim_list_tabpages()
  vim.wait(10000, function() return #vim.api.nvim_list_tabpages() > 1 and #vim.api.nvim_tabpage_list_wins(0) == 2 end, 20)
  local out = {}
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local state = vim.api.nvim_win_get_buf(window)
    out[#out + 1] = ('%s, %s'):format(vim.api.nvim_buf_get_name(state):gsub('^.*:', ''), table.concat(vim.api.nvim_buf_get_lines(state, 0, -1, false), '\n'):find('i_0', 1, true) and 'split' or 'as written')
  end
  vim.cmd('tabclose')
  return out
end
-- Shows two schedules side by side at once, and times them in turns.
function verbs.compareSchedules(step)
  if not click(step.lens) then return { 'there is no such lens' } end
  local out = {}
  vim.wait(20000, function()
    for _, one in ipairs(vim.api.nvim_list_wins()) do
      local other = vim.api.nvim_win_get_buf(one)
      if other ~= buffer and vim.bo[other].filetype == 'markdown' then
        out = vim.tbl_filter(function(line) return line:find('statement', 1, true) ~= nil end, vim.api.nvim_buf_get_lines(other, 0, -1, false))
        vim.api.nvim_win_close(one, true)
        return true
      end
    end
  end, 50)
  local timed = wait_for_lens(step.lens .. ': TIME and TIME')
  out[#out + 1] = timed and timed.title or 'they were not timed'
  return out
end
-- Questions that the editor shows, and the answers.
function verbs.splitBy(step)
  settle()
  local before, input, asked = text(), vim.ui.input, {}
  vim.ui.input = function(options, done)
    asked[#asked + 1] = vim.trim(options.prompt)
    vim.schedule(function() done(step.answers[#asked]) end)
  end
  local at = place(step, step.at)
  vim.api.nvim_set_current_buf(buffer)
  vim.api.nvim_win_set_cursor(0, { at.line + 1, at.character })
  local out = carried_out(function() vim.cmd('LoopsmithSplit') end)
  vim.ui.input = input
  return vim.list_extend(asked, out)
end
-- The server is stopped while it searches, and restarted: the search is paused, and then continues.
function verbs.interrupted(step)
  client.request_sync('workspace/executeCommand', { command = 'loopsmith.tune', arguments = { { uri = vim.uri_from_bufnr(buffer), ['function'] = step['function'], seconds = 300 } } }, 60000, buffer)
  if not wait_for_lens(', best ') then return { 'no best was told' } end
  local out = { require('loopsmith').status():match('tuning ' .. step['function'] .. ': trial') or require('loopsmith').status() }
  start_again()
  local stands = wait_for_lens('tuning of an earlier session: trial')
  if not stands then return { out[1], 'it is forgotten' } end
  out[#out + 1] = stands.title:gsub('%d+, best.*$', 'N')
  vim.api.nvim_set_current_buf(buffer)
  vim.cmd('LoopsmithTuning')
  local function shown() return vim.api.nvim_buf_get_lines(vim.fn.bufnr('loopsmith-tuning'), 0, -1, false)[1] end
  if not vim.wait(10000, function() return shown():find('# paused, of an earlier session: trial %d+, best .*; :LoopsmithResume') ~= nil end, 20) then out[#out + 1] = shown() end
  vim.cmd.bwipeout('loopsmith-tuning')
  vim.cmd('LoopsmithResume')
  local again = wait_for_lens(', best ')
  out[#out + 1] = again and 'it goes on' or 'it does not go on'
  vim.cmd('LoopsmithStop')
  local done = wait_for_lens('insert best schedule')
  return vim.list_extend(out, { done and done.title or 'it did not end' })
end
-- A command for the place of the cursor, which shows a document beside the text: its lines that contain a given text.
local user_commands = { ['loopsmith.showHistory'] = 'LoopsmithHistory', ['loopsmith.replayTo'] = 'LoopsmithReplay', ['loopsmith.explainRecords'] = 'LoopsmithRecords', ['loopsmith.reportBundle'] = 'LoopsmithReport',
  ['loopsmith.showLowered'] = 'LoopsmithIR lowered', ['loopsmith.showLlvm'] = 'LoopsmithIR llvm', ['loopsmith.showAssembly'] = 'LoopsmithIR asm' }
function verbs.palette(step)
  local at = place(step, step.at)
  vim.api.nvim_set_current_buf(buffer)
  vim.api.nvim_win_set_cursor(0, { at.line + 1, at.character })
  vim.cmd(user_commands[step.command])
  local window, out
  vim.wait(20000, function()
    for _, one in ipairs(vim.api.nvim_list_wins()) do
      local other = vim.api.nvim_win_get_buf(one)
      if other ~= buffer then
        out = {}
        for _, line in ipairs(vim.api.nvim_buf_get_lines(other, 0, -1, false)) do
          if line:find(step.has, 1, true) then out[#out + 1] = (vim.trim(line):gsub('^.* (in the tuning database)', '%1')) end
        end
        if #out > 0 then window = one return true end
      end
    end
  end, 50)
  if not window then return { 'nothing was shown' } end
  vim.api.nvim_win_close(window, true)
  return out
end

local ok, problem = xpcall(function()
  for _, step in ipairs(steps) do
    local file = step.file or 'session.tir'
    if vim.fs.basename(vim.api.nvim_buf_get_name(0)) ~= file then vim.cmd.edit(file) end
    buffer = vim.api.nvim_get_current_buf()
    vim.wait(20000, function() return vim.lsp.get_clients({ bufnr = buffer, name = 'loopsmith' })[1] ~= nil end, 20)
    client = vim.lsp.get_clients({ bufnr = buffer, name = 'loopsmith' })[1]
    local is_ours = not step.editors or vim.tbl_contains(step.editors, 'Neovim')
    local good, answer, begin = true, {}, vim.uv.hrtime()
    if is_ours then good, answer = xpcall(verbs[step.ask], debug.traceback, step) end
    answer = good and answer or split(answer)
    if step.only then answer = vim.tbl_filter(function(line) return line:find(step.only, 1, true) ~= nil end, answer) end
    if step.brief then answer = vim.tbl_filter(function(line) return line:find('^[+-]') == nil end, answer) end
    local milliseconds = math.floor((vim.uv.hrtime() - begin) / 1e6)
    answers[#answers + 1] = { answer = #answer > 0 and answer or vim.empty_dict(), milliseconds = milliseconds }
    -- Printed at once, so that a session that is cut off shows its slow steps.
    if milliseconds > 3000 then io.stdout:write(('     %5.1f s  %s: %s\n'):format(milliseconds / 1000, step.what, table.concat(answer, ' | '):sub(1, 200))) end
  end
end, debug.traceback)
if not ok then io.stderr:write(problem .. '\n') end
vim.fn.writefile({ (vim.json.encode(answers):gsub('{}', '[]')) }, vim.env.ANSWERS)
vim.cmd(ok and 'qall!' or 'cquit 1')
