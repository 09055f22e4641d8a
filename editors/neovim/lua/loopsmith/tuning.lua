-- The tuning view: a search as text, redrawn while it runs: the best time so far as a curve, the roofline, and the best schedule. Its data
-- comes from `loopsmith/tuning`.
local M = {}

local server = require('loopsmith.server')
local searches, latest, view = {}, nil, nil
local bars = { '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█' }
local width = 60

-- A duration in the form of Loopsmith's own texts (`duration_text` in compiler/support/text.h): "412.0 us", "1.098 ms", "12.35 s".
local function duration(seconds)
  if seconds == 0 then return '0 s' end
  local number, unit = seconds, 's'
  for _, one in ipairs({ { 'ns', 1e9 }, { 'us', 1e6 }, { 'ms', 1e3 } }) do
    if seconds * one[2] < 999.95 then
      number, unit = seconds * one[2], one[1]
      break
    end
  end
  local decimals = number < 9.9995 and 3 or number < 99.995 and 2 or number < 999.95 and 1 or 0
  return ('%.' .. decimals .. 'f %s'):format(number, unit)
end

-- A waiting time, rounded up to whole seconds (`waiting_text`): "8 s", "1:05 min", "2:00:09 h".
local function waiting(seconds)
  local whole = math.ceil(seconds)
  if whole < 60 then return ('%d s'):format(whole) end
  if whole < 3600 then return ('%d:%02d min'):format(math.floor(whole / 60), whole % 60) end
  return ('%d:%02d:%02d h'):format(math.floor(whole / 3600), math.floor(whole / 60) % 60, whole % 60)
end

-- The best time so far, one bar per several trials, on a logarithmic scale: good schedules are many times as fast as bad ones.
local function curve(measured)
  local best, line = nil, {}
  for _, seconds in ipairs(measured) do
    if seconds > 0 and (not best or seconds < best) then best = seconds end
    line[#line + 1] = best
  end
  if #line == 0 then return '' end
  local step, out = math.max(1, math.ceil(#line / width)), {}
  local low, high = math.log(line[#line]), math.log(line[1])
  for i = 1, #line, step do
    local share = high > low and (math.log(line[i]) - low) / (high - low) or 0
    out[#out + 1] = bars[1 + math.floor(share * 7 + 0.5)]
  end
  return table.concat(out)
end

-- A line for each sketch: its trials, its best, its knobs with the numbers of their choices.
local function arms_of(s)
  local out = {}
  for _, arm in ipairs(s.arms or {}) do
    local knobs = {}
    for _, knob in ipairs(arm.knobs or {}) do knobs[#knobs + 1] = ('%s (%d)'):format(knob.name, knob.choices) end
    out[#out + 1] = ('%-20s %3d measured, %d failed%s%s; %s'):format(arm.name, arm.measured, arm.failed,
      arm.best_seconds and ', best ' .. duration(arm.best_seconds) or '', arm.closed and ', closed: ' .. arm.closed or '', table.concat(knobs, ', '))
  end
  return out
end

-- The causes of failed candidates, each with the command that reproduces one. While the search runs only their numbers are known.
local function causes_of(s)
  local out = {}
  if s.causes then
    for _, cause in ipairs(s.causes) do
      out[#out + 1] = ('%d x %s%s'):format(cause.count, cause.outcome, cause.message ~= '' and ': ' .. vim.split(cause.message, '\n')[1] or '')
      if cause.reproduce ~= '' then out[#out + 1] = '    ' .. cause.reproduce end
    end
    return out
  end
  for outcome, count in vim.spairs(s.failures or {}) do out[#out + 1] = ('%d x %s'):format(count, outcome) end
  return out
end

local function lines_of(s)
  local rate = s.best_seconds and s.best_seconds > 0 and s.flops and (', %.1f GFLOP/s'):format(s.flops / s.best_seconds * 1e-9) or ''
  local state = s.state == 'running' and (s.phase == 'done' and 'finishing' or s.phase or 'starting') or s.state == 'comparing' and 'stopped, comparing the best with the program' or s.state
  local lines = { ('# %s: %s, trial %d%s%s'):format(s['function'], state, s.trial or 0,
    s.trials and '/' .. s.trials or '', s.elapsed and ', ' .. waiting(s.elapsed) or '') }
  if s.message then lines[#lines + 1] = s.message end
  if s.best_seconds and s.best_seconds > 0 then lines[#lines + 1] = ('best        %s%s'):format(duration(s.best_seconds), rate) end
  if s.plain_seconds then
    lines[#lines + 1] = ('as written  %s%s'):format(duration(s.plain_seconds), s.best_seconds and (', %.1f times as long'):format(s.plain_seconds / s.best_seconds) or '')
  end
  if s.floor_seconds then
    local reached = s.best_seconds and s.best_seconds > 0 and s.floor_seconds / s.best_seconds
    lines[#lines + 1] = 'roofline    ' .. duration(s.floor_seconds) .. (not reached and '' or reached > 1.005 and ', exceeded: measure it again' or (', %.0f%% reached'):format(100 * reached))
  end
  local drawn = curve(s.measured)
  if drawn ~= '' then lines[#lines + 1] = drawn .. ('  best of %d trials'):format(#s.measured) end
  if s.verified then lines[#lines + 1] = 'verified: ' .. s.verified end
  vim.list_extend(lines, arms_of(s))
  vim.list_extend(lines, causes_of(s))
  local schedule = s.schedule_text or s.best_schedule
  if schedule then
    lines[#lines + 1] = ''
    vim.list_extend(lines, vim.split(vim.trim(schedule), '\n'))
  end
  return lines
end

-- `instead`: the text if no search has run.
local function paint(instead)
  local search = latest and searches[latest]
  if not (view and vim.api.nvim_buf_is_valid(view)) then return end
  vim.bo[view].modifiable = true
  vim.api.nvim_buf_set_lines(view, 0, -1, false, search and lines_of(search) or { instead })
  vim.bo[view].modifiable = false
end

-- A paused search of an earlier session is not announced: its lens shows its progress.
local function look_for_earlier(buffer)
  local client = server.of(buffer)
  if not client then return end
  server.request(client, 'textDocument/codeLens', { textDocument = vim.lsp.util.make_text_document_params(buffer) }, function(_, lenses)
    for _, lens in ipairs(lenses or {}) do
      local so_far = lens.command and lens.command.title:match('^tuning of an earlier session: (.*)$')
      if so_far then return paint(('# paused, of an earlier session: %s; :LoopsmithResume goes on with it'):format(so_far)) end
    end
  end, buffer)
end

--- Stores a message of the server about a search; each server numbers its searches anew.
function M.note(news, client)
  local key = client .. ':' .. news.job
  local before = searches[key]
  if not before then latest = key end
  local measured = before and before.measured or {}
  vim.list_extend(measured, news.measured or {})
  local search = vim.tbl_extend('force', before or {}, news, { measured = measured, client = client })
  searches[key] = search
  paint()
  if search.state == 'done' and not (before and before.state == 'done') and not search.schedule and search.best_seconds then
    local faster = search.plain_seconds and (', %.3gx'):format(search.plain_seconds / search.best_seconds) or ''
    vim.notify(('%s: %s%s; :LoopsmithInsertBest writes it, :LoopsmithTuning shows it'):format(search['function'], duration(search.best_seconds), faster))
  end
end

--- Shows the last search in a window below, and redraws it while it runs.
function M.show()
  local text = vim.api.nvim_get_current_buf()
  if not (view and vim.api.nvim_buf_is_valid(view)) then
    view = vim.api.nvim_create_buf(false, true)
    vim.bo[view].bufhidden = 'wipe'
    vim.api.nvim_buf_set_name(view, 'loopsmith-tuning')
    if not pcall(vim.treesitter.start, view, 'tirscript') then vim.bo[view].syntax = 'python' end
  end
  if vim.fn.bufwinid(view) == -1 then
    local here = vim.api.nvim_get_current_win()
    vim.cmd('rightbelow 14split')
    vim.api.nvim_win_set_buf(0, view)
    vim.wo.wrap = false
    vim.api.nvim_set_current_win(here)
  end
  -- A search that its server did not finish may continue in another server.
  local search = latest and searches[latest]
  if search and search.state ~= 'done' and search.state ~= 'failed' and not vim.lsp.get_client_by_id(search.client) then latest = nil end
  paint('# no search has run yet: :LoopsmithTune starts one')
  if not latest then look_for_earlier(text) end
end

return M
