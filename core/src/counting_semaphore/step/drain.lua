-- Takes all permits that are available, without asking who waits. A negative number becomes 0, as with Redisson.
--
-- KEYS     L, D, T, Q, S: see counting.lua
-- ARGV[1]  not after, server time in us: later than this the request is void
--
-- Reply    {now us, available}  how many there were
--          {now us}             too late, nothing done
local now = clock()
if now > tonumber(ARGV[1]) then
  return {now}
end
local available = counted()
if available == 'foreign' then
  return redis.error_reply(NO_COUNT)
end
-- DECRBY leaves the end of the key as it is.
if available and available ~= 0 then
  redis.call('DECRBY', L, available)
end
return {now, available or 0}
