-- Acquires permits of a rate limiter of Redisson, by the clock of the server, or says when they are available.
--
-- KEYS[1]  HASH, what it lets through: rate, interval in ms, type (0 for all clients together, 1 for each), keepAliveTime in ms
-- KEYS[2]  STRING, how many permits are available, of all clients together
-- KEYS[3]  ZSET, their log: a member for each acquire, its score when that was, in ms of Unix time
-- KEYS[4]  and KEYS[5] the same of this client alone
-- ARGV[1]  rate, ARGV[2] interval, ARGV[3] type, ARGV[4] keepAliveTime, for a limiter that is not there yet
-- ARGV[5]  permits, at most 2^32 - 1; 0 only looks, and changes nothing
-- ARGV[6]  16 bytes that no other acquire has
-- ARGV[7]  "rate/interval/type" by which this client knows the available permits to be right, or ""
--
-- Reply    {1 granted, 0 refused or 2 more than the rate, now in us of Unix time, available after it, when those asked for (of 0
--          one) are, when all are, both in ms or 0, rate, interval, type}
--
-- Keeps: no more than the rate is acquired in any interval of the server's clock, and the available permits are the rate less
-- what the log has. Not idempotent: a repeat is charged again.
local CHUNK, FEW, LOOKED_AT = 500, 32, 100
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ceiled = math.ceil(us / 1000)
local wanted = tonumber(ARGV[5])
local need = math.max(wanted, 1)

local function number(text)
  return text and #text <= 15 and string.match(text, '^%d+$') and tonumber(text)
end

-- The permits of a member; false if it has another layout.
local function permits(member)
  local length = string.byte(member)
  if not length or #member ~= length + 5 then
    return false
  end
  local a, b, c, d = string.byte(member, -4, -1)
  return a + b * 256 + c * 65536 + d * 16777216
end

-- The permits of all members; false if one has another layout.
local function sum(members)
  local all = 0
  for _, member in ipairs(members) do
    local one = permits(member)
    if not one then
      return false
    end
    all = all + one
  end
  return all
end

local function wrong_type()
  return redis.error_reply('WRONGTYPE the key is no rate limiter of Redisson')
end

local fields = redis.call('HMGET', KEYS[1], 'rate', 'interval', 'type', 'keepAliveTime')
local made = redis.call('EXISTS', KEYS[1]) == 0
if made then
  fields = ARGV
end
local rate, interval, keep_alive = number(fields[1]), number(fields[2]), number(fields[4] or '0')
local kind = fields[3]
if not rate or not interval or not keep_alive or kind ~= '0' and kind ~= '1' then
  return wrong_type()
end
if wanted > rate then
  return {2, us, 0, 0, 0, rate, interval, tonumber(kind)}
end
local value_key, log_key = KEYS[2], KEYS[3]
if kind == '1' then
  value_key, log_key = KEYS[4], KEYS[5]
end
local text = redis.call('GET', value_key)
local stored = text and number(string.gsub(text, '^%-', '', 1))
if text and not stored then
  return wrong_type()
end
if stored and string.byte(text) == 45 then
  stored = -stored
end

-- What is over by now. By rank: an offset into a range of scores is counted off entry by entry.
local all = redis.call('ZCARD', log_key)
local newest = all > 0 and tonumber(redis.call('ZRANGE', log_key, -1, -1, 'WITHSCORES')[2])
local gone = all > 0 and redis.call('ZCOUNT', log_key, '-inf', math.floor(us / 1000) - interval) or 0
local over, freed = 0, 0
if gone == all then
  over = all
else
  while over < gone and (over == 0 or (stored or 0) + freed < need) do
    local members = redis.call('ZRANGE', log_key, over, math.min(over + CHUNK, gone) - 1)
    local permits_over = sum(members)
    if not permits_over then
      return wrong_type()
    end
    over, freed = over + #members, freed + permits_over
  end
end

-- What is available: by the stored number, or by the log where that is missing, cannot be right, or may be of another rate.
local left = all - over
local available = stored and stored + freed
local settled = string.format('%.0f/%.0f/%s', rate, interval, kind)
local unsure = ARGV[7] ~= settled and (ARGV[7] ~= '' or kind == '1')
if not available or left <= FEW or unsure or available > rate - left then
  local used = 0
  if left > 0 then
    used = sum(redis.call('ZRANGE', log_key, over, -1))
    if not used then
      return wrong_type()
    end
  end
  available = rate - used
end

-- When enough is. An entry of a clock that is ahead, or was set back since, counts as one of now.
local due = 0
if available < need and left > 0 then
  local looked_at = redis.call('ZRANGE', log_key, over, over + LOOKED_AT - 1, 'WITHSCORES')
  local then_available = available
  for i = 1, #looked_at, 2 do
    local one = permits(looked_at[i])
    if not one then
      return wrong_type()
    end
    then_available = then_available + one
    due = math.min(tonumber(looked_at[i + 1]), ceiled) + interval
    if then_available >= need then
      break
    end
  end
end
local full = left > 0 and math.min(newest, ceiled) + interval or 0

local granted = available >= need
if wanted > 0 then
  if made then
    redis.call('HSET', KEYS[1], 'rate', ARGV[1], 'interval', ARGV[2], 'type', ARGV[3], 'keepAliveTime', ARGV[4])
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
  end
  if left == 0 then
    redis.call('UNLINK', log_key)
  elseif over > 0 then
    redis.call('ZREMRANGEBYRANK', log_key, 0, over - 1)
  end
  if newest and newest > ceiled then
    local ahead = redis.call('ZRANGEBYSCORE', log_key, string.format('(%.0f', ceiled), '+inf', 'LIMIT', 0, CHUNK)
    for _, member in ipairs(ahead) do
      redis.call('ZADD', log_key, ceiled, member)
    end
  end
  if granted then
    local a, b = wanted % 256, math.floor(wanted / 256) % 256
    local c, d = math.floor(wanted / 65536) % 256, math.floor(wanted / 16777216)
    redis.call('ZADD', log_key, ceiled, '\16' .. ARGV[6] .. string.char(a, b, c, d))
    available, full = available - wanted, ceiled + interval
  end
  if available ~= stored then
    redis.call('SET', value_key, string.format('%.0f', available), 'KEEPTTL')
  end
  if granted then
    -- The log has to outlive what it counts. Without any end of Redisson's, one that only this client has needs no longer.
    local ttl = redis.call('PTTL', KEYS[1])
    local kept = kind == '1' and interval + 2 or 0
    if keep_alive > 0 then
      redis.call('PEXPIRE', KEYS[1], fields[4])
      kept = math.max(keep_alive, interval + 2)
    elseif ttl > 0 then
      kept = ttl
    end
    if kept > 0 then
      redis.call('PEXPIRE', value_key, string.format('%.0f', kept))
      redis.call('PEXPIRE', log_key, string.format('%.0f', kept))
    end
  end
end
return {granted and 1 or 0, us, math.max(available, 0), due, full, rate, interval, tonumber(kind)}
