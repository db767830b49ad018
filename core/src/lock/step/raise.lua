-- Writes a fencing token to a server that has granted its lock, where several servers grant it together.
--
-- KEYS[1]  L, the lock: HASH
-- KEYS[2]  T, its last fencing token: see token.lua
-- ARGV[1]  owner, <client>:<n>
-- ARGV[2]  the token, which is not written where T is greater
-- ARGV[3]  ms for which the token key outlives this, or the clock's arrival at the token. 0 = for ever
--
-- Reply    {1, now us}  T is at least the token
--          {0, now us}  not held by this owner, nothing done
--
-- Keeps I3 of a quorum. A repeat changes nothing.
local T = KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {0, now}
end
local before, token = redis.call('GET', T), tonumber(ARGV[2])
local last = before and last_token(before, 0)
if before and not last then
  return redis.error_reply(NO_TOKEN)
end
if last and last >= token then
  return {1, now}
end
-- A token key without expiry belongs to a fleet that also runs RFencedLock and never gets one from us.
local expires = ARGV[3] ~= '0' and not (before and redis.call('PTTL', T) == -1)
redis.call('SET', T, ARGV[2])
if expires then
  redis.call('PEXPIRE', T, ARGV[3] + math.max(0, math.ceil((token - now) / 1000)))
end
return {1, now}
