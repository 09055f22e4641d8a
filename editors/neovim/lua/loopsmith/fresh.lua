-- Requests lenses and hints again when a text changes, also from another window, and lenses when the server asks for it. Neovim 0.12 does
-- this itself; earlier versions request hints for the current buffer only, and never request lenses.
local M = {}

local server = require('loopsmith.server')
local by_itself = vim.lsp.codelens.enable ~= nil
local asked = {}                     -- buffer -> { client, again }: a request is pending; `again`: its answer is outdated, so request again
local timers = {}

local function lenses(buffer)
  local client = vim.api.nvim_buf_is_loaded(buffer) and server.of(buffer)
  if not client then return end
  if asked[buffer] and asked[buffer].client == client.id then
    asked[buffer].again = true
    return
  end
  local mine = { client = client.id, again = false }
  local is_sent = server.request(client, 'textDocument/codeLens', { textDocument = vim.lsp.util.make_text_document_params(buffer) }, function(problem, found, context)
    if asked[buffer] == mine then asked[buffer] = nil end
    if not vim.api.nvim_buf_is_loaded(buffer) then return end
    if not problem then vim.lsp.codelens.on_codelens(nil, found or {}, context) end
    if mine.again then lenses(buffer) end
  end, buffer)
  if is_sent then asked[buffer] = mine end
end

local function after_change(buffer, options)
  if timers[buffer] then timers[buffer]:stop() end
  timers[buffer] = vim.defer_fn(function()
    timers[buffer] = nil
    if not vim.api.nvim_buf_is_loaded(buffer) then return end
    local is_current = vim.api.nvim_get_current_buf() == buffer
    -- Neovim itself requests hints for the text that is being typed into.
    if options.inlay_hints and not is_current and vim.lsp.inlay_hint.is_enabled({ bufnr = buffer }) then vim.lsp.inlay_hint.enable(true, { bufnr = buffer }) end
    if options.code_lens and not (is_current and vim.api.nvim_get_mode().mode:find('^i')) then lenses(buffer) end
  end, 150)
end

--- Begins to serve a buffer.
function M.attach(client, buffer, options)
  if options.inlay_hints then pcall(vim.lsp.inlay_hint.enable, true, { bufnr = buffer }) end
  if by_itself then
    if options.code_lens then vim.lsp.codelens.enable(true, { bufnr = buffer }) end
    return
  end
  if options.code_lens then
    vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave' }, {
      group = vim.api.nvim_create_augroup('loopsmith_lens_' .. buffer, { clear = true }),
      buffer = buffer,
      callback = function() lenses(buffer) end,
    })
    lenses(buffer)
  end
  vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function()
      local now = server.of(buffer)
      -- Another client has attached its own handler.
      if now and now.id ~= client.id then return true end
      after_change(buffer, options)
    end,
  })
end

--- The capabilities of the client, and its handlers for requests of the server.
function M.configure(capabilities, handlers)
  if by_itself then return end
  capabilities.workspace.codeLens = { refreshSupport = true }
  handlers['workspace/codeLens/refresh'] = function(_, _, context)
    for _, buffer in ipairs(vim.lsp.get_buffers_by_client_id(context.client_id)) do lenses(buffer) end
    return vim.NIL
  end
end

return M
