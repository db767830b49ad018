-- Removes a latch. Nobody is told that it is open: Redisson's clients are told the contrary.
--
-- KEYS     L, D: see count.lua
-- ARGV[1]  id of the request, and ARGV[2] not after, server time in us: see once.lua
-- ARGV[3]  Redisson's channel of the latch; gets the message 1
--
-- Reply    {now us, 1 removed, by this or before by the same request; 0 it was not there}
--          {now us}  too late, nothing done
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
  redis.call('DEL', L)
end)
say(ARGV[3], '1')
return {now, 1}
