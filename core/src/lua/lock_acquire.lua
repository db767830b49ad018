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

local function mint()
  local token = now
  local last = redis.call('GET', KEYS[2])
  local lasting = false
  if last then
    if not string.match(last, '^%d+$') or tonumber(last) >= 9007199254740991 then
      return nil
    end
    token = math.max(token, tonumber(last) + 1)
    -- A token key without expiry belongs to a fleet that also runs RFencedLock: it never gets one from us.
    lasting = redis.call('PTTL', KEYS[2]) == -1
  end
  if lasting or ARGV[4] == '0' then
    redis.call('SET', KEYS[2], string.format('%.0f', token))
  else
    redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', ARGV[4])
  end
  return token
end

local ttl = redis.call('PTTL', KEYS[1])
if ttl == -2 then
  local token = mint()
  if not token then
    return redis.error_reply('WRONGTYPE the token key holds no token')
  end
  redis.call('HSET', KEYS[1], ARGV[1], '1')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {0, now, token}
end

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  -- A retry of the attempt that holds it: the same token again, the lease never shorter.
  local token = tonumber(redis.call('GET', KEYS[2]) or nil) or mint()
  if not token then
    return redis.error_reply('WRONGTYPE the token key holds no token')
  end
  if ttl < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {0, now, token}
end
return {1, now, ttl, redis.call('HKEYS', KEYS[1])[1]}
