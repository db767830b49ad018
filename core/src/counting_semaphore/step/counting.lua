-- The permits of a counting semaphore, which have no owner and no lease. Stands behind available.lua and once.lua, in front of each
-- script that has to do with them.
--
-- KEYS[1]  L  see available.lua; no time to live, unless somebody gave it one (RSemaphore)
-- KEYS[2]  D  see once.lua: also the ids of acquires, by which those are undone
-- KEYS[3]  T  is there while permits of this name are taken under leases: L is not a counting semaphore's then. Only looked for
-- KEYS[4]  Q, KEYS[5]  S: see queue.lua and wants.lua
local T = KEYS[3]
-- How many permits there are at most, and as many below 0: an int of Redisson's holds no more.
local MOST = 2147483647
local NO_COUNT = 'WRONGTYPE the key holds no number of permits, or that of a semaphore with leased permits'

-- As `count`; 'foreign' when the key holds something else, or that of a semaphore with leased permits.
local function counted()
  local available = count()
  return (available == false or redis.call('EXISTS', T) == 1) and 'foreign' or available
end

-- Permits came: tells Redisson's waiters, and those of the queue whose turn it is by that. 0 when this user may not publish:
-- waiters come by their timers. What comes after the change must not make an error of it.
local function announce_and_wake(channel, available)
  if available <= 0 then
    return 1
  end
  local told = type(announce(channel, available)) == 'table' and 0 or 1
  if redis.pcall('ZRANGE', Q, 0, 0)[1] then
    pcall(function()
      wanting(math.huge).wake(queue_at(clock()), available, 0)
    end)
  end
  return told
end

