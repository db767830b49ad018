-- Takes a lock, or says who has it. One owner names one attempt, so that a retry finds its own field and changes nothing.
--
-- KEYS[1]  the lock: HASH with one field <owner> -> 1 (Redisson's RLock)
-- KEYS[2]  its last fencing token: STRING, decimal (Redisson's RFencedLock)
-- ARGV[1]  owner
-- ARGV[2]  lease in ms
-- ARGV[3]  not after, server time in us: later than this the request is void
-- ARGV[4]  ms for which the token key is to outlive this acquire, 0 = for ever
--
-- Reply    {0, now us, token}           granted
--          {1, now us, ttl ms, holder}  busy; ttl -1: a foreign key without expiry
--          {2, now us}                  too late, nothing done
--
-- Keeps I1 (one owner), I2 (always a TTL), I3 (tokens increase: the server's clock in us, or the last token + 1), I6.
-- Numbers stay below 2^53, where a Lua number is exact.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
  return {2, now}
end

-- The last token; nil when there is none, false when the key holds something else.
local function last_token()
  local last = redis.call('GET', KEYS[2])
  if not last then
    return nil
  end
  return string.match(last, '^%d+$') and tonumber(last) or false
end

-- A token larger than the last one, written back; false when there can be none.
local function mint()
  local last = last_token()
  if last == false or (last and last >= 9007199254740991) then
    return false
  end
  local token = math.max(now, (last or 0) + 1)
  -- A token key without expiry belongs to a fleet that also runs RFencedLock: it never gets one from us.
  if ARGV[4] == '0' or (last and redis.call('PTTL', KEYS[2]) == -1) then
    redis.call('SET', KEYS[2], string.format('%.0f', token))
  else
    redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', ARGV[4])
  end
  return token
end

local ttl = redis.call('PTTL', KEYS[1])
local mine = ttl ~= -2 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if ttl ~= -2 and not mine then
  return {1, now, ttl, redis.call('HKEYS', KEYS[1])[1]}
end

-- A retry of the attempt that holds the lock gets the same token again, and a lease that is never shorter.
local token = mine and last_token()
if token == nil or not mine then
  token = mint()
end
if not token then
  return redis.error_reply('WRONGTYPE the token key holds no token')
end
if not mine then
  redis.call('HSET', KEYS[1], ARGV[1], '1')
end
if ttl < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {0, now, token}
