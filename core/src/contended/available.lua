-- How many permits of a semaphore are available. Stands behind queue.lua and wants.lua, in front of what a kind of semaphore has of
-- its own.
--
-- KEYS[1]  L  STRING: how many permits are available, decimal; may be negative (RSemaphore, RPermitExpirableSemaphore)
local NO_NUMBER = 'WRONGTYPE the key holds no number of permits'

-- Tells Redisson's waiters how many permits are available. Clients of libdlock that listen there know by the 0 in front that their
-- inboxes hear of it, too; to Redisson it is the same number.
local function announce(channel, available)
  return redis.pcall(PUBLISH, channel, '0' .. available)
end

-- How many permits are available. Nil when the key is not there, false when it holds something else.
local function count()
  local text = redis.call('GET', L)
  if not text then
    return nil
  end
  -- As the server writes a number: of others it takes none. Below 10^15, where a Lua number is exact.
  local canonical = #text <= 15 and (text == '0' or string.match(text, '^%-?[1-9]%d*$'))
  return canonical and tonumber(text) or false
end

