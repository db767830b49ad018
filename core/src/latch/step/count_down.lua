-- Counts a latch down, and tells those that wait when that opens it.
--
-- KEYS     L, D: see count.lua
-- ARGV[1]  id of the request, and ARGV[2] not after, server time in us: see once.lua
-- ARGV[3]  by how many
-- ARGV[4]  Redisson's channel of the latch; gets the message 0 when it opens
--
-- Reply    {now us, count after it, told}  carried out, or it was before; told 0: this user may not publish, so waiters come by
--                                          their timers
--          {now us}                        too late, nothing done
--
-- Keeps: no request counts twice. It works on a server that is full: `once` begins with a write that needs no memory, and
-- nothing that comes after the counting may make an error of it.
if now > tonumber(ARGV[2]) then
  return {now}
end
local left = all_or_nothing(ARGV[1], function()
  if not once(ARGV[1], now) or count == 0 then
    return nil
  end
  local left = math.max(count - ARGV[3], 0)
  if left > 0 then
    redis.call('DECRBY', L, ARGV[3])
  else
    redis.call('DEL', L)
  end
  return left
end)
if left ~= 0 then
  return {now, left or count, 1}
end
return {now, 0, say(ARGV[4], '0') and 1 or 0}
