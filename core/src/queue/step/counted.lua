-- Requests that are remembered with the number of jobs that they have removed or moved. Needs once.lua and jobs.lua.
--
-- D  also has `<count>/<id of the request>`: a repeat says what the request has done, and does nothing more

-- The number, when this request was carried out before; nil otherwise.
local function counted_before(request)
  local till = string.match(request, '@(%d+)$')
  for _, member in ipairs(till and redis.call('ZRANGEBYSCORE', D, till, till) or {}) do
    local count, id = string.match(member, '^(%d+)/(.*)$')
    if id == request then
      return tonumber(count)
    end
  end
end

-- Does `deed` and remembers the number with it, or does neither. A request without an id is not remembered.
local function counted(request, count, now, not_after, deed)
  if request == '' then
    return deed()
  end
  local id = string.format('%d/', count) .. request
  return all_or_nothing(id, function()
    once(id, now, not_after)
    return deed()
  end)
end

