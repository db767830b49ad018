-- The count of a latch. Stands behind once.lua in front of each script, and leaves `count`, 0 when the latch is open, and
-- `now`.
--
-- KEYS[1]  L  STRING: the count, decimal (Redisson's RCountDownLatch), without a time to live. Not there, and not above 0, is
--             open.
-- KEYS[2]  D  see once.lua
--
-- Numbers stay below 2^53, where a Lua number is exact.
local L = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local count = redis.call('GET', L)
local there = count and true
if there then
  count = (count == '0' or string.match(count, '^%-?[1-9]%d*$')) and tonumber(count)
  if not count or math.abs(count) > 9007199254740991 then
    return redis.error_reply('WRONGTYPE the key holds no count')
  end
end
count = math.max(count or 0, 0)
