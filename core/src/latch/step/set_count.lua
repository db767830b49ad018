-- Gives a latch a count, unless it has one.
--
-- KEYS     L, D: see count.lua
-- ARGV[1]  id of the request, and ARGV[2] not after, server time in us: see once.lua
-- ARGV[3]  the count
-- ARGV[4]  Redisson's channel of the latch; gets the message 1, by which its clients close
--
-- Reply    {now us, 1 set, by this or before by the same request; 0 it has a count}
--          {now us}  too late, nothing done
--
-- The count comes first: a server that is full refuses it, and nothing is done.
if now > tonumber(ARGV[2]) then
  return {now}
end
if known(ARGV[1]) then
  return {now, 1}
end
if count > 0 then
  return {now, 0}
end
redis.call('SET', L, ARGV[3])
all_or_nothing(ARGV[1], function()
  once(ARGV[1], now)
end, function()
  redis.call('DEL', L)
end)
say(ARGV[4], '1')
return {now, 1}
