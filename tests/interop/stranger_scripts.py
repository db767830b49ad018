"""The scripts of a client that knows nothing but docs/protocol: written from its pages, a step each."""

#: What several steps do (lock.md: The queue). `up` is "move up from r": `free` when the new head is to be told, `me` is not told.
COMMON = """
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local ms = math.floor(us / 1000)
local function str(n) return string.format('%.0f', n) end
local function stamp(c) redis.call('HSET', S, c, str(ms)) end
local function tell(c, word)
  local n = redis.pcall('PUBLISH', 'dlock_inbox:' .. c, word .. ';' .. L)
  return type(n) == 'table' or n > 0
end
local function keep() redis.call('PEXPIRE', Q, 60000); redis.call('PEXPIRE', S, 60000) end
local function silence(c)
  local seen = redis.call('HGET', S, c)
  if not seen or tonumber(seen) > ms then stamp(c); return 0 end
  return ms - tonumber(seen)
end
local function deaf(c)
  local since = tonumber(redis.call('HGET', S, 'deaf:' .. c) or nil)
  if not since or since > ms then
    redis.call('HSET', S, 'deaf:' .. c, str(ms))
    return 0
  end
  return ms - since
end
local function tell_free(me)
  for i, c in ipairs(redis.call('ZRANGE', Q, 0, 499)) do
    if i > 1 and c == me or tell(c, 'free') then break end
    deaf(c)
    keep()
  end
end
local function up(r, free, me)
  if r == 0 then redis.call('HDEL', S, 'barged') end
  local two = redis.call('ZRANGE', Q, 0, 1)
  for rank, c in ipairs(two) do
    if rank - 1 >= r then
      local known = redis.call('HEXISTS', S, c) == 1
      stamp(c)
      if not known then keep() end
    end
  end
  if two[1] and r == 0 and free and two[1] ~= me then tell_free(me) end
  if two[2] and two[2] ~= me then tell(two[2], 'next') end
end
local function drop(c) redis.call('HDEL', S, c, 'deaf:' .. c); redis.call('ZREM', Q, c) end
local function join(c)
  stamp(c)
  local last = redis.call('ZRANGE', Q, -1, -1, 'WITHSCORES')[2]
  redis.call('ZADD', Q, 'NX', str(last and math.max(us, last + 1) or us), c)
  keep()
end
"""

ACQUIRE = """
local L, T, Q, S = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, lease, not_after, ttl, block, waits = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
COMMON
if us > tonumber(not_after) then return {2, us} end
local me = string.match(owner, '^(.*):%d+$')
local pttl = redis.call('PTTL', L)
if redis.call('HEXISTS', L, owner) == 1 then
  if pttl < tonumber(lease) then redis.call('PEXPIRE', L, lease) end
  return {0, us, redis.call('GET', T) - block + 1}
end
local function enqueue()
  if not waits then return -1 end
  local rank = redis.call('ZRANK', Q, me)
  if not rank then
    join(me)
  else
    stamp(me)
    redis.call('HDEL', S, 'deaf:' .. me)
    if rank > 0 then
      local front = redis.call('ZRANGE', Q, rank - 1, rank - 1)[1]
      if silence(front) >= 15000 then
        drop(front)
        if rank - 1 <= 1 then up(rank - 1, true, me) end
      end
    end
    keep()
  end
  return redis.call('ZRANK', Q, me)
end
if pttl ~= -2 then return {1, us, pttl, redis.call('HRANDFIELD', L), enqueue()} end
local function head() return redis.call('ZRANGE', Q, 0, 0)[1] end
local first = head()
if first and first ~= me and (waits or tonumber(redis.call('HGET', S, 'barged') or '0') >= 2) then
  local seen = tonumber(redis.call('HGET', S, first) or nil)
  if seen and seen <= ms and ms - seen < 100 and redis.call('HEXISTS', S, 'deaf:' .. first) == 0 then
    return {3, us, enqueue()}
  end
  local r
  for i, c in ipairs(redis.call('ZRANGE', Q, 0, 499)) do
    if c == me then break end
    local gone = silence(c) >= (i == 1 and 2500 or 15000)
    if not gone then
      if tell(c, 'here') then
        redis.call('HDEL', S, 'deaf:' .. c)
        break
      end
      gone = deaf(c) >= 2500
    end
    if gone then
      drop(c)
      r = r or i - 1
    end
  end
  if r and r <= 1 then up(r, true, waits and me) end
  local before = first
  first = head()
  local held_up = first and first ~= me and (waits or first == before)
  if held_up then return {3, us, enqueue()} end
end
local last = redis.call('GET', T)
local token = last and math.max(us, last + 1) or us
if not last or redis.call('PTTL', T) ~= -1 then
  redis.call('SET', T, str(token + block - 1), 'PX', str(ttl + math.ceil((token - us) / 1000)))
else
  redis.call('SET', T, str(token + block - 1))
end
redis.call('HSET', L, owner, '1')
redis.call('PEXPIRE', L, lease)
if waits and redis.call('ZRANK', Q, me) then
  drop(me)
  up(0, false, me)
elseif first and first ~= me then
  redis.call('HINCRBY', S, 'barged', 1)
  keep()
end
return {0, us, token}
"""

RELEASE = """
local L, Q, S = KEYS[1], KEYS[2], KEYS[3]
COMMON
if redis.call('HEXISTS', L, ARGV[1]) == 0 then return {0} end
redis.call('DEL', L)
redis.pcall('PUBLISH', ARGV[2], '0')
tell_free()
if ARGV[3] == '0' then return {1, 1, -1} end
local me = string.match(ARGV[1], '^(.*):%d+$')
join(me)
return {1, 1, redis.call('ZRANK', Q, me)}
"""

CANCEL = """
local L, Q, S = KEYS[1], KEYS[2], KEYS[3]
COMMON
if us > tonumber(ARGV[2]) then return {2, us} end
local rank = redis.call('ZRANK', Q, ARGV[1])
if not rank then return {0, us, 0} end
drop(ARGV[1])
if rank <= 1 then up(rank, true, ARGV[1]) end
return {0, us, 1}
"""

#: The steps of a limiter (rate-limiter.md): reads the key into `us`, `part`, `at`; `keep` stores.
LIMIT = """
local t = redis.call('TIME')
local unix = t[1] * 1000000 + t[2]
local now, unit = unix - 1735689600000000, tonumber(ARGV[1])
local cost, cost_part, ahead, ahead_part = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local function later(a, a_part, b, b_part) return a > b or (a == b and a_part > b_part) end
local function plus(a, a_part, b, b_part)
  if a_part + b_part >= unit then return a + b + 1, a_part + b_part - unit end
  return a + b, a_part + b_part
end
local top, top_part = plus(now, 0, ahead, ahead_part)
local us, part, at, text = 0, 0, nil, redis.call('GET', KEYS[1])
if text then
  local whole, fraction, per = string.match(text, '^(%d+)%+(%d+)/(%d+)$')
  us = tonumber(whole or text)
  if not us then return redis.error_reply('WRONGTYPE') end
  if per and #per > 16 then
    at, fraction, per = tonumber(string.sub(fraction, -16)), string.sub(fraction, 1, -17), string.sub(per, 1, -17)
  end
  part = tonumber(fraction or 0)
  if part > 0 and tonumber(per) ~= unit then us, part = us + 1, 0 end
end
local function settle()
  if at and at > now then us = us - (at - now) end
  if not at and later(us, part, top, top_part) then us, part = top, top_part end
  if us < now then us, part = now, 0 end
end
local function keep()
  local value = string.format('%.0f', us)
  if later(us, part, top, top_part) then
    value = string.format('%s+%.0f%016.0f/%.0f0000000000000000', value, part, now, unit)
  elseif part > 0 then
    value = string.format('%s+%.0f/%.0f', value, part, unit)
  end
  redis.call('SET', KEYS[1], value, 'PX', string.format('%.0f', math.ceil((us - now + 1) / 1000) + 1))
end
"""

JUDGE = """
LIMIT
settle()
local next, next_part = plus(us, part, cost, cost_part)
if later(next, next_part, top + tonumber(ARGV[6]), top_part) then return {0, unix, us, part} end
us, part = next, next_part
if cost + cost_part > 0 then keep() end
return {1, unix, us, part}
"""

GIVE_BACK = """
LIMIT
local left, left_part = tonumber(ARGV[6]), tonumber(ARGV[7])
if not text or later(left, left_part, us, part) then return 1 end
local soon, soon_part = plus(now, 0, cost, cost_part)
if later(us, part, left, left_part) or later(soon, soon_part, left, left_part) then return 0 end
us, part = us - cost, part - cost_part
if part < 0 then us, part = us - 1, part + unit end
settle()
keep()
return 1
"""


FETCH = """
LIMIT
settle()
local least, least_part = plus(us, part, cost, cost_part)
if later(least, least_part, top, top_part) then return {0, unix, us, part, us, part} end
local from, from_part = us, part
local most, most_part = plus(us, part, tonumber(ARGV[9]), tonumber(ARGV[10]))
us, part = plus(us, part, tonumber(ARGV[6]), tonumber(ARGV[7]))
if later(now + tonumber(ARGV[8]), 0, us, part) then us, part = now + tonumber(ARGV[8]), 0 end
if later(us, part, most, most_part) then us, part = most, most_part end
if later(us, part, top, top_part) then us, part = top, top_part end
keep()
return {1, unix, from, from_part, us, part}
"""

PUT_BACK = """
LIMIT
local left, left_part = tonumber(ARGV[6]), tonumber(ARGV[7])
if not text or later(left, left_part, us, part) then return 1 end
if later(us, part, left, left_part) then return 0 end
us, part = us - cost, part - cost_part
if part < 0 then us, part = us - 1, part + unit end
settle()
keep()
return 1
"""


#: The steps of worker numbers (worker.md).
NUMBERS = """
local H, Z, F = KEYS[1], KEYS[2], KEYS[3]
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local ms = math.floor(us / 1000)
local function str(n) return string.format('%.0f', n) end
local function keep(long)
  for _, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    if left ~= -2 and left < long - 43200000 then redis.call('PEXPIRE', key, str(long)) end
  end
end
"""

LEASE_NUMBER = """
NUMBERS
local owner, lease, size = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
if us > tonumber(ARGV[3]) then return {2, us} end
local function score()
  local last = tonumber(redis.call('ZSCORE', Z, owner) or 0)
  if last < ms + lease then redis.call('ZADD', Z, str(ms + lease), owner) end
end
local had = redis.call('HGET', H, owner)
if had then
  score()
  return {0, us, had, redis.call('HGET', H, had)}
end
local best = tonumber(redis.call('HGET', H, 'next') or 0)
local next = best
local free = redis.call('ZRANGE', F, 0, 0)[1]
if free then best = math.min(best, tonumber(free)) end
local over = redis.call('ZRANGEBYSCORE', Z, '-inf', str(ms), 'LIMIT', 0, 500)
for _, other in ipairs(over) do
  best = math.min(best, tonumber(redis.call('HGET', H, other)))
end
if best >= size then
  local first = redis.call('ZRANGE', Z, 0, 0, 'WITHSCORES')[2]
  return {1, us, redis.call('ZCARD', Z), first and first - ms or -1}
end
local used = math.max(ms, tonumber(redis.call('HGET', H, str(best)) or 0) + 1) + lease
redis.call('HSET', H, owner, str(best), str(best), str(used), 'next', str(math.max(next, best + 1)))
for _, other in ipairs(over) do
  local number = redis.call('HGET', H, other)
  redis.call('ZADD', F, number, number)
  redis.call('ZREM', Z, other)
  redis.call('HDEL', H, other)
end
redis.call('ZREM', F, str(best))
score()
keep(lease + 86400000)
return {0, us, best, used}
"""

RENEW_NUMBER = """
NUMBERS
local owner, lease, far = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
local ends, number = tonumber(redis.call('ZSCORE', Z, owner) or 0), redis.call('HGET', H, owner)
if ends <= ms or not number then return 0 end
if far > tonumber(redis.call('HGET', H, number)) then redis.call('HSET', H, number, str(far)) end
if ends < ms + lease then redis.call('ZADD', Z, str(ms + lease), owner) end
keep(lease + 86400000)
return math.max(ends, ms + lease) - ms
"""

GIVE_NUMBER_BACK = """
NUMBERS
local owner, used = ARGV[1], tonumber(ARGV[2])
local number = redis.call('HGET', H, owner)
if not number then return 0 end
redis.call('HDEL', H, owner)
redis.call('ZREM', Z, owner)
redis.call('ZADD', F, number, number)
if used ~= 0 and used < tonumber(redis.call('HGET', H, number)) then redis.call('HSET', H, number, str(used)) end
keep(86400000)
return 1
"""
