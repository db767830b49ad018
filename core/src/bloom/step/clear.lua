-- Removes a Bloom filter of whatever configuration.
--
-- KEYS[1]  N, KEYS[3] C: see config.lua; KEYS[2] D: see once.lua
-- ARGV[1]  id of the request, and ARGV[2] not after, server time in us: see once.lua
--
-- Reply    {now us, 1 removed, by this or before by the same request; 0 it was not there}
--          {now us}  too late, nothing done
--          WRONGTYPE, when N or C is no part of a Bloom filter, or C is gone and N is there. Nothing changed.
local N, C = KEYS[1], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local config = redis.call('HMGET', C, 'size', 'hashIterations')
local there = config[1] and config[2]
local kind = redis.call('TYPE', N).ok
if there and kind ~= 'string' and kind ~= 'none'
  or not there and (config[1] or config[2] or redis.call('EXISTS', N, C) > 0) then
  return redis.error_reply('WRONGTYPE the keys hold no Bloom filter')
end
if now > tonumber(ARGV[2]) then
  return {now}
end
if known(ARGV[1]) then
  return {now, 1}
end
if not there then
  return {now, 0}
end
all_or_nothing(ARGV[1], function()
  once(ARGV[1], now)
  redis.call('DEL', N, C)
end)
return {now, 1}
