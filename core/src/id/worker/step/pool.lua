-- A pool of worker numbers. Stands in front of each script that has to do with them.
--
-- KEYS[1]  H  HASH: owner -> the number that it holds; number -> the last ms of Unix time that its holders may use;
--             'next' -> the lowest number that nobody has held yet
-- KEYS[2]  Z  ZSET: owner -> when its lease expires, server ms; expired at that ms already
-- KEYS[3]  F  ZSET: number -> itself, of those below 'next' that are free
--
-- The keys end at the same ms.
local H, Z, F = KEYS[1], KEYS[2], KEYS[3]
local NO_POOL = 'WRONGTYPE the key holds no pool of worker numbers'
-- The keys outlive their last use by so much.
local IDLE_MS = 86400000
-- How many leases that have expired one script takes back.
local RECLAIMED = 500
-- A last time further ahead than this comes from a clock that was wrong.
local AHEAD_MS = 86400000
-- Maximum number of free numbers with such a time that one script passes over.
local PASSED_OVER = 32

local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)

-- A number as these scripts write it, below 10^15, where a Lua number is exact. Nil where there is none, false for anything else.
local function number(text)
  if not text then
    return nil
  end
  local canonical = #text <= 15 and (text == '0' or string.match(text, '^[1-9]%d*$'))
  return canonical and tonumber(text) or false
end

local function text(value)
  return string.format('%.0f', value)
end

-- The keys live on for a lease and half of IDLE_MS, at least.
local function keep(lease)
  local left = redis.call('PTTL', H)
  if left < lease + IDLE_MS / 2 then
    left = lease + IDLE_MS
    redis.call('PEXPIRE', H, left)
  end
  redis.call('PEXPIRE', Z, left)
  redis.call('PEXPIRE', F, left)
end
